/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/kernel_limits.h"

#include "trace/kernel/features.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_lacking_is_said_and_nothing_else(void **state)
{
	static const struct {
		const char *release;
		bool probes, kernel_frames, preempted, refused;
		/* FEATURE_COOKIES and so on: "y" there, "n" not, "?" not probed */
		char cookies, atomics, multi, session, seccomp;
		const char *words;
	} cases[] = {
		{ "7.1.0", true, true, false, false, 'y', 'y', '?', 'y', 'y', "" },
		{ "6.18.15+deb13", true, true, false, false, 'y', 'y', 'y', 'n', 'y', "" },
		{ "6.1.0-56", true, false, false, false, 'y', 'y', 'n', 'n', 'y',
		  "probes are perf events" },
		{ "5.10.0-46", true, true, false, false, 'n', 'n', 'n', 'n', 'y',
		  "probes are perf events; each has a program of its own; hash maps stand for "
		  "atomic operations; calls after a jump out of an allocator may be taken for its "
		  "own; no kernel frames of system calls" },
		{ "5.12.0", true, false, false, false, 'n', 'y', 'n', 'n', 'y',
		  "probes are perf events; each has a program of its own; hash maps stand for "
		  "atomic operations; calls after a jump out of an allocator may be taken for its "
		  "own" },
		{ "5.10.0-46", false, true, false, false, 0, 0, 0, 0, 0,
		  "no kernel frames of system calls" },
		{ "6.12.1", false, true, false, false, 0, 0, 0, 0, 0, "" },
		{ "6.14.0", true, false, false, false, 'y', 'y', '?', 'y', 'n',
		  "return probes would kill programs with a seccomp filter" },
		{ "7.2.13", false, false, true, false, 0, 0, 0, 0, 0,
		  "every system call of the machine passes our programs" },
		{ "5.15.0", true, true, false, true, 'y', 'y', 'n', 'n', 'y',
		  "probes are perf events; calls after a jump out of an allocator may be taken for "
		  "its own; user stacks follow frame pointers, as the unwinder was refused; no "
		  "kernel frames of system calls" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct {
			enum feature id;
			char is;
		} rows[] = {
			{ FEATURE_COOKIES, cases[i].cookies },
			{ FEATURE_ATOMICS, cases[i].atomics },
			{ FEATURE_UPROBE_MULTI, cases[i].multi },
			{ FEATURE_UPROBE_SESSION, cases[i].session },
			{ FEATURE_URETPROBE_SECCOMP, cases[i].seccomp },
		};
		_cleanup_strbuf_ struct strbuf out = { 0 };
		struct features features = { 0 };

		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
			features.rows[rows[k].id].probed = rows[k].is != '?';
			features.rows[rows[k].id].present = rows[k].is == 'y';
		}
		kernel_limits(
			&(struct kernel_found){
				.features = cases[i].probes ? &features : NULL,
				.release = cases[i].release,
				.kernel_frames = cases[i].kernel_frames,
				.syscalls_preempted = cases[i].preempted,
				.unwind_refused = cases[i].refused,
			},
			&out);
		assert_int_equal(strbuf_error(&out), 0);
		assert_string_equal(strbuf_str(&out), cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lacking_is_said_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
