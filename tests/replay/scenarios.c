/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/scenarios.h"

#include "tests/replay/deaths.h"
#include "tests/replay/estimates.h"
#include "tests/replay/free_pairs.h"
#include "tests/replay/heap_errors.h"
#include "tests/replay/job_scenarios.h"
#include "tests/replay/resident_memory.h"
#include "tests/replay/samples.h"
#include "tests/replay/server_run.h"

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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	struct record_totals none = { .image = { 2 } };

	allocators(&s);
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "sh");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	emit(&s, &(struct record){
			 .type = RECORD_STACK_DIFFERS,
			 .stack_differs = {
				 { 0 }, true, APP "+0x1300", APP "+0x1300\n" LIBC "+0x10" } });
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	emit_totals(&s, (struct record_totals){ .image = { 1 } });
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "my app 1");
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
	emit_begin(&s, 0, 1000, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "make");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	code(&s, 0, SECOND);
	stacks(&s, 0, SECOND);
	emit_begin(&s, 1, 4243, 0, SCRIPT_INHERITS, 2 * SECOND, "worker");
	emit_cut(&s, 3 * SECOND);
	emit_totals(&s, sound);
	emit_errors(&s, 0, AT_MAKE, AT_LOOP);
	emit_totals(&s, lossy);
	emit_error(&s, (struct record_heap_error){ .image = { 1 },
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	emit_begin(&s, 1, 4300, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "older");
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
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
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

static void emit_depth(const struct script *s, enum record_depth depth, uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_DEPTH,
				  .depth_change = { time_ns, depth, 400000, 2500000, 0 } });
}

/* An image of a server whose depth changes: the first one, or one that replaces the one before. */
static void emit_stretch(const struct script *s, uint32_t image, enum record_depth depth,
			 uint64_t time_ns)
{
	if (image > 0) {
		emit_depth(s, depth, time_ns);
		emit_end(s, image - 1, RECORD_END_DEPTH, 0, time_ns);
	}
	emit(s, &(struct record){ .type = RECORD_PROCESS,
				  .process = { .image = { image },
					       .pid = 4242,
					       .ppid = 1,
					       .parent_image = RECORD_NO_IMAGE,
					       .prev_image = { image > 0 ? image - 1 : UINT32_MAX },
					       .root = true,
					       .time_ns = time_ns,
					       .comm = "server",
					       .exe = APP,
					       .depth = depth } });
	code(s, image, time_ns);
}

static void emit_faults(const struct script *s, uint32_t image, uint64_t n)
{
	emit_event_count(s, (struct record_event_count){ .id = 1,
							 .image = { image },
							 .stack = AT_LOOP,
							 .count = n,
							 .first_ns = 3 * SECOND,
							 .last_ns = 9 * SECOND });
}

/* The limit of -p: calls are counted at first, and now and then. */
static void stretches(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	allocators(&s);
	emit_event(&s, 1, "page-faults");
	emit_stretch(&s, 0, RECORD_DEPTH_EXACT, SECOND);
	stacks(&s, 0, SECOND);
	emit_stretch(&s, 1, RECORD_DEPTH_GROWTH, 2 * SECOND);
	emit_stretch(&s, 2, RECORD_DEPTH_EXACT, 4 * SECOND);
	emit_stretch(&s, 3, RECORD_DEPTH_GROWTH, 5 * SECOND);
	emit_stretch(&s, 4, RECORD_DEPTH_EXACT, 8 * SECOND);
	emit_stretch(&s, 5, RECORD_DEPTH_GROWTH, 9 * SECOND);
	emit_cut(&s, 10 * SECOND);
	emit_totals(&s, totals(0, 100, 4096, 4));
	emit_site(&s, site(0, 1, AT_MAKE, 4096, 4));
	emit_totals(&s, totals(2, 50, 2000, 20));
	emit_site(&s, site(2, 1, AT_MAKE, 1500, 15));
	emit_site(&s, site(2, 2, AT_LOOP, 500, 5));
	emit_totals(&s, totals(4, 70, 3000, 30));
	emit_site(&s, site(4, 1, AT_MAKE, 2000, 20));
	emit_site(&s, site(4, 2, AT_LOOP, 1000, 10));
	emit_faults(&s, 1, 20);
	emit_faults(&s, 3, 30);
	emit_faults(&s, 5, 5);
	emit(&s, &(struct record){ .type = RECORD_OVERHEAD,
				   .overhead = { .max_ppm = 200000,
						 .predicted_ppm = 10000,
						 .measured_ppm = UINT64_MAX } });
	emit(&s, &(struct record){ .type = RECORD_COST,
				   .cost = { .calls = 386,
					     .span_ns = 9 * SECOND,
					     .predicted_ns = SECOND / 10,
					     .measured_ns = SECOND / 8,
					     .own_cpu_ns = 5 * SECOND,
					     .uncounted_ns = 6 * SECOND,
					     .limit_ppm = 200000 } });
	emit_coverage(&s, true, 386, NULL, 0);
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
	{ .name = "jobs-alloc", .emit = several_jobs },
	{ .name = "jobs-first", .emit = several_jobs, .opts = { .job = 1 } },
	{ .name = "jobs-second", .emit = several_jobs, .opts = { .job = 2 } },
	{ .name = "times-cpu", .emit = cpu_and_waits, .opts = { .job = 0 } },
	{ .name = "times-wait", .emit = cpu_and_waits, .opts = { .job = 1 } },
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
	{ .name = "stretches", .emit = stretches },
	{ .name = "forked-growth", .emit = forked, .opts = { .sort = SORT_GROWTH } },
};

const struct scenario *scenarios(size_t *ret_n)
{
	*ret_n = sizeof(all) / sizeof(all[0]);
	return all;
}
