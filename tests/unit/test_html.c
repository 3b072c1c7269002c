/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/escape.h"
#include "tests/report_fixture.h"

#include <json-c/json.h>
#include <string.h>

/* One process with one site, where everything that has a name has this one. */
static void hostile_run(struct fixture *f, const char *name)
{
	const struct script *s = &f->script;
	const struct record_loss loss = { name, 1 };

	fixture_init(f);
	emit_run(s);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, name);
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, name, 11);
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_symbol(s, name, 11, 0x1123, { name, 0x19, name, 7, false });
	emit_unprobed(s, name, name, name);
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .allocs = 1, .live_bytes = 64 });
	emit_site(s, (struct record_site){ .image = { 0 }, .stack = 71, .live_bytes = 64 });
	emit_coverage(s, false, 1, &loss, 1);
	emit_cut_end(s);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

/* What the page's script gets to read; the report is cut off behind it. */
static struct json_object *data_of(char *text)
{
	char *data = strchr(strstr(text, "id=\"data\""), '\n');
	struct json_object *json;

	*strstr(data, "</script>") = '\0';
	json = json_tokener_parse(data);
	assert_non_null(json);
	return json;
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void html_has_the_elements_of_its_own_alone_whatever_the_names(void **state)
{
	static const char *const names[] = { "main",  "</script><script>1", "<!--<script>",
					     "\xff<", "]]><img src=x>",	    "&lt;" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_free_ char *text = NULL;
		_cleanup_strbuf_ struct strbuf expected = { 0 };
		struct json_object *json, *strings, *process;
		struct fixture f;

		hostile_run(&f, names[i]);
		text = fixture_report(&f, "html", NULL);
		assert_int_equal(count_of(text, "<script"), 2);
		assert_int_equal(count_of(text, "</script"), 2);
		assert_int_equal(count_of(text, "<title>"), 1);
		assert_null(strstr(text, "<img"));
		assert_null(strstr(text, "<!--"));
		json = data_of(text);
		escape_text(&expected, names[i]);
		process = json_object_array_get_idx(member(json, "processes"), 0);
		assert_string_equal(json_object_get_string(member(process, "comm")),
				    strbuf_str(&expected));
		strings = member(json, "strings");
		assert_string_equal(json_object_get_string(json_object_array_get_idx(strings, 0)),
				    strbuf_str(&expected));
		json_object_put(json);
		fixture_done(&f);
	}
}

static void html_has_stacks_once_that_sites_have_in_common(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct json_object *json, *process, *sites;
	struct fixture f;
	const struct script *s = &f.script;

	(void)state;
	hostile_run(&f, "server");
	emit_stack(s, 72, 0, 2000, 0x10124, 0x10130, 0x10140);
	emit_stack(s, 73, 0, 2000, 0x10125, 0x10130, 0x10140);
	emit_cut(s, 9500);
	emit_site(s, (struct record_site){ .stack = 72, .live_bytes = 2, .live_blocks = 1 });
	emit_site(s, (struct record_site){ .stack = 73, .live_bytes = 1, .live_blocks = 1 });
	emit_cut_end(s);
	text = fixture_report(&f, "html", NULL);
	json = data_of(text);
	process = json_object_array_get_idx(member(json, "processes"), 0);
	sites = member(process, "sites");
	assert_int_equal(json_object_array_length(sites), 2);
	/* Two callers, then one function and another; a node is two numbers. */
	assert_int_equal(json_object_array_length(member(json, "nodes")), 2 * (2 + 2));
	json_object_put(json);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(html_has_the_elements_of_its_own_alone_whatever_the_names),
		cmocka_unit_test(html_has_stacks_once_that_sites_have_in_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
