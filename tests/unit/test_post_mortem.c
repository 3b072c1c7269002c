/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/post_mortem.h"

#include "service/daemon/growth/growth_words.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void only_what_needs_an_explanation_has_one(void **state)
{
	static const struct {
		struct record_process_end end;
		bool due;
	} rows[] = {
		{ { .how = RECORD_END_SIGNAL, .value = 9 }, true },
		{ { .how = RECORD_END_SIGNAL, .value = 6 }, true },
		{ { .how = RECORD_END_SIGNAL, .value = 11 }, true },
		{ { .how = RECORD_END_SIGNAL, .value = 31 }, true },
		{ { .how = RECORD_END_SIGNAL, .value = 15 }, false },
		{ { .how = RECORD_END_SIGNAL, .value = 2 }, false },
		{ { .how = RECORD_END_SIGNAL, .value = 3 }, false },
		{ { .how = RECORD_END_EXIT, .value = 9 }, false },
		{ { .how = RECORD_END_EXEC, .value = 9 }, false },
		{ { .how = RECORD_END_UNKNOWN, .value = 9 }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (post_mortem_is_due(&rows[i].end) != rows[i].due)
			fail_msg("row %zu", i);
}

/* Who has become another user has what that user may see. */
static void a_report_is_its_users_only_if_the_process_was(void **state)
{
	static const struct {
		struct model_process image;
		uid_t asked, owner;
	} rows[] = {
		{ { .has_death = true, .death = { .uid = 1000, .euid = 1000 } }, 1000, 1000 },
		{ { .has_death = true, .death = { .uid = 1000, .euid = 0 } }, 1000, 0 },
		{ { .has_death = true, .death = { .uid = 1001, .euid = 1001 } }, 1000, 0 },
		{ { .has_death = true, .death = { .uid = 1000, .euid = 1000 } }, 0, 0 },
		{ { .has_death = false }, 1000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(post_mortem_owner(&rows[i].image, rows[i].asked), rows[i].owner);
}

static void memtraceds_own_are_told_by_their_file_and_who_ended_them(void **state)
{
	static const struct own_program program = { .dev = 8 << 20 | 1, .ino = 77 };
	static const struct model_object own = { .dev = 8 << 20 | 1, .ino = 77 },
					 other = { .dev = 8 << 20 | 1, .ino = 78 },
					 elsewhere = { .dev = 9 << 20 | 1, .ino = 77 };
#define KILLED(user, by, by_user, by_comm)                                                         \
	{                                                                                          \
		.ppid = 5, .comm = "memtraced-parse", .has_death = true, .death = {                \
			.uid = (user),                                                             \
			.euid = (user),                                                            \
			.killer = RECORD_KILLER_PROCESS,                                           \
			.sender = (by),                                                            \
			.sender_uid = (by_user),                                                   \
			.sender_comm = (by_comm)                                                   \
		}                                                                                  \
	}
	static const struct {
		struct model_process image;
		const struct model_object *exe;
		bool own;
	} rows[] = {
		{ KILLED(0, 5, 0, "memtraced-keep"), &own, true },
		{ KILLED(0, 9, 0, "bash"), &own, true },
		{ { .has_death = true, .death = { .killer = RECORD_KILLER_KERNEL } }, &own, true },
		{ KILLED(1000, 5, 1000, "memtraced-keep"), &own, true },
		/* names alone */
		{ KILLED(0, 5, 0, "memtraced-keep"), &other, false },
		{ KILLED(0, 5, 0, "memtraced-keep"), &elsewhere, false },
		{ KILLED(1000, 5, 1000, "memtraced-keep"), NULL, false },
		/* a user's own code in our file, ended by others */
		{ KILLED(1000, 9, 0, "bash"), &own, false },
		{ KILLED(1000, 5, 0, "memtraced-keep"), &own, false },
		{ { .ppid = 5, .has_death = true, .death = { .uid = 1000, .euid = 1000 } },
		  &own,
		  false },
		{ { .ppid = 5, .has_death = true, .death = { .euid = 1000 } }, &own, false },
		{ { .ppid = 5, .has_death = false }, &own, false },
		/* a short life, of which /proc said nothing */
		{ KILLED(0, 5, 0, "memtraced-keep"), NULL, true },
		{ KILLED(0, 5, 0, "bash"), NULL, false },
		{ KILLED(0, 9, 0, "memtraced-keep"), NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (own_process_is(&program, &rows[i].image, rows[i].exe) != rows[i].own)
			fail_msg("row %zu", i);
}

static void our_own_file_is_found(void **state)
{
	struct own_program program;

	(void)state;
	assert_int_equal(own_program_find(&program), 0);
	assert_true(program.ino > 0);
}

static void a_summary_is_one_line_whatever_the_process_is_called(void **state)
{
	static const struct model_process image = {
		.pid = 42,
		.comm = "a\nb",
		.how = RECORD_END_SIGNAL,
		.end_value = 9,
		.has_totals = true,
		.has_death = true,
		.death = { .killer = RECORD_KILLER_PROCESS, .sender = 7, .sender_comm = "sh" },
	};
	struct view_process process = { .image = &image, .totals = { .live_bytes = 1 << 20 } };
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	post_mortem_words(&process, NULL, "death-x", 0, &out);
	assert_string_equal(strbuf_str(&out),
			    "process 42 (a\\x0ab) was ended by signal 9, SIGKILL sent by process 7 "
			    "(sh) of user 0; it held about 1.0 MiB of heap; memtraced ctl reports "
			    "death-x");
	process.exact = true;
	strbuf_reset(&out);
	post_mortem_words(&process, NULL, NULL, -ENOSPC, &out);
	assert_string_equal(strbuf_str(&out),
			    "process 42 (a\\x0ab) was ended by signal 9, SIGKILL sent by process 7 "
			    "(sh) of user 0; it held 1.0 MiB of heap; no report: No space left on "
			    "device");
}

static void what_was_sampled_is_an_estimate_and_small_ones_have_none(void **state)
{
	const struct record_event asked = { .period = 1000 };
	const struct view_event none = { .asked = &asked },
				some = { .asked = &asked, .count = 12, .weight = 12000 },
				once = { .asked = &asked, .count = 1, .weight = 1000 };
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	growth_words(&none, 1500000000, 4096, &out);
	assert_string_equal(strbuf_str(&out), "none of its page faults was sampled in 1.5 s, of "
					      "which one in 1000 is");
	assert_false(growth_words_place(&none, 4096, &out));
	strbuf_reset(&out);
	growth_words(&some, 10800000000000, 4096, &out);
	assert_string_equal(strbuf_str(&out), "12 of its page faults were sampled, one in 1000, in "
					      "3.0 h: ~46.9 MiB if all were of small pages");
	strbuf_reset(&out);
	growth_words(&once, 10800000000000, 65536, &out);
	assert_string_equal(strbuf_str(&out), "1 of its page faults was sampled, one in 1000, in "
					      "3.0 h: ~62.5 MiB if all were of small pages");
}

static void what_is_mapped_is_said_to_be_exact_or_about_and_nothing_is_not_said(void **state)
{
	const struct model_process image = { .pid = 42, .comm = "p", .end_value = 9 };
	struct view_site sites[] = { { .class = VIEW_HEAP, .live_bytes = 1 << 30 },
				     { .class = VIEW_MMAP, .live_bytes = 1 << 20 } };
	struct view_process process = { .image = &image, .has_mmap = true, .exact = true };
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	assert_false(growth_words_mapped(&process, &out));
	assert_false(growth_words_site(&process, VIEW_MMAP, &out));
	assert_int_equal(out.len, 0);
	process.mmap = (struct region_totals){ .live_bytes = 80 << 20, .live_blocks = 12 };
	assert_true(growth_words_mapped(&process, &out));
	assert_string_equal(strbuf_str(&out),
			    "80.0 MiB of address space was mapped in that time and not unmapped "
			    "(12 regions)");
	strbuf_reset(&out);
	process.exact = false;
	process.mmap.live_blocks = 1;
	process.mmap.left_out = 3;
	assert_true(growth_words_mapped(&process, &out));
	assert_string_equal(strbuf_str(&out),
			    "about 80.0 MiB of address space was mapped in that time and not "
			    "unmapped (1 region, and there were more than are "
			    "kept)");
	strbuf_reset(&out);
	/* A stack that was lost has no place, and a site of the heap is none of theirs. */
	process.sites = sites;
	process.n_sites = 2;
	assert_false(growth_words_site(&process, VIEW_MMAP, &out));
	/* It is in the words of growth; most of the heap is not. */
	post_mortem_words(&process, "growth", "death-x", 0, &out);
	assert_string_equal(strbuf_str(&out), "process 42 (p) was ended by signal 9; growth; "
					      "memtraced ctl reports death-x");
}

static void there_are_some_at_once_and_then_one_in_a_while(void **state)
{
	struct post_mortem_limit limit = { 0 };
	const uint64_t start = 5 * POST_MORTEM_PAUSE_NS;

	(void)state;
	for (int i = 0; i < POST_MORTEM_AT_ONCE; i++)
		assert_true(post_mortem_may(&limit, start + (uint64_t)i));
	assert_false(post_mortem_may(&limit, start + POST_MORTEM_AT_ONCE));
	assert_false(post_mortem_may(&limit, start + POST_MORTEM_PAUSE_NS - 1));
	assert_true(post_mortem_may(&limit, start + POST_MORTEM_PAUSE_NS));
	assert_false(post_mortem_may(&limit, start + POST_MORTEM_PAUSE_NS));
	for (int i = 0; i < POST_MORTEM_AT_ONCE; i++)
		assert_true(post_mortem_may(&limit, start + 100 * POST_MORTEM_PAUSE_NS));
	assert_false(post_mortem_may(&limit, start + 100 * POST_MORTEM_PAUSE_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_needs_an_explanation_has_one),
		cmocka_unit_test(a_report_is_its_users_only_if_the_process_was),
		cmocka_unit_test(memtraceds_own_are_told_by_their_file_and_who_ended_them),
		cmocka_unit_test(our_own_file_is_found),
		cmocka_unit_test(a_summary_is_one_line_whatever_the_process_is_called),
		cmocka_unit_test(what_was_sampled_is_an_estimate_and_small_ones_have_none),
		cmocka_unit_test(
			what_is_mapped_is_said_to_be_exact_or_about_and_nothing_is_not_said),
		cmocka_unit_test(there_are_some_at_once_and_then_one_in_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
