/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of leak checks, to the letter: scripts that read memcheck's read it.
 */
#include "base/cleanup.h"
#include "report/leak/leak_text.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOST REACH_NO_LEADER

static const struct reach_block blocks[] = {
	{ 0x1000, 1000, 0 }, { 0x2000, 16, 0 }, { 0x3000, 24, 0 },
	{ 0x4000, 40, 0 },   { 0x5000, 7, 0 },	{ 0x6000, 9, 0 },
};
static const struct reach_verdict verdicts[] = {
	{ LOST, REACH_DEFINITE, 0 },
	{ 0, REACH_INDIRECT, 0 },
	{ LOST, REACH_POSSIBLE, 0 },
	{ LOST, REACH_REACHABLE, 0 },
	{ LOST, REACH_REACHABLE, REACH_NEWARRAY },
	{ LOST, REACH_DEFINITE, 0 },
};
static const uint32_t stacks_of[] = { 0, 1, 1, 1, 0, 1 };
static uint64_t keys_a[] = { 1, 2, 3 }, keys_b[] = { 1, 4, 3 };

static struct view_place places[] = {
	{ .has_addr = true, .addr = 0x4abc, .object = "/lib/libc.so.6" },
	{ .has_addr = true, .is_call = true, .addr = 0x1190, .object = "/bin/prog" },
	{ .has_addr = true, .is_call = true, .addr = 0x1200, .object = "/bin/prog" },
	{ .has_addr = true, .is_call = true, .addr = 0x1300, .object = "/lib/libc.so.6" },
};
static struct leak_frame frames_a[] = {
	{ &places[0], "malloc", NULL, 0, 0, false },
	{ &places[1], "app::make(app::N*)", "/src/nine.cc", 6, 1, false },
	{ &places[2], "main", "/src/nine.cc", 60, 2, false },
	{ &places[3], "__libc_start_call_main", NULL, 0, 3, false },
};
static struct leak_frame frames_b[] = {
	{ &places[0], "malloc", NULL, 0, 0, false },
	{ &places[1], NULL, NULL, 0, 1, false },
	{ &places[3], "__libc_start_call_main", NULL, 0, 3, false },
};
static struct suppression_frame names_a[] = {
	{ .linkage = "malloc",
	  .function = "malloc",
	  .object = "/lib/libc.so.6",
	  .file = NULL,
	  .line = 0 },
	{ .linkage = "_ZN3app4makeEPNS_1NE",
	  .function = "app::make(app::N*)",
	  .object = "/bin/prog",
	  .file = "/src/nine.cc",
	  .line = 6 },
	{ .linkage = "main",
	  .function = "main",
	  .object = "/bin/prog",
	  .file = "/src/nine.cc",
	  .line = 60 },
	{ .linkage = "__libc_start_call_main",
	  .function = "__libc_start_call_main",
	  .object = "/lib/libc.so.6",
	  .file = NULL,
	  .line = 0 },
};
static struct suppression_frame names_b[] = {
	{ .linkage = "malloc",
	  .function = "malloc",
	  .object = "/lib/libc.so.6",
	  .file = NULL,
	  .line = 0 },
	{ .linkage = NULL, .function = NULL, .object = "/bin/prog", .file = NULL, .line = 0 },
	{ .linkage = "__libc_start_call_main",
	  .function = "__libc_start_call_main",
	  .object = "/lib/libc.so.6",
	  .file = NULL,
	  .line = 0 },
};
static struct leak_stack stacks[] = {
	{ .n_frames = 4, .frames = frames_a, .names = names_a, .n_keys = 3, .keys = keys_a },
	{ .n_frames = 3, .frames = frames_b, .names = names_b, .n_keys = 3, .keys = keys_b },
};
static const struct leak_stacks all_stacks = { 2, stacks };

static struct loss_records *make(size_t n, const struct loss_records *earlier)
{
	static const struct loss_stack loss_stacks[] = { { keys_a, 3 }, { keys_b, 3 } };
	const struct loss_input input = { blocks, verdicts, stacks_of, n, loss_stacks, 2 };
	struct loss_records *records = NULL;
	struct loss_opts opts;

	loss_opts_init(&opts);
	assert_int_equal(loss_records_new(&input, &opts, earlier, &records), 0);
	return records;
}

static const struct leak_options full = { .mode = LEAK_CHECK_FULL, .show_kinds = 5 };
static const struct model_process image;

static void a_full_check_reads_as_memchecks(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(6, NULL);
	const struct leak_result result = {
		.seen.pid = 42,
		.records = records,
		.blocks = 6,
		.bytes = 1096,
		.seen.stopped_ns = 85000000,
		.has_totals = true,
		.totals = { .allocs = 1234, .frees = 1228, .bytes = 5000 }
	};
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	leak_text(&text, &result, &all_stacks, &image, &full);
	assert_string_equal(
		strbuf_str(&text),
		"==42== \n"
		"==42== HEAP SUMMARY:\n"
		"==42==     in use at exit: 1,096 bytes in 6 blocks\n"
		"==42==   total heap usage: 1,234 allocs, 1,228 frees, 5,000 bytes allocated\n"
		"==42== \n"
		"==42== 9 bytes in 1 blocks are definitely lost in loss record 2 of 6\n"
		"==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		"==42==    by 0x118F: ??? (in /bin/prog)\n"
		"==42==    by 0x12FF: (below main) (in /lib/libc.so.6)\n"
		"==42== \n"
		"==42== 24 bytes in 1 blocks are possibly lost in loss record 4 of 6\n"
		"==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		"==42==    by 0x118F: ??? (in /bin/prog)\n"
		"==42==    by 0x12FF: (below main) (in /lib/libc.so.6)\n"
		"==42== \n"
		"==42== 1,016 (1,000 direct, 16 indirect) bytes in 1 blocks are definitely lost in "
		"loss record 6 of 6\n"
		"==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		"==42==    by 0x118F: app::make(app::N*) (nine.cc:6)\n"
		"==42==    by 0x11FF: main (nine.cc:60)\n"
		"==42== \n"
		"==42== LEAK SUMMARY:\n"
		"==42==    definitely lost: 1,009 bytes in 2 blocks\n"
		"==42==    indirectly lost: 16 bytes in 1 blocks\n"
		"==42==      possibly lost: 24 bytes in 1 blocks\n"
		"==42==    still reachable: 47 bytes in 2 blocks\n"
		"==42==                       of which reachable via heuristic:\n"
		"==42==                         newarray           : 7 bytes in 1 blocks\n"
		"==42==         suppressed: 0 bytes in 0 blocks\n"
		"==42== Reachable blocks (those to which a pointer was found) are not shown.\n"
		"==42== To see them, rerun with: --leak-check=full --show-leak-kinds=all\n"
		"==42== \n"
		"==42== note: the process was stopped for 85 ms\n"
		"==42== \n");
}

/* What memcheck frees before it counts is in none of the sums. */
static void by_valgrinds_command_line_there_are_its_lines_alone(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(1, NULL);
	const struct leak_result result = {
		.seen.pid = 42,
		.records = records,
		.seen.stopped_ns = 85000000,
		.freed_blocks = 1,
		.has_totals = true,
		.totals = { .allocs = 9, .frees = 8, .bytes = 5000 },
	};
	const struct leak_errors errors = { 3, 2, 1, 1, 0 };
	struct leak_options options = full;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	static char *const command[] = { "./prog", "a b", NULL };
	const struct leak_text_head head = { "Memcheck, by memtraced", 42, 7, command };

	(void)state;
	options.shape = LEAK_SHAPE_VALGRIND;
	options.show_kinds = 0;
	leak_text_begin(&text, &head);
	assert_non_null(strstr(strbuf_str(&text), "==42== Memcheck, by memtraced\n"));
	assert_non_null(strstr(strbuf_str(&text), "==42== Command: ./prog 'a b'\n"
						  "==42== Parent PID: 7\n"
						  "==42== \n"));
	strbuf_reset(&text);
	options.mode = LEAK_CHECK_ERRORS;
	leak_text(&text, &result, &all_stacks, &image, &options);
	leak_text_end(&text, 42, &errors, NULL, "", &options);
	assert_non_null(
		strstr(strbuf_str(&text),
		       "==42== All heap blocks were freed -- no leaks are possible\n"
		       "==42== \n"
		       "==42== For lists of detected and suppressed errors, rerun with: -s\n"
		       "==42== ERROR SUMMARY: 3 errors from 2 contexts (suppressed: 1 "
		       "from 1)\n"));
	assert_non_null(strstr(strbuf_str(&text),
			       "==42==     in use at exit: 0 bytes in 0 blocks\n"
			       "==42==   total heap usage: 9 allocs, 9 frees, 5,000 bytes"));
}

static void quiet_is_errors_and_what_limits_them(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(6, NULL);
	const struct leak_result result = { .seen.pid = 42,
					    .records = records,
					    .blocks = 6,
					    .has_totals = true,
					    .totals = { .allocs = 6, .lost = 3 } };
	const struct leak_errors errors = { 3, 2, 1, 1, 0 };
	struct leak_options options = full;
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	options.shape = LEAK_SHAPE_QUIET;
	leak_text(&text, &result, &all_stacks, &image, &options);
	leak_text_end(&text, 42, &errors, NULL, "", &options);
	assert_true(strncmp(strbuf_str(&text), "==42== 9 bytes in 1 blocks are definitely", 41) ==
		    0);
	assert_non_null(strstr(strbuf_str(&text), "note: 3 events were lost"));
	assert_null(strstr(strbuf_str(&text), "SUMMARY"));
	assert_null(strstr(strbuf_str(&text), "stopped"));
}

static void paths_are_as_whole_as_asked_for(void **state)
{
	static char *prefixes[] = { "/none/", "/src/", NULL };
	_cleanup_(loss_records_free_p) struct loss_records *records = make(6, NULL);
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct leak_options options = full;

	(void)state;
	options.full_paths = true;
	leak_record_text(&text, 42, records, 5, &all_stacks, &options);
	assert_non_null(strstr(strbuf_str(&text), "app::make(app::N*) (/src/nine.cc:6)\n"));
	strbuf_reset(&text);
	options.fullpath_after = prefixes;
	options.linkage_names = options.below_main = true;
	leak_record_text(&text, 42, records, 5, &all_stacks, &options);
	assert_non_null(strstr(strbuf_str(&text), "_ZN3app4makeEPNS_1NE (nine.cc:6)\n"));
	assert_non_null(strstr(strbuf_str(&text), "main (nine.cc:60)\n"
						  "==42==    by 0x12FF: __libc_start_call_main"));
}

static void later_checks_say_what_is_more(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *a = make(5, NULL);
	_cleanup_(loss_records_free_p) struct loss_records *b = make(6, a);
	const struct leak_result result = { .seen.pid = 42, .records = b, .occasion = LEAK_ASKED };
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	leak_text(&text, &result, &all_stacks, &image, &full);
	assert_non_null(strstr(strbuf_str(&text), "==42== note: asked for; the process runs on\n"));
	assert_non_null(strstr(strbuf_str(&text), "==42==   total heap usage: unknown\n"));
	assert_non_null(strstr(strbuf_str(&text), "==42== 9 (+9) bytes in 1 (+1) blocks are "
						  "definitely lost in new loss record 2 of 6\n"));
	assert_non_null(strstr(strbuf_str(&text),
			       "==42==    definitely lost: 1,009 (+9) bytes in 2 (+1) blocks\n"));
}

static void what_is_partial_or_not_known_is_said(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(1, NULL);
	const struct leak_result result = { .seen.pid = 7,
					    .records = records,
					    .blocks = 1,
					    .bytes = 1000,
					    .seen.stats = { .end = REACH_CUT_ROOTS,
							    .unreadable_bytes = 4096 },
					    .seen.running_threads = 2,
					    .seen.kept_blocks = 3,
					    .seen.unknown_blocks = true,
					    .seen.noted_apart = { "jemalloc", 1200 },
					    .seen.noted_inside = { "mimalloc", 30 },
					    .has_totals = true,
					    .totals = { .lost = 12, .missed_frees = 5 } };
	static const char *const said[] = {
		"the result is partial, and lost blocks may be reachable\n",
		"note: 2 threads could not be stopped",
		"note: blocks from before the attach are not known",
		"note: 12 events were lost: sums are not exact\n",
		"note: 5 frees were missed: sums are not exact\n",
		"note: 4,096 bytes could not be read",
		"note: 3 blocks of the C library's",
		"note: 1,200 blocks are jemalloc's, whose own data may hold their addresses: lost",
		"note: 30 blocks are mimalloc's, which hands them out with addresses of others: "
		"lost blocks may count as reachable\n",
	};
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	leak_text(&text, &result, &all_stacks, &image, &full);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (!strstr(strbuf_str(&text), said[i]))
			fail_msg("not said: %s\nin: %s", said[i], strbuf_str(&text));
}

static void blocks_from_before_the_attach_are_said_to_be_known_or_not(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(1, NULL);
	static const struct {
		bool unknown, older, said[3];
	} rows[] = {
		{ false, false, { false, false, false } },
		{ true, false, { true, false, false } },
		{ false, true, { false, true, false } },
		{ true, true, { false, true, true } },
	};
	static const char *const notes[] = {
		"note: blocks from before the attach are not known: they are not in the sums",
		"note: blocks from before the attach have the sizes that can be used of them",
		"note: not all blocks from before the attach could be read",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct leak_result result = { .seen.pid = 7,
						    .records = records,
						    .seen.unknown_blocks = rows[i].unknown,
						    .seen.older_blocks = rows[i].older };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		leak_text(&text, &result, &all_stacks, &image, &full);
		for (size_t k = 0; k < sizeof(notes) / sizeof(notes[0]); k++)
			assert_int_equal(strstr(strbuf_str(&text), notes[k]) != NULL,
					 rows[i].said[k]);
	}
}

static void a_check_that_is_missing_is_said_with_what_was_in_use(void **state)
{
	const struct model_process ended = { .ended = true,
					     .totals = { .live_blocks = 2, .live_bytes = 1234 } };
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	leak_text_missed(&text, 7, &ended);
	assert_string_equal(strbuf_str(&text),
			    "==7== \n"
			    "==7== note: it ended before it could be checked, so there is no leak "
			    "check: 1,234 bytes in 2 blocks were in use\n"
			    "==7== \n");
}

static void nothing_left_is_said_in_memchecks_words(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(0, NULL);
	const struct leak_result result = { .seen.pid = 7,
					    .records = records,
					    .has_totals = true,
					    .totals = { .allocs = 3, .frees = 3 } };
	const struct leak_errors errors = { 3, 2, 1, 1, 0 };
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	leak_text(&text, &result, &all_stacks, &image, &full);
	assert_non_null(strstr(strbuf_str(&text),
			       "==7== All heap blocks were freed -- no leaks are possible\n"));
	assert_null(strstr(strbuf_str(&text), "LEAK SUMMARY"));
	strbuf_reset(&text);
	leak_text_end(&text, 7, &errors, NULL, "", &full);
	assert_string_equal(strbuf_str(&text), "==7== ERROR SUMMARY: 3 errors from 2 contexts "
					       "(suppressed: 1 from 1)\n");
}

/* From the start on, of an allocator that is known. */
static void what_allocates_nothing_has_no_leaks(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(0, NULL);
	const struct {
		bool unknown, older, said;
	} rows[] = { { false, false, true }, { true, false, false }, { false, true, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct leak_result result = { .seen.pid = 7,
						    .records = records,
						    .seen.has_allocator = true,
						    .seen.unknown_blocks = rows[i].unknown,
						    .seen.older_blocks = rows[i].older,
						    .has_totals = true };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		leak_text(&text, &result, &all_stacks, &image, &full);
		assert_int_equal(strstr(strbuf_str(&text), "no leaks are possible") != NULL,
				 rows[i].said);
		assert_int_equal(strstr(strbuf_str(&text), "note: no allocation") == NULL,
				 rows[i].said);
	}
}

/* Nothing in use may be nothing seen. */
static void nothing_seen_is_not_nothing_left(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *records = make(0, NULL);
	const struct {
		bool has_totals;
		struct record_totals totals;
		const char *said;
	} cases[] = {
		{ true, {}, "note: no allocation was seen" },
		{ true, { .allocs = 3, .frees = 3, .lost = 1 }, "note: no block in use is known" },
		{ false, {}, "note: no block in use is known" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct leak_result result = { .seen.pid = 7,
						    .records = records,
						    .has_totals = cases[i].has_totals,
						    .totals = cases[i].totals };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		leak_text(&text, &result, &all_stacks, &image, &full);
		assert_non_null(strstr(strbuf_str(&text), cases[i].said));
		assert_null(strstr(strbuf_str(&text), "no leaks are possible"));
	}
}

static const struct view_place freed_by = { .alloc = "free" };
static const struct view_place *freeing[] = { &freed_by };
static const struct view_place asked_by = { .alloc = "malloc" };
static const struct view_place *asking[] = { &asked_by };

static char *error_text(const struct record_heap_error *values, uint64_t count, bool certain,
			const struct leak_options *options)
{
	struct leak_stack at = stacks[1];
	const bool made = values->block_fn, freed = values->freed_fn;
	const struct leak_error error = {
		values, count, &at, made ? &stacks[0] : NULL, freed ? &stacks[1] : NULL, 1
	};
	struct strbuf text = { 0 };

	at.stack.n_places = 1;
	at.stack.places = values->addr ? freeing : asking;
	leak_error_text(&text, 42, &error, certain, options);
	assert_int_equal(strbuf_error(&text), 0);
	return text.data;
}

static void a_double_free_reads_as_memchecks(void **state)
{
	const struct record_heap_error values = { .kind = RECORD_DOUBLE_FREE,
						  .addr = 0x5010,
						  .block = 0x5000,
						  .block_size = 1040,
						  .block_fn = 1,
						  .freed_fn = 2 };
	struct leak_options options = full;
	_cleanup_free_ char *text = NULL;

	(void)state;
	options.generate = LEAK_GENERATE_ALL;
	text = error_text(&values, 1, true, &options);
	assert_string_equal(
		text, "==42== Invalid free() / delete / delete[] / realloc()\n"
		      "==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		      "==42==    by 0x118F: ??? (in /bin/prog)\n"
		      "==42==    by 0x12FF: (below main) (in /lib/libc.so.6)\n"
		      "==42==  Address 0x5010 is 16 bytes inside a block of size 1,040 free'd\n"
		      "==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		      "==42==    by 0x118F: ??? (in /bin/prog)\n"
		      "==42==    by 0x12FF: (below main) (in /lib/libc.so.6)\n"
		      "==42==  Block was alloc'd at\n"
		      "==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		      "==42==    by 0x118F: app::make(app::N*) (nine.cc:6)\n"
		      "==42==    by 0x11FF: main (nine.cc:60)\n"
		      "==42== \n"
		      "{\n"
		      "   <insert_a_suppression_name_here>\n"
		      "   Memcheck:Free\n"
		      "   fun:malloc\n"
		      "   obj:/bin/prog\n"
		      "   fun:(below main)\n"
		      "}\n");
}

static void what_is_known_of_a_heap_error_is_said(void **state)
{
	static const struct {
		struct record_heap_error values;
		uint64_t count;
		bool certain;
		const char *said, *not_said;
	} rows[] = {
		{ { .kind = RECORD_DOUBLE_FREE, .addr = 0x5000 },
		  1,
		  true,
		  "==42==   note: --heap-errors remembers where blocks were free'd\n",
		  "alloc'd at" },
		{ { .kind = RECORD_INVALID_FREE, .addr = 0x5000 },
		  1,
		  true,
		  " Address 0x5000 is not a live block: freed before or never allocated\n",
		  "note:" },
		{ { .kind = RECORD_INVALID_FREE,
		    .addr = 0x5008,
		    .block = 0x5000,
		    .block_size = 9,
		    .block_fn = 1 },
		  1,
		  true,
		  " Address 0x5008 is 8 bytes inside a block of size 9 alloc'd\n"
		  "==42==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		  "==42==    by 0x118F: app::make(app::N*) (nine.cc:6)\n",
		  "Block was" },
		{ { .kind = RECORD_FOREIGN_FREE, .addr = 0x5000, .block = 0x5000 },
		  1,
		  true,
		  "==42== Free of a block that another allocator has made\n",
		  "note:" },
		{ { .kind = RECORD_SUSPICIOUS_SIZE, .size = (uint64_t)-3 },
		  1234,
		  true,
		  "==42== note: 1,234 times so far\n",
		  "Address" },
		{ { .kind = RECORD_SUSPICIOUS_SIZE, .size = (uint64_t)-3 },
		  1,
		  true,
		  "==42== Argument 'size' of function malloc has a fishy (possibly negative) "
		  "value: -3\n",
		  "times" },
		{ { .kind = RECORD_REALLOC_ZERO },
		  1,
		  false,
		  "==42== note: not all of the process was seen: this may not be an error\n",
		  "Address" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *text =
			error_text(&rows[i].values, rows[i].count, rows[i].certain, &full);

		if (!strstr(text, rows[i].said))
			fail_msg("not said: %s\nin: %s", rows[i].said, text);
		if (strstr(text, rows[i].not_said))
			fail_msg("said: %s\nin: %s", rows[i].not_said, text);
	}
}

/* As memcheck: that there was no memory is no fault. */
static void a_request_that_failed_is_no_error(void **state)
{
	enum suppression_kind kind;

	(void)state;
	assert_false(leak_error_kind(RECORD_FAILED_ALLOCATION, &kind));
	assert_false(leak_error_kind(RECORD_HEAP_ERRORS, &kind));
	for (int k = RECORD_INVALID_FREE; k < RECORD_FAILED_ALLOCATION; k++) {
		assert_true(leak_error_kind(k, &kind));
		assert_int_equal(kind, SUPPRESSION_FREE);
	}
	assert_true(leak_error_kind(RECORD_SUSPICIOUS_SIZE, &kind));
	assert_int_equal(kind, SUPPRESSION_FISHY);
}

/* What a live process's fault can be about, and what is said of it. */
static void a_fault_is_said_with_the_block_that_is_near(void **state)
{
	static const struct {
		struct record_fault values;
		const char *said;
	} rows[] = {
		{ { .signal = SIGSEGV, .code = SEGV_MAPERR, .has_addr = true, .addr = 0x8 },
		  "==7== \n"
		  "==7== Process terminating with default action of signal 11 (SIGSEGV)\n"
		  "==7==  Access not within mapped region at address 0x8\n"
		  "==7==    at 0x4ABC: malloc (in /lib/libc.so.6)\n"
		  "==7==    by 0x118F: ??? (in /bin/prog)\n"
		  "==7==    by 0x12FF: (below main) (in /lib/libc.so.6)\n"
		  "==7==  Address 0x8 is in and near no block that is known\n" },
		{ { .signal = SIGSEGV,
		    .code = SEGV_MAPERR,
		    .has_addr = true,
		    .addr = 0x8,
		    .unsearched = true },
		  "==7==  Address 0x8 is in no block that is known: not all were searched\n" },
		{ { .signal = SIGSEGV,
		    .code = SEGV_ACCERR,
		    .has_addr = true,
		    .addr = 0x5003,
		    .block = 0x5000,
		    .block_size = 1040,
		    .freed = true },
		  "==7==  Address 0x5003 is 3 bytes inside a block of size 1,040 free'd\n" },
		{ { .signal = SIGBUS,
		    .code = BUS_ADRERR,
		    .has_addr = true,
		    .addr = 0x6000,
		    .block = 0x5000,
		    .block_size = 24 },
		  "==7==  Non-existent physical address at address 0x6000\n" },
		{ { .signal = SIGSEGV,
		    .code = SEGV_MAPERR,
		    .has_addr = true,
		    .addr = 0x6000,
		    .block = 0x5000,
		    .block_size = 24 },
		  " is 4,072 bytes after a block of size 24 alloc'd\n" },
		{ { .signal = SIGSEGV,
		    .code = SEGV_MAPERR,
		    .has_addr = true,
		    .addr = 0x4ff8,
		    .block = 0x5000 },
		  " is 8 bytes before a block of size 0 alloc'd\n" },
		{ { .signal = SIGSEGV, .code = SI_KERNEL }, "==7==  General Protection Fault\n" },
		{ { .signal = SIGSEGV, .code = SI_USER }, "==7==  Sent by a process\n" },
		{ { .signal = SIGABRT, .code = SI_TKILL },
		  "==7== Process terminating with default action of signal 6 (SIGABRT)\n"
		  "==7==    at " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct leak_fault fault = { .values = &rows[i].values, .stack = &stacks[1] };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		leak_fault_text(&text, 7, &fault, &full);
		if (!strstr(strbuf_str(&text), rows[i].said))
			fail_msg("not said: %s\nin: %s", rows[i].said, strbuf_str(&text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_check_reads_as_memchecks),
		cmocka_unit_test(by_valgrinds_command_line_there_are_its_lines_alone),
		cmocka_unit_test(quiet_is_errors_and_what_limits_them),
		cmocka_unit_test(paths_are_as_whole_as_asked_for),
		cmocka_unit_test(later_checks_say_what_is_more),
		cmocka_unit_test(what_is_partial_or_not_known_is_said),
		cmocka_unit_test(blocks_from_before_the_attach_are_said_to_be_known_or_not),
		cmocka_unit_test(a_check_that_is_missing_is_said_with_what_was_in_use),
		cmocka_unit_test(nothing_left_is_said_in_memchecks_words),
		cmocka_unit_test(what_allocates_nothing_has_no_leaks),
		cmocka_unit_test(nothing_seen_is_not_nothing_left),
		cmocka_unit_test(a_double_free_reads_as_memchecks),
		cmocka_unit_test(what_is_known_of_a_heap_error_is_said),
		cmocka_unit_test(a_request_that_failed_is_no_error),
		cmocka_unit_test(a_fault_is_said_with_the_block_that_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
