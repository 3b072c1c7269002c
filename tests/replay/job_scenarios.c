/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/job_scenarios.h"

#include "tests/replay/server_run.h"

#define KERNEL 0xffffffff81000000ull

/* Stack ids of the kernel, and of a process's. */
enum { IN_GETRANDOM = 0x81, IN_WORKQUEUE, IN_NOTHING };

static void kernel_symbols(const struct script *s)
{
	emit_kernel_symbol(s, KERNEL + 0x110, "__x64_sys_getrandom", 0x10);
	emit_kernel_symbol(s, KERNEL + 0x250, "do_syscall_64", 0x50);
	emit_kernel_symbol(s, KERNEL + 0x800001, "nft_do_chain [nf_tables]", 0x1);
}

static void kernel_code(const struct script *s)
{
	emit_kernel(s, KERNEL, KERNEL + 0x1000000);
	emit_stack(s, IN_GETRANDOM, RECORD_NO_IMAGE.n, SECOND, KERNEL + 0x110, KERNEL + 0x250);
	emit_stack(s, IN_WORKQUEUE, RECORD_NO_IMAGE.n, SECOND, KERNEL + 0x800001,
		   KERNEL + 0x900000);
}

static void hist_counts(const struct script *s, uint32_t id, const char *key,
			const struct record_bucket *buckets, size_t n_buckets)
{
	emit_hist_counts(
		s, (struct record_hist_counts){
			   .id = id, .key = key, .n_buckets = n_buckets, .buckets = buckets });
}

/* Histograms of all kinds, without allocations: one with errors, one in linear buckets. */
void counted(record_fn fn, void *userdata)
{
	static const struct record_bucket cat[] = {
		{ INT64_MIN, 0, 3 },	     { 0, 1, 12 }, { 1, 2, 1 }, { 64, 128, 100000 },
		{ 65536, 131072, 52345678 },
	};
	static const struct record_bucket dd[] = { { 512, 1024, 1000 }, { 1024, 2048, 250 } };
	static const struct record_bucket sh[] = { { 2, 4, 1 } };
	static const struct record_bucket huge[] = {
		{ 1ll << 40, 1ll << 41, 7 },
		{ 1ll << 62, INT64_MAX, 123456789012 },
	};
	static const struct record_bucket linear[] = {
		{ INT64_MIN, -2048, 1 }, { -2048, -1024, 5 },	 { 1024, 2048, 104 },
		{ 2048, 3072, 52 },	 { 8192, INT64_MAX, 2 },
	};
	static const struct record_bucket ones[] = { { 3, 4, 2 }, { 5, 6, 1 } };
	static const struct record_errno errors[] = { { 11, 2 }, { 4, 1 }, { 5000, 1 } };
	const struct script s = { fn, userdata };

	emit_run_with(&s, true);
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "cat");
	emit_histogram(&s, (struct record_histogram){ 1, "read,by=comm", "bytes", "comm", 0, 0 });
	emit_histogram(&s, (struct record_histogram){ 2, "malloc", "bytes", NULL, 0, 0 });
	emit_histogram(&s, (struct record_histogram){ 3, "a:b:field,lin=-2k-8k/1k", NULL, NULL,
						      true, 1024 });
	emit_histogram(&s, (struct record_histogram){ 4, "write:count,lin=0-9/1", "bytes", NULL,
						      true, 1 });
	emit_histogram(&s, (struct record_histogram){ 5, "fsync:ns", "ns", NULL, 0, 0 });
	emit_cut(&s, 6 * SECOND);
	hist_counts(&s, 1, "sh", sh, 1);
	hist_counts(&s, 1, "dd", dd, 2);
	emit_hist_counts(&s, (struct record_hist_counts){ 1, "cat", 5, cat, 3, errors, 4, 0 });
	emit_hist_counts(&s, (struct record_hist_counts){ 2, NULL, 2, huge, 0, NULL, 0, 9 });
	hist_counts(&s, 3, NULL, linear, 5);
	hist_counts(&s, 4, NULL, ones, 2);
	emit(&s, &(struct record){ .type = RECORD_COVERAGE,
				   .coverage = { .exact = true, .events = 52447000 } });
	emit_cut_end(&s);
}

#define NO_CODE RECORD_STACK_NO_CODE

/* One event: two processes whose times overlap, a kernel thread, an exec, what was lost. */
void random_event(record_fn fn, void *userdata)
{
	static const struct record_event_count counts[] = {
		{ 7, { 0 }, AT_MAKE, IN_GETRANDOM, 5, SECOND + 1, 2 * SECOND, 0, 0, 0, 0 },
		{ 7, { 0 }, AT_LOOP, IN_GETRANDOM, 4, SECOND + 10, 2 * SECOND + 999, 0, 0, 0, 0 },
		{ 7, { 0 }, 0, IN_GETRANDOM, 1, SECOND + 20, SECOND + 20, 0, 0, 0, 0 },
		{ 7, { 1 }, NO_CODE, IN_WORKQUEUE, 2, SECOND + 5, 5 * SECOND, 0, 0, 0, 0 },
		{ 7, { 1 }, NO_CODE, 0, 1, 2 * SECOND, 2 * SECOND, 0, 0, 0, 0 },
		{ 7, { 2 }, AT_PLUGIN_1, IN_NOTHING, 3, 3 * SECOND, 4 * SECOND + 123, 0, 0, 0, 0 },
	};
	const struct script s = { fn, userdata };

	emit_run_with(&s, true);
	kernel_code(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "x");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit(&s, &(struct record){ .type = RECORD_PROCESS,
				   .process = { .image = { 1 },
						.pid = 42,
						.parent_image = RECORD_NO_IMAGE,
						.prev_image = RECORD_NO_IMAGE,
						.comm = "kworker/0:1 x" } });
	emit_event(&s, 7, "syscalls:sys_enter_getrandom");
	emit_end(&s, 0, RECORD_END_EXEC, 0, 3 * SECOND);
	emit_begin(&s, 2, 4242, 0, SCRIPT_ROOT, 3 * SECOND, "server");
	code(&s, 2, 3 * SECOND);
	emit_stack(&s, AT_PLUGIN_1, 2, 3 * SECOND, 0x401189, 0x4011c0);
	emit_cut(&s, 6 * SECOND);
	emit_event_counts(&s, counts, sizeof(counts) / sizeof(counts[0]));
	emit_coverage(&s, true, 16, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
	kernel_symbols(&s);
}

/* Two events beside allocations, and losses. */
void several_jobs(record_fn fn, void *userdata)
{
	static const struct record_loss losses[] = { { "ring-full", 2 } };
	static const struct record_bucket sizes[] = { { 16, 32, 90 }, { 32, 64, 30 } };
	const struct script s = { fn, userdata };

	allocators(&s);
	kernel_code(&s);
	emit_event(&s, 1, "getrandom");
	emit_event(&s, 2, "sched:sched_switch");
	emit_histogram(&s, (struct record_histogram){ 1, "malloc", "bytes", NULL, 0, 0 });
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 120, 6144, 6));
	emit_site(&s, site(0, 1, AT_MAKE, 6144, 6));
	hist_counts(&s, 1, NULL, sizes, 2);
	emit_event_count(&s, (struct record_event_count){
				     1, { 0 }, AT_MAKE, 0, 2, SECOND, SECOND, 0, 0, 0, 0 });
	emit_event_count(
		&s, (struct record_event_count){
			    2, { 0 }, AT_LOOP, IN_WORKQUEUE, 3, SECOND, 5 * SECOND, 0, 0, 0, 0 });
	emit_coverage(&s, false, 300, losses, 1);
	emit_cut_end(&s);
	symbols(&s);
	kernel_symbols(&s);
}

/*
 * Samples of a CPU and of page faults, and waits: of each, that with the larger count is not the
 * longest.
 */
void cpu_and_waits(record_fn fn, void *userdata)
{
	/* Of the last's samples 100 were taken one by one, and 100 for 8 each. */
	static const struct record_event_count counts[] = {
		{ 1, { 0 }, AT_MAKE, 0, 30, SECOND, 2 * SECOND, 0, 0, 0, 0 },
		{ 1, { 0 }, AT_LOOP, 0, 90, SECOND + 5, 3 * SECOND, 0, 0, 0, 0 },
		{ 2, { 0 }, AT_MAKE, IN_WORKQUEUE, 3, SECOND, 5 * SECOND, 2500000000, 0, 0, 0 },
		{ 2, { 0 }, AT_LOOP, IN_WORKQUEUE, 700, SECOND, 5 * SECOND, 1000000, 0, 0, 0 },
		{ 3, { 0 }, AT_MAKE, 0, 41, SECOND, 2 * SECOND, 0, 0, 0, 0 },
		{ 4, { 0 }, AT_MAKE, 0, 200, SECOND, 2 * SECOND, 0, 900, 5600, 16 },
	};
	const struct script s = { fn, userdata };

	emit_run_with(&s, true);
	kernel_code(&s);
	emit(&s,
	     &(struct record){ .type = RECORD_EVENT,
			       .event = { .id = 1, .name = "cpu-clock", .period_ns = 10101010 } });
	emit(&s, &(struct record){ .type = RECORD_EVENT,
				   .event = { .id = 2, .name = "off-cpu", .timed = true } });
	emit(&s,
	     &(struct record){ .type = RECORD_EVENT,
			       .event = { 3, "page-faults", false, 0, false, 1000, 4096, false } });
	emit(&s, &(struct record){ .type = RECORD_EVENT,
				   .event = { 4, "faults", false, 0, false, 0, 4096, true } });
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_cut(&s, 6 * SECOND);
	emit_event_counts(&s, counts, sizeof(counts) / sizeof(counts[0]));
	emit_coverage(&s, true, 1064, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
	kernel_symbols(&s);
}

static void emit_call(const struct script *s, struct record_syscall call)
{
	emit(s, &(struct record){ .type = RECORD_SYSCALL, .syscall = call });
}

static void emit_file(const struct script *s, struct record_syscall_file file)
{
	emit(s, &(struct record){ .type = RECORD_SYSCALL_FILE, .syscall_file = file });
}

/* System calls of two processes: errors, a number without a name, calls without a time, files. */
void system_calls(record_fn fn, void *userdata)
{
	static const struct record_bucket reads[] = { { 448, 480, 900 }, { 61440, 65536, 100 } };
	static const struct record_bucket more[] = { { 448, 480, 99 }, { 1 << 20, 9 << 17, 1 } };
	static const struct record_bucket waits[] = { { 1ll << 37, INT64_MAX, 1 } };
	static const struct record_bucket opens[] = { { 2048, 2304, 5 } };
	static const struct record_errno not_there[] = { { 2, 3 }, { 4, 1 }, { 5000, 1 } };
	static const struct record_errno interrupted[] = { { 4, 1 } };
	const struct script s = { fn, userdata };

	emit_run_with(&s, true);
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 2 * SECOND, "wor\x1bker");
	emit_cut(&s, 6 * SECOND);
	emit_call(&s, (struct record_syscall){ { 0 },
					       0,
					       "read",
					       1000,
					       0,
					       7,
					       6700000,
					       65000,
					       123456789,
					       2,
					       reads,
					       0,
					       NULL });
	emit_call(&s, (struct record_syscall){ { 0 },
					       61,
					       "wait4",
					       1,
					       1,
					       0,
					       150 * SECOND,
					       150 * SECOND,
					       0,
					       1,
					       waits,
					       1,
					       interrupted });
	emit_call(&s,
		  (struct record_syscall){ { 0 }, 9999, NULL, 2, 0, 0, 0, 0, 0, 0, NULL, 0, NULL });
	emit_file(&s, (struct record_syscall_file){
			      { 0 }, "/srv/data", 1, 900, 1, 123000000, 10, 6000000, 2 });
	emit_file(&s, (struct record_syscall_file){
			      { 0 }, "socket:[77]", 0, 100, 0, 456789, 0, 700000, 0 });
	emit(&s, &(struct record){ .type = RECORD_SYSCALL_STACK,
				   .syscall_stack = { { 0 }, 0, AT_MAKE, 600, 4000000 } });
	emit(&s, &(struct record){ .type = RECORD_SYSCALL_STACK,
				   .syscall_stack = { { 0 }, 0, AT_LOOP, 400, 2700000 } });
	emit(&s, &(struct record){ .type = RECORD_SYSCALL_STACK,
				   .syscall_stack = { { 0 }, 9999, 0, 2, 0 } });
	emit_call(&s, (struct record_syscall){
			      { 1 }, 0, "read", 100, 0, 0, 1100000, 1060000, 0, 2, more, 0, NULL });
	emit_call(&s,
		  (struct record_syscall){
			  { 1 }, 257, "openat", 6, 5, 1, 11000, 2300, 0, 1, opens, 3, not_there });
	emit_file(&s,
		  (struct record_syscall_file){ { 1 }, "/srv/data", 1, 100, 0, 0, 0, 1100000, 0 });
	emit_file(&s,
		  (struct record_syscall_file){ { 1 }, "/srv/new\nline", 1, 0, 0, 0, 0, 2300, 1 });
	emit_coverage(&s, true, 1109, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}
