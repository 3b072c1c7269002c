/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_body.h"
#include "tests/report_fixture.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#define APP "/opt/demo/server"

static void begin(struct fixture *f)
{
	const struct script *s = &f->script;

	fixture_init(f);
	emit_run(s);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "se,rv{er");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_stack(s, 72, 0, 2000, 0x10456);
	emit_symbol(s, APP, 11, 0x1123, { "one", 0x19, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1456, { "two", 0x19, NULL, 0, false });
}

/* A cut in which the two stacks have allocated so often, 10 bytes each, of which one is left. */
static void cut(struct fixture *f, uint64_t time_ns, uint64_t one, uint64_t two)
{
	const struct script *s = &f->script;

	emit_cut(s, time_ns);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .allocs = one + two });
	emit_site(s, (struct record_site){ .image = { 0 },
					   .stack = 71,
					   .allocs = one,
					   .bytes = one * 10,
					   .live_bytes = 10,
					   .live_blocks = 1 });
	if (two)
		emit_site(s,
			  (struct record_site){
				  .image = { 0 }, .stack = 72, .allocs = two, .bytes = two * 10 });
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
}

struct sums {
	int64_t values[PROFILE_PART_TYPES];
	size_t n;
};

static int add(const struct sample *sample, void *userdata)
{
	void **both = userdata;
	const struct profile_part *part = both[1];
	struct sums *sums = both[2];
	int64_t values[PROFILE_PART_TYPES];

	if (!profile_part_values(both[0], part, sample, values))
		return 0;
	sums->n++;
	for (size_t i = 0; i < PROFILE_PART_TYPES; i++)
		sums->values[i] += values[i];
	return 0;
}

static struct sums sum(const struct view *view, const struct profile_part *part)
{
	struct sums sums = {};
	void *both[] = { (void *)view, (void *)part, &sums };

	assert_int_equal(profile_part_each(view, part, add, both), 0);
	return sums;
}

static void allocations_are_those_since_the_baseline(void **state)
{
	_cleanup_(baseline_free_p) struct baseline *base = NULL;
	struct profile_part part = { .kind = PUSH_ALLOCS };
	const struct view *view;
	struct fixture f;
	struct sums got;

	(void)state;
	begin(&f);
	cut(&f, 9000, 5, 0);
	view = fixture_view(&f, NULL);
	part.process = view_process(view, 0);
	got = sum(view, &part);
	assert_int_equal(got.values[0], 5);
	assert_int_equal(got.values[1], 50);
	assert_int_equal(baseline_new(view, &base), 0);
	assert_int_equal(baseline_time_ns(base), 9000);

	cut(&f, 12000, 7, 3);
	view = fixture_view(&f, NULL);
	part = (struct profile_part){ PUSH_ALLOCS, view_process(view, 0), base };
	got = sum(view, &part);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.values[0], 5);
	assert_int_equal(got.values[1], 50);
	assert_int_equal(profile_part_time(view, &part).length_ns, 3000);
	part.kind = PUSH_HEAP;
	got = sum(view, &part);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.values[1], 10);
	assert_int_equal(profile_part_time(view, &part).length_ns, 0);
	fixture_done(&f);
}

/* Else every allocation counts. */
static void of_samples_the_period_is_their_interval(void **state)
{
	struct profile_part part = { .kind = PUSH_HEAP };
	const struct view *view;
	struct fixture f;

	(void)state;
	begin(&f);
	cut(&f, 9000, 5, 0);
	view = fixture_view(&f, NULL);
	part.process = view_process(view, 0);
	assert_int_equal(profile_part_period(view, &part), 1);
	emit_cut(&f.script, 12000);
	emit_totals(&f.script, (struct record_totals){
				       .image = { 0 }, .allocs = 5, .sample_interval = 524288 });
	emit_coverage(&f.script, false, 1, NULL, 0);
	emit_cut_end(&f.script);
	view = fixture_view(&f, NULL);
	part.process = view_process(view, 0);
	assert_int_equal(profile_part_period(view, &part), 524288);
	fixture_done(&f);
}

static struct push_item *made(enum push_to to, const struct view *view,
			      const struct push_labels *labels)
{
	const struct profile_part part = { .kind = PUSH_HEAP, .process = view_process(view, 0) };
	struct push_item *item = NULL;

	assert_int_equal(push_body_make(to, view, &part, labels, &item), 1);
	return item;
}

static void make_labels(struct push_labels *labels)
{
	static struct push_label more[] = { { "host", "mine" }, { "a", "x=1,{y}" } };
	const struct push_target target = { .labels = more, .n_labels = 2 };
	struct cgroup_place place;
	const struct push_process process = { .pid = 42,
					      .comm = "se,rv{er",
					      .exe = "/a \"b\"",
					      .host = "box",
					      .cgroup = "/system.slice/web.service",
					      .place = &place };

	cgroup_place_find(process.cgroup, &place);
	assert_int_equal(push_labels_make(&process, &target, labels), 0);
}

static void labels_tell_processes_apart(void **state)
{
	static const struct {
		const char *name, *attribute, *value;
	} expected[] = {
		{ "service_name", "service.name", "web" },
		{ "host", "host.name", "mine" },
		{ "pid", "process.pid", "42" },
		{ "comm", "process.executable.name", "se,rv{er" },
		{ "exe", "process.executable.path", "/a \"b\"" },
		{ "cgroup", "process.linux.cgroup", "/system.slice/web.service" },
		{ "slice", "systemd.slice", "system.slice" },
		{ "unit", "systemd.unit", "web.service" },
		{ "a", "a", "x=1,{y}" },
	};
	struct push_labels labels = {};

	(void)state;
	make_labels(&labels);
	assert_int_equal(labels.rows.len, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < labels.rows.len; i++) {
		assert_string_equal(labels.rows.data[i].name, expected[i].name);
		assert_string_equal(labels.rows.data[i].attribute, expected[i].attribute);
		assert_string_equal(labels.rows.data[i].value, expected[i].value);
	}
	push_labels_done(&labels);
}

static void a_service_is_a_unit_or_a_program(void **state)
{
	static const struct {
		const char *cgroup, *configured, *service;
	} rows[] = {
		{ "/", NULL, "prog" },
		{ "/system.slice/web.service", NULL, "web" },
		{ "/system.slice/web.service", "mine", "mine" },
		{ "/user.slice/user-1000.slice/session-3.scope", NULL, "prog" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/mail.service", NULL,
		  "mail" },
		{ "/lxc.payload.x/system.slice/web.service", NULL, "prog" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct push_target target = { .service = (char *)rows[i].configured };
		struct cgroup_place place;
		const struct push_process process = { .comm = "prog", .place = &place };
		struct push_labels labels = {};

		cgroup_place_find(rows[i].cgroup, &place);
		assert_int_equal(push_labels_make(&process, &target, &labels), 0);
		assert_string_equal(labels.rows.data[0].value, rows[i].service);
		push_labels_done(&labels);
	}
}

static void pyroscopes_query_is_escaped(void **state)
{
	static const char start[] =
		"/ingest?format=pprof&spyName=memtraced&name=web%7Bhost%3Dmine%2Cpid%3D42%2Ccomm%3D"
		"se_rv_er%2Cexe%3D%2Fa%20%22b%22%2Ccgroup%3D%2Fsystem.slice%2Fweb.service%2Cslice"
		"%3Dsystem.slice%2Cunit%3Dweb.service%2Ca%3Dx%3D1__y_%7D&from=";
	struct push_labels labels = {};
	struct push_item *item;
	struct fixture f;

	(void)state;
	make_labels(&labels);
	begin(&f);
	cut(&f, 9000, 5, 0);
	item = made(PUSH_PYROSCOPE, fixture_view(&f, NULL), &labels);
	assert_memory_equal(strbuf_str(&item->path), start, strlen(start));
	assert_memory_equal(item->body.data, "\x1f\x8b", 2); /* gzip's */
	push_item_free(item);
	push_labels_done(&labels);
	fixture_done(&f);
}

static void parcas_json_has_labels_and_profile(void **state)
{
	struct json_object *root, *at, *labels_at;
	struct push_labels labels = {};
	struct push_item *item;
	const char *profile;
	struct fixture f;

	(void)state;
	make_labels(&labels);
	begin(&f);
	cut(&f, 9000, 5, 0);
	item = made(PUSH_PARCA, fixture_view(&f, NULL), &labels);
	assert_string_equal(strbuf_str(&item->path), "/profiles/writeraw");
	root = json_tokener_parse(strbuf_str(&item->body));
	assert_non_null(root);
	at = json_object_array_get_idx(json_object_object_get(root, "series"), 0);
	labels_at = json_object_object_get(json_object_object_get(at, "labels"), "labels");
	assert_int_equal(json_object_array_length(labels_at), labels.rows.len + 1);
	at = json_object_array_get_idx(json_object_object_get(at, "samples"), 0);
	profile = json_object_get_string(json_object_object_get(at, "rawProfile"));
	assert_memory_equal(profile, "H4sI", 4); /* gzip's in base64 */
	assert_int_equal(strlen(profile) % 4, 0);
	at = json_object_array_get_idx(labels_at, 5);
	assert_string_equal(json_object_get_string(json_object_object_get(at, "value")),
			    "/a \"b\"");
	json_object_put(root);
	push_item_free(item);
	push_labels_done(&labels);
	fixture_done(&f);
}

static void without_samples_there_is_nothing_to_send(void **state)
{
	struct profile_part part = { .kind = PUSH_ALLOCS };
	struct push_labels labels = {};
	struct push_item *item = NULL;
	const struct view *view;
	struct baseline *base;
	struct fixture f;

	(void)state;
	make_labels(&labels);
	begin(&f);
	cut(&f, 9000, 5, 0);
	view = fixture_view(&f, NULL);
	part.process = view_process(view, 0);
	assert_int_equal(baseline_new(view, &base), 0);
	part.base = base;
	assert_int_equal(push_body_make(PUSH_PARCA, view, &part, &labels, &item), 0);
	assert_null(item);
	baseline_free(base);
	push_labels_done(&labels);
	fixture_done(&f);
}

static void answers_are_told_apart(void **state)
{
	static const struct {
		enum push_to to;
		long status;
		enum push_result result;
	} rows[] = {
		{ PUSH_PYROSCOPE, 0, PUSH_FAILED },    { PUSH_PYROSCOPE, 200, PUSH_SENT },
		{ PUSH_PARCA, 204, PUSH_SENT },	       { PUSH_PYROSCOPE, 301, PUSH_REJECTED },
		{ PUSH_PARCA, 400, PUSH_REJECTED },    { PUSH_PARCA, 404, PUSH_REJECTED },
		{ PUSH_PYROSCOPE, 429, PUSH_REFUSED }, { PUSH_PARCA, 500, PUSH_REFUSED },
		{ PUSH_PYROSCOPE, 503, PUSH_REFUSED }, { PUSH_OTLP, 200, PUSH_SENT },
		{ PUSH_OTLP, 429, PUSH_REFUSED },      { PUSH_OTLP, 500, PUSH_REJECTED },
		{ PUSH_OTLP, 501, PUSH_REJECTED },     { PUSH_OTLP, 502, PUSH_REFUSED },
		{ PUSH_OTLP, 504, PUSH_REFUSED },      { PUSH_OTLP, 505, PUSH_REJECTED },
	};
	_cleanup_strbuf_ struct strbuf answer = {}, why = {};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strbuf_reset(&why);
		assert_int_equal(push_answer_read(rows[i].to, rows[i].status, &answer, &why),
				 rows[i].result);
	}
	strbuf_adds(&answer, "no \x1b[31m\nprofile ");
	for (int i = 0; i < 1000; i++)
		strbuf_adds(&answer, "x");
	strbuf_reset(&why);
	assert_int_equal(push_answer_read(PUSH_PARCA, 400, &answer, &why), PUSH_REJECTED);
	assert_memory_equal(strbuf_str(&why),
			    "it answers with status 400: no \\x1b[31m\\x0aprofile xx", 53);
	assert_true(why.len < 300);
}

/* ExportProfilesServiceResponse { partial_success { rejected_profiles: 1 error_message: "no" } } */
static void a_part_that_is_rejected_is_told(void **state)
{
	static const char rejected[] = "\x0a\x06\x08\x01\x12\x02no",
			  warning[] = "\x0a\x04\x12\x02no", broken[] = "\x0a\x7f";
	_cleanup_strbuf_ struct strbuf answer = {}, why = {};

	(void)state;
	strbuf_add(&answer, rejected, sizeof(rejected) - 1);
	assert_int_equal(push_answer_read(PUSH_OTLP, 200, &answer, &why), PUSH_REJECTED);
	assert_string_equal(strbuf_str(&why), "it rejects a part: no");
	assert_int_equal(push_answer_read(PUSH_PARCA, 200, &answer, &why), PUSH_SENT);
	strbuf_reset(&answer);
	strbuf_add(&answer, warning, sizeof(warning) - 1);
	assert_int_equal(push_answer_read(PUSH_OTLP, 200, &answer, &why), PUSH_SENT);
	strbuf_reset(&answer);
	strbuf_add(&answer, broken, sizeof(broken) - 1);
	assert_int_equal(push_answer_read(PUSH_OTLP, 200, &answer, &why), PUSH_SENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_those_since_the_baseline),
		cmocka_unit_test(of_samples_the_period_is_their_interval),
		cmocka_unit_test(labels_tell_processes_apart),
		cmocka_unit_test(a_service_is_a_unit_or_a_program),
		cmocka_unit_test(pyroscopes_query_is_escaped),
		cmocka_unit_test(parcas_json_has_labels_and_profile),
		cmocka_unit_test(without_samples_there_is_nothing_to_send),
		cmocka_unit_test(answers_are_told_apart),
		cmocka_unit_test(a_part_that_is_rejected_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
