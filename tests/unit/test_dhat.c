/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"
#define MS UINT64_C(1000000)
#define FINE 1024 /* ns */

/* Two stacks of main, which begin with malloc; a third is by another line with the same address. */
static void emit_server(const struct script *s)
{
	emit_run(s);
	emit_function(s, 5, "malloc", "/usr/lib/libc.so.6", 0x9f000);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000 + 2 * MS, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_stack(s, 71, 0, 2000, 0x10123, 0x10200);
	emit_stack(s, 72, 0, 2000, 0x10131);
	emit_symbol(s, APP, 11, 0x1123, { "make<a, b>(char const*)", 0x19, "src/a.cc", 7, false });
	emit_symbol(s, APP, 11, 0x1131, { NULL, 0, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1200, { "main", 0x10, "src/main.cc", 30, false });
}

static void emit_sites(const struct script *s, uint64_t resolution_ns)
{
	emit_cut(s, 1000 + 52 * MS);
	emit_totals(s, (struct record_totals){ .allocs = 8,
					       .bytes = 1200,
					       .live_bytes = 200,
					       .live_blocks = 2,
					       .peak_bytes = 700,
					       .peak_ns = 1000 + 22 * MS,
					       .lifetime_resolution_ns = resolution_ns });
	emit_site(s, (struct record_site){ .fn = 5,
					   .stack = 71,
					   .allocs = 6,
					   .bytes = 1000,
					   .live_bytes = 200,
					   .live_blocks = 2,
					   .peak_bytes = 700,
					   .peak_blocks = 4,
					   .lifetime_ns = 90 * MS });
	emit_site(s,
		  (struct record_site){
			  .fn = 5, .stack = 72, .allocs = 2, .bytes = 200, .lifetime_ns = 1500 });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

static void sites_are_program_points(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *text = NULL;

	emit_server(&f->script);
	emit_sites(&f->script, FINE);
	text = fixture_report(f, "dhat", NULL);
	assert_string_equal(text,
			    "{\"dhatFileVersion\":2\n"
			    ",\"mode\":\"heap\",\"verb\":\"Allocated\"\n"
			    ",\"bklt\":true,\"bkacc\":false\n"
			    ",\"tu\":\"µs\",\"Mtu\":\"s\"\n"
			    ",\"tuth\":10\n"
			    ",\"cmd\":\"server --name 'a b'\"\n"
			    ",\"pid\":42\n"
			    ",\"te\":50000\n"
			    ",\"tg\":20000\n"
			    ",\"memtraced\":{\"tool\":\"memtraced 0.1.0\",\"totals\":\"exact\","
			    "\"lifetime_resolution_ns\":1024,\"peak_error_bytes\":0,"
			    "\"peak_time_known\":true}\n"
			    ",\"pps\":\n"
			    " [{\"tb\":1000,\"tbk\":6\n"
			    "  ,\"tl\":90000\n"
			    "  ,\"mb\":700,\"mbk\":4\n"
			    "  ,\"gb\":700,\"gbk\":4\n"
			    "  ,\"eb\":200,\"ebk\":2\n"
			    "  ,\"fs\":[1,2]\n"
			    "  }\n"
			    " ,{\"tb\":200,\"tbk\":2\n"
			    "  ,\"tl\":1\n"
			    "  ,\"mb\":0,\"mbk\":0\n"
			    "  ,\"gb\":0,\"gbk\":0\n"
			    "  ,\"eb\":0,\"ebk\":0\n"
			    "  ,\"fs\":[3]\n"
			    "  }\n"
			    " ]\n"
			    ",\"ftbl\":\n"
			    " [\"[root]\"\n"
			    " ,\"0x10122: make<a, b>(char const*) (a.cc:7)\"\n"
			    " ,\"0x101FF: main (main.cc:30)\"\n"
			    " ,\"0x10130: ??? (in /opt/demo/server)\"\n"
			    " ]\n"
			    "}\n");
}

/* Of older recordings, and of samples. */
static void what_is_not_known_is_left_out(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *text = NULL;

	emit_server(&f->script);
	emit_sites(&f->script, 0);
	text = fixture_report(f, "dhat", NULL);
	assert_non_null(strstr(text, ",\"bklt\":false,\"bkacc\":false\n"));
	assert_non_null(strstr(text, "\"lifetime_resolution_ns\":null"));
	assert_non_null(strstr(text, " [{\"tb\":1000,\"tbk\":6\n  ,\"fs\":[1,2]\n  }\n"));
	assert_null(strstr(text, "\"tg\""));
	assert_null(strstr(text, "\"tuth\""));
}

static void coarse_lifetimes_call_as_much_short(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *text = NULL;

	emit_server(&f->script);
	emit_sites(&f->script, 10 * MS);
	text = fixture_report(f, "dhat", NULL);
	assert_non_null(strstr(text, ",\"tuth\":10000\n"));
}

/* The viewer refuses two points with the same frames: two functions of the allocator, one place. */
static void points_with_the_same_frames_are_one(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	_cleanup_free_ char *text = NULL;

	emit_server(s);
	emit_function(s, 6, "calloc", "/usr/lib/libc.so.6", 0x9f800);
	emit_cut(s, 9000 + 10 * MS);
	emit_totals(s, (struct record_totals){ .lifetime_resolution_ns = FINE });
	for (uint16_t fn = 5; fn <= 6; fn++)
		emit_site(s, (struct record_site){ .fn = fn,
						   .stack = 72,
						   .allocs = fn,
						   .bytes = 10,
						   .live_bytes = 10,
						   .live_blocks = 1,
						   .peak_bytes = 3,
						   .peak_blocks = 1,
						   .lifetime_ns = 1000 * fn });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
	text = fixture_report(f, "dhat", NULL);
	assert_non_null(strstr(text, " [{\"tb\":20,\"tbk\":11\n"
				     "  ,\"tl\":11\n"
				     "  ,\"mb\":20,\"mbk\":2\n"
				     "  ,\"gb\":6,\"gbk\":2\n"
				     "  ,\"eb\":20,\"ebk\":2\n"
				     "  ,\"fs\":[1]\n"
				     "  }\n"
				     " ]\n"));
}

static void the_command_says_what_is_not_exact(void **state)
{
	struct fixture *f = *state;
	const struct record_loss loss = { "block-map-full", 3 };
	_cleanup_free_ char *text = NULL;

	emit_server(&f->script);
	emit_cut(&f->script, 9000 + 10 * MS);
	emit_totals(&f->script, (struct record_totals){ .allocs = 1, .lost = 3 });
	emit_site(&f->script, (struct record_site){ .stack = 71, .allocs = 1, .bytes = 10 });
	emit_coverage(&f->script, false, 10, &loss, 1);
	emit_cut_end(&f->script);
	text = fixture_report(f, "dhat", NULL);
	assert_non_null(strstr(text, ",\"cmd\":\"server --name 'a b' "
				     "(totals not exact, events were lost)\"\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sites_are_program_points, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_left_out, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(coarse_lifetimes_call_as_much_short, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(points_with_the_same_frames_are_one, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(the_command_says_what_is_not_exact, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
