/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/scenarios.h"

#include "tests/record_script.h"
#include "tests/replay/deaths.h"
#include "tests/replay/estimates.h"
#include "tests/replay/free_pairs.h"
#include "tests/replay/heap_errors.h"
#include "tests/replay/resident_memory.h"
#include "tests/replay/samples.h"

#define APP "/opt/demo/server"
#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PLUGIN "/opt/demo/plugin.so"
#define OTHER "/opt/demo/other.so"

/* Inodes of the objects. */
enum { INO_APP = 11, INO_LIBC, INO_PLUGIN, INO_OTHER };

/* Stack ids. */
enum { AT_MAKE = 0x71, AT_LOOP, AT_PLUGIN_1, AT_PLUGIN_2, AT_OTHER, AT_LOST };

#define SECOND 1000000000ull

static void allocators(const struct script *s)
{
	emit_run(s);
	emit_function(s, 1, "malloc", LIBC, 0x9a000);
	emit_function(s, 2, "realloc", LIBC, 0x9b000);
	emit_function(s, 3, "mmap", LIBC, 0xff000);
}

/* The server's image: executable at 0x400000, libc at 0x7f0000000000. */
static void code(const struct script *s, uint32_t slot, uint64_t time_ns)
{
	emit_map(s, slot, 0x401000, 0x405000, 0x1000, time_ns, APP, INO_APP);
	emit_map(s, slot, 0x7f0000000000, 0x7f0000150000, 0x28000, time_ns, LIBC, INO_LIBC);
}

static void symbols(const struct script *s)
{
	emit_symbol(s, LIBC, INO_LIBC, 0x9a000, { "malloc", 0, NULL, 0, false });
	emit_symbol(s, APP, INO_APP, 0x1189, { "make_buf", 0x19, "/src/demo/server.c", 42, false });
	emit_symbol(s, APP, INO_APP, 0x11c0, { "main", 0x20, "/src/demo/server.c", 80, false });
	emit_symbol(s, APP, INO_APP, 0x1300, { "loop", 0x40, NULL, 0, false });
}

static void stacks(const struct script *s, uint32_t slot, uint64_t time_ns)
{
	emit_stack(s, AT_MAKE, slot, time_ns, 0x401189, 0x4011c0, 0x7f0000001000);
	emit_stack(s, AT_LOOP, slot, time_ns, 0x401300, 0x4011c0, 0x7f0000001000);
}

static struct record_site site(uint32_t slot, uint16_t fn, uint64_t stack, int64_t bytes,
			       int64_t blocks)
{
	return (struct record_site){
		.slot = slot,
		.fn = fn,
		.stack = stack,
		.live_bytes = bytes,
		.live_blocks = blocks,
		.allocs = 10 * (uint64_t)(blocks + 1),
		.bytes = 10 * (uint64_t)(bytes + 16),
		.temporary = 2,
		.peak_bytes = bytes + 1024,
		.oldest_ns = blocks > 0 ? 5 * SECOND : UINT64_MAX,
		.newest_ns = blocks > 0 ? SECOND / 2 : UINT64_MAX,
	};
}

static struct record_totals totals(uint32_t slot, uint64_t allocs, int64_t bytes, int64_t blocks)
{
	return (struct record_totals){
		.slot = slot,
		.allocs = allocs,
		.frees = allocs - (uint64_t)blocks,
		.failed = 1,
		.bytes = 10 * (uint64_t)bytes + 320,
		.live_bytes = bytes,
		.live_blocks = blocks,
		.peak_bytes = bytes + 4096,
		.temporary = allocs / 8,
	};
}

static void empty(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	emit_run(&s);
}

/* --existing: what the process held before, some of it freed since, and some not made out. */
static void before(record_fn fn, void *userdata)
{
	static const struct record_loss losses[] = { { "before-attach-unread", 1 } };
	const struct script s = { fn, userdata };
	struct record_totals t = totals(0, 100, 4096 + 70000, 4 + 300);
	struct record_site old = site(0, RECORD_BEFORE_ATTACH, 0, 70000, 300);
	const struct record_function function = { .id = RECORD_BEFORE_ATTACH,
						  .name = RECORD_BEFORE_ATTACH_NAME,
						  .object = "" };

	t.frees = 121;
	t.has_before = true;
	t.before_bytes = 70000;
	t.before_blocks = 300;
	t.before_unread = 12345;
	t.lost = 1;
	old.allocs = old.bytes = old.temporary = 0;
	old.oldest_ns = old.newest_ns = UINT64_MAX;
	allocators(&s);
	emit(&s, &(struct record){ .type = RECORD_FUNCTION, .function = function });
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, 2 * SECOND);
	emit_cut(&s, 4 * SECOND);
	emit_totals(&s, t);
	emit_site(&s, site(0, 1, AT_MAKE, 4096, 4));
	emit_site(&s, old);
	emit_coverage(&s, false, 221, losses, 1);
	emit_cut_end(&s);
	symbols(&s);
}

/* A server forks a worker, which allocates, is killed, and keeps its last values. */
static void forked(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, 2 * SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 3 * SECOND, "server");
	emit_cut(&s, 4 * SECOND);
	emit_totals(&s, totals(0, 100, 4096, 4));
	emit_site(&s, site(0, 1, AT_MAKE, 4096, 4));
	emit_totals(&s, totals(1, 50, 65536, 3));
	emit_site(&s, site(1, 2, AT_LOOP, 65536, 3));
	emit_coverage(&s, true, 147, NULL, 0);
	emit_cut_end(&s);
	emit_oom_kill(&s, 1, 5 * SECOND);
	emit_end(&s, 1, RECORD_END_SIGNAL, 9, 5 * SECOND);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 120, 6144, 6));
	emit_site(&s, site(0, 1, AT_MAKE, 6144, 6));
	emit_coverage(&s, true, 184, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

/* A shell that allocates and execs the server; a child that execs without having allocated. */
static void execed(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	struct record_totals none = { .slot = 2 };

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "sh");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 2 * SECOND, "sh");
	emit_end(&s, 0, RECORD_END_EXEC, 0, 3 * SECOND);
	emit_begin(&s, 2, 4242, 0, SCRIPT_ROOT, 3 * SECOND, "server");
	emit_end(&s, 1, RECORD_END_EXEC, 0, 3 * SECOND);
	emit_begin(&s, 3, 4243, 1, 0, 3 * SECOND, "true");
	emit_end(&s, 3, RECORD_END_EXIT, 3, 4 * SECOND);
	emit_end(&s, 2, RECORD_END_EXIT, 0, 5 * SECOND);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 20, 512, 2));
	emit_site(&s, site(0, 1, AT_MAKE, 512, 2));
	emit_totals(&s, none);
	emit_coverage(&s, true, 38, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

/* A plugin is unloaded, loaded again elsewhere, and another one takes its first place. */
static void reloaded(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	const uint64_t first = 0x7f1000000000, second = 0x7f2000000000;

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_map(&s, 0, first, first + 0x2000, 0, 2 * SECOND, PLUGIN, INO_PLUGIN);
	emit_stack(&s, AT_PLUGIN_1, 0, 2 * SECOND, first + 0x123, 0x4011c0);
	emit_unmap(&s, 0, first, first + 0x2000, 3 * SECOND);
	emit_map(&s, 0, first, first + 0x1000, 0, 3 * SECOND, OTHER, INO_OTHER);
	emit_stack(&s, AT_OTHER, 0, 3 * SECOND, first + 0x123, 0x4011c0);
	emit_map(&s, 0, second, second + 0x2000, 0, 4 * SECOND, PLUGIN, INO_PLUGIN);
	emit_stack(&s, AT_PLUGIN_2, 0, 4 * SECOND, second + 0x123, 0x4011c0);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 90, 7000, 9));
	emit_site(&s, site(0, 1, AT_PLUGIN_1, 1000, 2));
	emit_site(&s, site(0, 1, AT_PLUGIN_2, 4000, 3));
	emit_site(&s, site(0, 1, AT_OTHER, 2000, 4));
	emit_coverage(&s, true, 171, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
	emit_symbol(&s, PLUGIN, INO_PLUGIN, 0x123, { "plugin_init", 0x23, NULL, 0, false });
}

/* Losses of several causes, a lost stack, a truncated one, functions that could not be probed. */
static void inexact(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	static const struct record_loss losses[] = { { "block-map-full", 10 }, { "ring-full", 2 } };
	static const struct record_loss cuts[] = { { "limit", 7 }, { "no-cfi", 30 } };
	static const struct record_loss checked[] = { { "identical", 9 }, { "different", 1 } };
	static const uint64_t deep[] = { 0x401300, 0x401300, 0x401300 };
	struct record_totals t = totals(0, 100, 5000, 5);
	struct record_site young = site(0, 1, AT_LOST, 2000, 2);

	t.lost = 10;
	t.peak_error_bytes = 512;
	t.missed_frees = 3;
	t.unknown_frees = 4;
	young.oldest_ns = young.newest_ns = UINT64_MAX;
	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	emit_stack_of(&s, AT_LOOP, 0, SECOND, true, deep, 3);
	emit_unprobed(&s, "valloc", LIBC, "no instruction that could be probed was found in it");
	emit_unprobed(&s, "free", APP, "the object has no symbols");
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, t);
	emit_site(&s, site(0, 1, AT_LOOP, 3000, 3));
	emit_site(&s, young);
	emit(&s, &(struct record){ .type = RECORD_COVERAGE,
				   .coverage = { .events = 195,
						 .stacks_complete = 158,
						 .stacks_guided = 12,
						 .stacks_truncated = 37,
						 .n_losses = 2,
						 .losses = losses,
						 .n_cuts = 2,
						 .cuts = cuts } });
	emit(&s, &(struct record){ .type = RECORD_STACK_CHECK, .stack_check = { 2, checked } });
	emit(&s, &(struct record){ .type = RECORD_STACK_DIFFERS,
				   .stack_differs = { 0, true, APP "+0x1300",
						      APP "+0x1300\n" LIBC "+0x10" } });
	emit_cut_end(&s);
	emit_end(&s, 0, RECORD_END_SIGNAL, 11, 7 * SECOND);
	symbols(&s);
}

/* No room for unwind rows, a mapping whose file is unknown: stacks suffer, totals do not. */
static void cut_stacks(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	static const struct record_loss losses[] = { { "mapping-unknown", 1 },
						     { "unwind-tables-full", 2 } };
	static const struct record_loss cuts[] = { { "no-mapping", 7 } };
	static const uint64_t deep[] = { 0x401300, 0x401300 };

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	emit_stack_of(&s, AT_LOOP, 0, SECOND, true, deep, 2);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 100, 5000, 5));
	emit_site(&s, site(0, 1, AT_LOOP, 5000, 5));
	emit(&s, &(struct record){ .type = RECORD_COVERAGE,
				   .coverage = { .exact = true,
						 .events = 195,
						 .stacks_complete = 93,
						 .stacks_truncated = 7,
						 .n_losses = 2,
						 .losses = losses,
						 .n_cuts = 1,
						 .cuts = cuts } });
	emit_cut_end(&s);
	symbols(&s);
}

/* Mappings: partial unmaps, one over another, one inherited by a child. */
static void mapped(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	const uint64_t at = 0x7e0000000000;

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_region(&s, 0, at, at + 0x100000, 3, AT_MAKE, 2 * SECOND);
	emit_region_gone(&s, 0, at + 0x40000, at + 0x80000, 3 * SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 3 * SECOND, "worker");
	emit_region(&s, 0, at + 0xf0000, at + 0x110000, 3, AT_LOOP, 4 * SECOND);
	emit_region_gone(&s, 1, at, at + 0x1000, 4 * SECOND);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 20, 512, 2));
	emit_site(&s, site(0, 1, AT_MAKE, 512, 2));
	emit_totals(&s, (struct record_totals){ .slot = 1 });
	emit_coverage(&s, true, 38, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

/* C++: inlined calls, templates longer than a line, names that readers of text would split. */
static void cxx(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	static const char insert[] =
		"std::_Rb_tree<std::__cxx11::basic_string<char>, std::pair<std::__cxx11::"
		"basic_string<char> const, std::vector<int> >, std::_Select1st<std::pair<"
		"std::__cxx11::basic_string<char> const, std::vector<int> > > >::_M_insert_unique";

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "my app 1");
	code(&s, 0, SECOND);
	emit_stack(&s, AT_MAKE, 0, 2 * SECOND, 0x401189, 0x401300, 0x4011c0);
	emit_stack(&s, AT_LOOP, 0, 2 * SECOND, 0x401400, 0x4011c0, 0xdeadbeef000);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 90000, 5 * 1024 * 1024, 12000));
	emit_site(&s, site(0, 1, AT_MAKE, 4 * 1024 * 1024, 10000));
	emit_site(&s, site(0, 1, AT_LOOP, 1024 * 1024, 2000));
	emit_coverage(&s, true, 38, NULL, 0);
	emit_cut_end(&s);
	emit_symbol(&s, APP, INO_APP, 0x1189,
		    { "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", 0,
		      "/usr/include/c++/12/bits/new_allocator.h", 137, true },
		    { insert, 0x71, "/src/demo/index.cc", 7, false });
	emit_symbol(&s, APP, INO_APP, 0x1300,
		    { "(anonymous namespace)::Cache::operator->() const", 0x40,
		      "/src/demo/a very long directory name/cache;v2.cc", 1234, false });
	emit_symbol(&s, APP, INO_APP, 0x1400,
		    { "<demo::Parser as core::ops::Drop>::drop", 0x10, NULL, 0, false });
	emit_symbol(&s, APP, INO_APP, 0x11c0, { "main", 0x20, "/src/demo/main.cc", 9, false });
}

/* A build: many short-lived processes under one root, of which tables show the first few. */
static void storm(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	allocators(&s);
	emit_begin(&s, 0, 1000, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "make");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	for (uint32_t i = 1; i <= 8; i++) {
		emit_begin(&s, i, 1000 + i, 0, SCRIPT_INHERITS, (1 + i) * SECOND, "cc1");
		if (i != 8)
			emit_end(&s, i, RECORD_END_EXIT, i == 3, (2 + i) * SECOND);
	}
	emit_cut(&s, 20 * SECOND);
	emit_totals(&s, totals(0, 40, 256, 1));
	emit_site(&s, site(0, 1, AT_MAKE, 256, 1));
	for (uint32_t i = 1; i <= 6; i++) {
		emit_totals(&s, totals(i, 1000, 1000 * i, i));
		emit_site(&s, site(i, 1, AT_MAKE, 900 * i, i));
		emit_site(&s, site(i, 2, AT_LOOP, 100 * i, 1));
		emit_site(&s, site(i, 1, AT_LOOP, 0, 0));
	}
	emit_coverage(&s, true, 12050, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

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
	emit_stack(s, IN_GETRANDOM, RECORD_NO_SLOT, SECOND, KERNEL + 0x110, KERNEL + 0x250);
	emit_stack(s, IN_WORKQUEUE, RECORD_NO_SLOT, SECOND, KERNEL + 0x800001, KERNEL + 0x900000);
}

static void hist_counts(const struct script *s, uint32_t id, const char *key,
			const struct record_bucket *buckets, size_t n_buckets)
{
	emit_hist_counts(
		s, (struct record_hist_counts){
			   .id = id, .key = key, .n_buckets = n_buckets, .buckets = buckets });
}

/* Histograms of all kinds, without allocations: one with errors, one in linear buckets. */
static void counted(record_fn fn, void *userdata)
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
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "cat");
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
static void random_event(record_fn fn, void *userdata)
{
	static const struct record_event_count counts[] = {
		{ 7, 0, AT_MAKE, IN_GETRANDOM, 5, SECOND + 1, 2 * SECOND, 0, 0, 0, 0 },
		{ 7, 0, AT_LOOP, IN_GETRANDOM, 4, SECOND + 10, 2 * SECOND + 999, 0, 0, 0, 0 },
		{ 7, 0, 0, IN_GETRANDOM, 1, SECOND + 20, SECOND + 20, 0, 0, 0, 0 },
		{ 7, 1, NO_CODE, IN_WORKQUEUE, 2, SECOND + 5, 5 * SECOND, 0, 0, 0, 0 },
		{ 7, 1, NO_CODE, 0, 1, 2 * SECOND, 2 * SECOND, 0, 0, 0, 0 },
		{ 7, 2, AT_PLUGIN_1, IN_NOTHING, 3, 3 * SECOND, 4 * SECOND + 123, 0, 0, 0, 0 },
	};
	const struct script s = { fn, userdata };

	emit_run_with(&s, true);
	kernel_code(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "x");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit(&s, &(struct record){ .type = RECORD_PROCESS,
				   .process = { .slot = 1,
						.pid = 42,
						.parent_slot = RECORD_NO_SLOT,
						.prev_slot = RECORD_NO_SLOT,
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
static void jobs(record_fn fn, void *userdata)
{
	static const struct record_loss losses[] = { { "ring-full", 2 } };
	static const struct record_bucket sizes[] = { { 16, 32, 90 }, { 32, 64, 30 } };
	const struct script s = { fn, userdata };

	allocators(&s);
	kernel_code(&s);
	emit_event(&s, 1, "getrandom");
	emit_event(&s, 2, "sched:sched_switch");
	emit_histogram(&s, (struct record_histogram){ 1, "malloc", "bytes", NULL, 0, 0 });
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_cut(&s, 6 * SECOND);
	emit_totals(&s, totals(0, 120, 6144, 6));
	emit_site(&s, site(0, 1, AT_MAKE, 6144, 6));
	hist_counts(&s, 1, NULL, sizes, 2);
	emit_event_count(&s, (struct record_event_count){ 1, 0, AT_MAKE, 0, 2, SECOND, SECOND, 0, 0,
							  0, 0 });
	emit_event_count(&s, (struct record_event_count){ 2, 0, AT_LOOP, IN_WORKQUEUE, 3, SECOND,
							  5 * SECOND, 0, 0, 0, 0 });
	emit_coverage(&s, false, 300, losses, 1);
	emit_cut_end(&s);
	symbols(&s);
	kernel_symbols(&s);
}

/*
 * Samples of a CPU and of page faults, and waits: of each, that with the larger count is not the
 * longest.
 */
static void times(record_fn fn, void *userdata)
{
	/* Of the last's samples 100 were taken one by one, and 100 for 8 each. */
	static const struct record_event_count counts[] = {
		{ 1, 0, AT_MAKE, 0, 30, SECOND, 2 * SECOND, 0, 0, 0, 0 },
		{ 1, 0, AT_LOOP, 0, 90, SECOND + 5, 3 * SECOND, 0, 0, 0, 0 },
		{ 2, 0, AT_MAKE, IN_WORKQUEUE, 3, SECOND, 5 * SECOND, 2500000000, 0, 0, 0 },
		{ 2, 0, AT_LOOP, IN_WORKQUEUE, 700, SECOND, 5 * SECOND, 1000000, 0, 0, 0 },
		{ 3, 0, AT_MAKE, 0, 41, SECOND, 2 * SECOND, 0, 0, 0, 0 },
		{ 4, 0, AT_MAKE, 0, 200, SECOND, 2 * SECOND, 0, 900, 5600, 16 },
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
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
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
static void system_calls(record_fn fn, void *userdata)
{
	static const struct record_bucket reads[] = { { 448, 480, 900 }, { 61440, 65536, 100 } };
	static const struct record_bucket more[] = { { 448, 480, 99 }, { 1 << 20, 9 << 17, 1 } };
	static const struct record_bucket waits[] = { { 1ll << 37, INT64_MAX, 1 } };
	static const struct record_bucket opens[] = { { 2048, 2304, 5 } };
	static const struct record_errno not_there[] = { { 2, 3 }, { 4, 1 }, { 5000, 1 } };
	static const struct record_errno interrupted[] = { { 4, 1 } };
	const struct script s = { fn, userdata };

	emit_run_with(&s, true);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 2 * SECOND, "wor\x1bker");
	emit_cut(&s, 6 * SECOND);
	emit_call(&s, (struct record_syscall){ 0, 0, "read", 1000, 0, 7, 6700000, 65000, 123456789,
					       2, reads, 0, NULL });
	emit_call(&s, (struct record_syscall){ 0, 61, "wait4", 1, 1, 0, 150 * SECOND, 150 * SECOND,
					       0, 1, waits, 1, interrupted });
	emit_call(&s, (struct record_syscall){ 0, 9999, NULL, 2, 0, 0, 0, 0, 0, 0, NULL, 0, NULL });
	emit_file(&s, (struct record_syscall_file){ 0, "/srv/data", 1, 900, 1, 123000000, 10,
						    6000000, 2 });
	emit_file(&s, (struct record_syscall_file){ 0, "socket:[77]", 0, 100, 0, 456789, 0, 700000,
						    0 });
	emit(&s, &(struct record){ .type = RECORD_SYSCALL_STACK,
				   .syscall_stack = { 0, 0, AT_MAKE, 600, 4000000 } });
	emit(&s, &(struct record){ .type = RECORD_SYSCALL_STACK,
				   .syscall_stack = { 0, 0, AT_LOOP, 400, 2700000 } });
	emit(&s, &(struct record){ .type = RECORD_SYSCALL_STACK,
				   .syscall_stack = { 0, 9999, 0, 2, 0 } });
	emit_call(&s, (struct record_syscall){ 1, 0, "read", 100, 0, 0, 1100000, 1060000, 0, 2,
					       more, 0, NULL });
	emit_call(&s, (struct record_syscall){ 1, 257, "openat", 6, 5, 1, 11000, 2300, 0, 1, opens,
					       3, not_there });
	emit_file(&s, (struct record_syscall_file){ 1, "/srv/data", 1, 100, 0, 0, 0, 1100000, 0 });
	emit_file(&s, (struct record_syscall_file){ 1, "/srv/new\nline", 1, 0, 0, 0, 0, 2300, 1 });
	emit_coverage(&s, true, 1109, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

/* A process that uses its heap wrongly, and another of which an event was lost. */
static void wrong(record_fn fn, void *userdata)
{
	static const struct record_loss losses[] = { { "ring-full", 1 } };
	const struct script s = { fn, userdata };
	struct record_totals lossy = totals(1, 20, 512, 2), sound = totals(0, 100, 4096, 4);

	lossy.lost = 1;
	sound.further_errors = 12;
	allocators(&s);
	emit_function(&s, 4, "free", LIBC, 0x9c000);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 2 * SECOND, "worker");
	emit_cut(&s, 3 * SECOND);
	emit_totals(&s, sound);
	emit_errors(&s, 0, AT_MAKE, AT_LOOP);
	emit_totals(&s, lossy);
	emit_error(&s, (struct record_heap_error){ .slot = 1,
						   .kind = RECORD_INVALID_FREE,
						   .stack = AT_LOST,
						   .count = 1,
						   .time_ns = 2 * SECOND,
						   .addr = 0x10 });
	emit_fault(&s, 0, AT_LOOP, AT_MAKE);
	emit_coverage(&s, false, 147, losses, 1);
	emit_cut_end(&s);
	symbols(&s);
}

/* Blocks that wander: --free-stacks; and the machine is asleep for a while. */
static void wandering(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	emit(&s, &(struct record){ .type = RECORD_RUN,
				   .run = { .tool = "memtraced 0.1.0",
					    .start_realtime_ns = 1767323045006000000,
					    .start_ns = 1000,
					    .unwinder = "cfi",
					    .free_stacks = true } });
	emit_function(&s, 1, "malloc", LIBC, 0x9a000);
	emit_function(&s, 2, "realloc", LIBC, 0x9b000);
	emit_function(&s, 4, "free", LIBC, 0x9c000);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_region(&s, 0, 0x500000, 0x501000, 2, AT_LOOP, 2 * SECOND);
	/* The machine slept for an hour. */
	emit(&s, &(struct record){ .type = RECORD_CUT,
				   .cut = { .time_ns = 3 * SECOND, .slept_ns = 3600 * SECOND } });
	emit_totals(&s, totals(0, 30, 4096, 4));
	emit_site(&s, site(0, 1, AT_MAKE, 4096, 4));
	emit_site(&s, site(0, 2, AT_LOOP, 0, 0));
	emit_free_pairs(&s, 0, AT_MAKE, AT_LOOP, AT_PLUGIN_1, AT_PLUGIN_2);
	emit_coverage(&s, true, 57, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

/* What is in memory: of one process from its start on, and of one that ran before and moved. */
static void resident(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	emit_begin(&s, 1, 4300, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "older");
	emit_cut(&s, 3 * SECOND);
	emit_totals(&s, totals(0, 100, 4096, 4));
	emit_totals(&s, totals(1, 100, 4096, 4));
	emit_coverage(&s, true, 200, NULL, 0);
	emit_cut_end(&s);
	emit_resident_process(&s, 0, 1000, 3 * SECOND + 1000);
	emit_resident_process(&s, 0, 1048576, 3 * SECOND + 2000);
	emit_resident_older(&s, 1, 1048576, 3 * SECOND + 3000);
}

/* A server that grows, and its child, whose series lie on top of what it inherited. */
static void sampled(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	struct record_totals parent = totals(0, 300, 70000 + 512, 71);
	struct record_totals child = totals(1, 0, 3000, 30);
	struct record_site inherited = site(1, 1, AT_MAKE, 2000, 20);
	struct record_site growing = site(0, 1, AT_MAKE, 70000, 70);

	for (size_t i = 0; i < RECORD_BIRTHS; i++)
		growing.born_bytes[i] = 70000 / RECORD_BIRTHS;
	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_SLOT, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 41 * SECOND, "worker");
	emit_samples(&s, 2 * SECOND, AT_MAKE, AT_LOOP);
	parent.peak_ns = 71 * SECOND;
	child.frees = 29;
	child.inherited_bytes = 5900;
	child.inherited_blocks = 59;
	inherited.inherited_bytes = 4900;
	emit_cut(&s, 72 * SECOND);
	emit_totals(&s, parent);
	emit_site(&s, growing);
	emit_site(&s, site(0, 2, AT_LOOP, 512, 1));
	emit_totals(&s, child);
	emit_site(&s, inherited);
	emit_site(&s, site(1, 2, AT_LOOP, 1000, 10));
	emit_coverage(&s, true, 300, NULL, 0);
	emit_cut_end(&s);
	symbols(&s);
}

static const struct scenario all[] = {
	{ .name = "empty", .emit = empty },
	{ .name = "before", .emit = before },
	{ .name = "forked", .emit = forked },
	{ .name = "execed", .emit = execed },
	{ .name = "reloaded", .emit = reloaded },
	{ .name = "inexact", .emit = inexact },
	{ .name = "cut-stacks", .emit = cut_stacks },
	{ .name = "mapped", .emit = mapped },
	{ .name = "cxx", .emit = cxx },
	{ .name = "storm", .emit = storm, .opts = { .top = 3 } },
	{ .name = "storm-peak", .emit = storm, .opts = { .sort = SORT_PEAK, .top = 1 } },
	{ .name = "counted", .emit = counted },
	{ .name = "counted-top", .emit = counted, .opts = { .top = 1 } },
	{ .name = "event", .emit = random_event },
	{ .name = "event-top", .emit = random_event, .opts = { .top = 2 } },
	{ .name = "jobs-alloc", .emit = jobs },
	{ .name = "jobs-first", .emit = jobs, .opts = { .job = 1 } },
	{ .name = "jobs-second", .emit = jobs, .opts = { .job = 2 } },
	{ .name = "times-cpu", .emit = times, .opts = { .job = 0 } },
	{ .name = "times-wait", .emit = times, .opts = { .job = 1 } },
	{ .name = "syscalls", .emit = system_calls },
	{ .name = "syscalls-top", .emit = system_calls, .opts = { .top = 1, .width = 100 } },
	{ .name = "errors", .emit = wrong },
	{ .name = "errors-top", .emit = wrong, .opts = { .top = 2 } },
	{ .name = "frees", .emit = wandering },
	{ .name = "estimated", .emit = estimated },
	{ .name = "resident", .emit = resident },
	{ .name = "sampled", .emit = sampled },
	{ .name = "sampled-few",
	  .emit = sampled,
	  .opts = { .massif = { .threshold = 100,
				.max_snapshots = 10,
				.time_unit = MASSIF_BYTES } } },
	{ .name = "cut-off", .emit = forked, .cut_off = true },
	{ .name = "forked-growth", .emit = forked, .opts = { .sort = SORT_GROWTH } },
};

const struct scenario *scenarios(size_t *ret_n)
{
	*ret_n = sizeof(all) / sizeof(all[0]);
	return all;
}
