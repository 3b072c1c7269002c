/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/death_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

static const struct record_memory_use full = { 20 * MIB, 20 * MIB, 20 * MIB };

static void it_is_said_who_killed_it_and_nothing_that_is_not_known(void **state)
{
	static const struct {
		struct record_death death;
		const char *words;
	} rows[] = {
		{ { .killer = RECORD_KILLER_UNKNOWN }, "" },
		{ { .killer = RECORD_KILLER_KERNEL },
		  "SIGKILL sent by the kernel, not by its OOM killer" },
		{ { .killer = RECORD_KILLER_PROCESS, .sender = 42 }, "SIGKILL sent by itself" },
		{ { .killer = RECORD_KILLER_PROCESS, .sender = 7, .sender_uid = 1000 },
		  "SIGKILL sent by process 7 of user 1000" },
		{ { .killer = RECORD_KILLER_PROCESS, .sender = 7, .sender_comm = "a\nb" },
		  "SIGKILL sent by process 7 (a\\x0ab) of user 0" },
		{ { .killer = RECORD_KILLER_KERNEL, .oom = true },
		  "killed by the OOM killer; why is not known" },
		{ { .killer = RECORD_KILLER_KERNEL,
		    .oom = true,
		    .full_cgroup = "/a",
		    .full_use = full },
		  "killed by the OOM killer when cgroup /a was at its limit, 20.0 MiB used of "
		  "20.0 MiB" },
		{ { .killer = RECORD_KILLER_KERNEL,
		    .oom = true,
		    .oom_constraint = "memcg",
		    .oom_cgroup = "/a/b",
		    .oom_use = full },
		  "killed by the OOM killer: cgroup /a/b was at its limit, 20.0 MiB used of 20.0 "
		  "MiB" },
		{ { .killer = RECORD_KILLER_KERNEL,
		    .oom = true,
		    .oom_constraint = "memcg",
		    .oom_use = full },
		  "killed by the OOM killer: cgroup ? was at its limit, 20.0 MiB used of 20.0 "
		  "MiB" },
		{ { .killer = RECORD_KILLER_KERNEL,
		    .oom = true,
		    .oom_constraint = "none",
		    .full_cgroup = "/a",
		    .full_use = full },
		  "killed by the OOM killer: the host was out of memory" },
		{ { .killer = RECORD_KILLER_KERNEL, .oom = true, .oom_constraint = "cpuset" },
		  "killed by the OOM killer: the host was out of memory in a cpuset's nodes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct model_process image = { .pid = 42,
						     .has_death = true,
						     .death = rows[i].death };
		_cleanup_strbuf_ struct strbuf out = { 0 };

		death_words_killer(&out, &image);
		assert_string_equal(strbuf_str(&out), rows[i].words);
	}
}

static void of_who_was_not_killed_nothing_is_said(void **state)
{
	static const struct model_process image = {
		.pid = 42,
		.death = { .killer = RECORD_KILLER_KERNEL, .has_memory = true, .cgroup = "/" },
	};
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	death_words_killer(&out, &image);
	death_words_memory(&out, &image);
	death_words_cgroup(&out, &image);
	assert_int_equal(out.len, 0);
}

static void a_cgroup_is_said_with_what_is_known_of_it(void **state)
{
	static const struct model_process rows[] = {
		{ .has_death = true,
		  .death = { .cgroup = "/a\x1b",
			     .use = full,
			     .has_events = true,
			     .oom_kills = 2 } },
		{ .has_death = true,
		  .death = { .cgroup = "/", .use = { MIB, 2 * MIB, UINT64_MAX } } },
	};
	static const char *const words[] = {
		"cgroup /a\\x1b: 20.0 MiB used of 20.0 MiB, at most 20.0 MiB; so far 0 at the "
		"limit, 0 out of memory, 2 OOM kills",
		"cgroup /: 1.0 MiB used without a limit, at most 2.0 MiB",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		death_words_cgroup(&out, &rows[i]);
		assert_string_equal(strbuf_str(&out), words[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_said_who_killed_it_and_nothing_that_is_not_known),
		cmocka_unit_test(of_who_was_not_killed_nothing_is_said),
		cmocka_unit_test(a_cgroup_is_said_with_what_is_known_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
