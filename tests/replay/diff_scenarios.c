/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/diff_scenarios.h"

#include "config/where.h"
#include "tests/record_script.h"
#include "tests/replay/estimates.h"
#include "tests/replay/resident_memory.h"

#define SERVER "/opt/demo/server"
#define LIBC "/lib/libc.so.6"

/* Where a build has things, and what a compiler has made of their names. */
struct build {
	uint32_t pid;
	uint64_t code, ino, at;
	const char *library, *parse, *load;
	bool has_lines;
};

static const struct build old_build = {
	.pid = 42,
	.code = 0x10000,
	.ino = 11,
	.at = 0x100,
	.library = "/lib/libcache.so.1.2",
	.parse = "demo::parse::h0123456789abcdef",
	.load = "load.constprop.0",
};

static const struct build new_build = {
	.pid = 77,
	.code = 0x90000,
	.ino = 21,
	.at = 0x300,
	.library = "/opt/lib/libcache.so.1.3 (deleted)",
	.parse = "demo::parse::hfedcba9876543210",
	.load = "load",
	.has_lines = true,
};

static void emit_code(const struct script *s, const struct build *b)
{
	uint64_t server = b->code, library = b->code + 0x40000, file = 0x1000 + b->at;
	const struct record_symbol_frame load[] = {
		{ "copy", 0x4, "/src/copy.h", 7, true },
		{ b->load, 0x24, b->has_lines ? "/src/load.c" : NULL, b->has_lines ? 20 : 0,
		  false },
	};

	emit_begin(s, 0, b->pid, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, server, server + 0x10000, 0x1000, 1000, SERVER, b->ino);
	emit_map(s, 0, library, library + 0x10000, 0x1000, 1000, b->library, b->ino + 1);
	emit_map(s, 0, b->code + 0x80000, b->code + 0x90000, 0x1000, 1000, LIBC, 13);
	emit_function(s, 5, "malloc", LIBC, 0x1040);
	/* parse, from two lines of it; load, with an inlined function; a library; main. */
	emit_stack(s, 71, 0, 2000, server + b->at, server + b->at + 0x80);
	emit_stack(s, 72, 0, 2000, server + b->at + 0x10, server + b->at + 0x80);
	emit_stack(s, 73, 0, 2000, server + b->at + 0x20, server + b->at + 0x80);
	emit_stack(s, 74, 0, 2000, library + b->at, server + b->at + 0x80);
	emit_stack(s, 75, 0, 2000, library + b->at + 0x10, server + b->at + 0x80);
	emit_symbol(s, SERVER, b->ino, file, { b->parse, 0x10, NULL, 0, false });
	emit_symbol(s, SERVER, b->ino, file + 0x10, { b->parse, 0x20, NULL, 0, false });
	emit_symbol_of(s, SERVER, b->ino, file + 0x20, b->has_lines ? load : load + 1,
		       b->has_lines ? 2 : 1);
	emit_symbol(s, SERVER, b->ino, file + 0x80, { "main", 0x30, NULL, 0, false });
	emit_symbol(s, b->library, b->ino + 1, file, { "cache_get", 0x8, NULL, 0, false });
	emit_symbol(s, b->library, b->ino + 1, file + 0x10, { "cache_old", 0x8, NULL, 0, false });
}

static void emit_places(const struct script *s, const struct build *b)
{
	emit_run(s);
	emit_code(s, b);
}

static void end(const struct script *s, const struct record_totals *totals)
{
	emit_totals(s, *totals);
	emit_coverage(s, true, totals->allocs + totals->frees, NULL, 0);
	emit_cut_end(s);
}

static void emit_old(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	emit_places(&s, &old_build);
	emit_region(&s, 0, 0x500000, 0x510000, 5, 74, 3000);
	emit_resident_process(&s, 0, 1000, 1900000000);
	emit_cut(&s, 2000000000);
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 71,
					    .live_bytes = 1000,
					    .live_blocks = 10,
					    .allocs = 20,
					    .bytes = 2000,
					    .temporary = 4,
					    .peak_bytes = 1200 });
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 72,
					    .live_bytes = 24,
					    .live_blocks = 1,
					    .allocs = 1,
					    .bytes = 24,
					    .peak_bytes = 24 });
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 73,
					    .live_bytes = 640,
					    .live_blocks = 10,
					    .allocs = 10,
					    .bytes = 640,
					    .peak_bytes = 640 });
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 75,
					    .live_bytes = 4096,
					    .live_blocks = 1,
					    .allocs = 1,
					    .bytes = 4096,
					    .peak_bytes = 4096 });
	end(&s, &(struct record_totals){ .image = { 0 },
					 .allocs = 32,
					 .frees = 10,
					 .bytes = 6760,
					 .live_bytes = 5760,
					 .live_blocks = 22,
					 .peak_bytes = 5960,
					 .temporary = 4 });
}

static void emit_new(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };

	emit_places(&s, &new_build);
	emit_region(&s, 0, 0x700000, 0x720000, 5, 74, 3000);
	emit_begin(&s, 1, 78, 0, SCRIPT_INHERITS, 1500, "helper");
	emit_resident_process(&s, 0, 2000, 2900000000);
	emit_resident_process(&s, 1, 1000, 2900000000);
	emit_cut(&s, 3000000000);
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 71,
					    .live_bytes = 3000,
					    .live_blocks = 30,
					    .allocs = 60,
					    .bytes = 6000,
					    .temporary = 9,
					    .peak_bytes = 3100 });
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 73,
					    .live_bytes = 512,
					    .live_blocks = 8,
					    .allocs = 10,
					    .bytes = 640,
					    .peak_bytes = 640 });
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 74,
					    .live_bytes = 100,
					    .live_blocks = 2,
					    .allocs = 2,
					    .bytes = 100,
					    .peak_bytes = 100 });
	emit_totals(&s, (struct record_totals){ .image = { 1 } });
	end(&s, &(struct record_totals){ .image = { 0 },
					 .allocs = 72,
					 .frees = 32,
					 .bytes = 6740,
					 .live_bytes = 3612,
					 .live_blocks = 40,
					 .peak_bytes = 3840,
					 .temporary = 9 });
}

/* Of a run that lost something, and other lines of it. */
static void emit_lossy(record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	const struct record_loss lost = { "block-map-full", 3 };

	emit_places(&s, &old_build);
	emit_cut(&s, 2000000000);
	emit_site(&s, (struct record_site){ .image = { 0 },
					    .fn = 5,
					    .stack = 71,
					    .live_bytes = 500,
					    .live_blocks = 5,
					    .allocs = 9,
					    .bytes = 900 });
	emit_totals(&s, (struct record_totals){ .image = { 0 },
						.allocs = 9,
						.bytes = 900,
						.live_bytes = 500,
						.live_blocks = 5,
						.lost = 3 });
	emit_coverage(&s, false, 9, &lost, 1);
	emit_cut_end(&s);
}

/* Events of all kinds, and a histogram by process name; no allocations. */
static void emit_asked(const struct script *s, const struct build *b, uint64_t hz)
{
	emit_run_with(s, true);
	emit_histogram(s, (struct record_histogram){ 1, "read,by=comm", "bytes", "comm", 0, 0 });
	emit_histogram(s, (struct record_histogram){ 2, "malloc", "bytes", NULL, 0, 0 });
	emit_event(s, 1, "syscalls:sys_enter_getrandom");
	emit(s, &(struct record){ .type = RECORD_EVENT,
				  .event = { .id = 2, .name = "off-cpu", .timed = true } });
	emit(s, &(struct record){
			.type = RECORD_EVENT,
			.event = { .id = 3, .name = "cpu-clock", .period_ns = 1000000000 / hz } });
	emit(s, &(struct record){ .type = RECORD_EVENT,
				  .event = { .id = 4, .name = "page-faults", .period = 1000 } });
	emit_code(s, b);
}

static void emit_counts(const struct script *s, uint32_t id, uint64_t stack, uint64_t count,
			uint64_t ns)
{
	emit_event_count(s, (struct record_event_count){
				    .id = id, .stack = stack, .count = count, .ns = ns });
}

static void emit_group(const struct script *s, const char *key, const struct record_bucket *buckets,
		       size_t n_buckets, const struct record_errno *errors, size_t n_errors)
{
	emit_hist_counts(s, (struct record_hist_counts){ .id = 1,
							 .key = key,
							 .n_buckets = n_buckets,
							 .buckets = buckets,
							 .n_errors = n_errors,
							 .errors = errors });
}

static void emit_old_jobs(record_fn fn, void *userdata)
{
	static const struct record_bucket dd[] = { { 0, 1, 12 }, { 512, 1024, 1000 } };
	static const struct record_bucket sh[] = { { 2, 4, 1 } };
	static const struct record_errno errors[] = { { 4, 3 }, { 11, 2 } };
	const struct script s = { fn, userdata };

	emit_asked(&s, &old_build, 100);
	emit_cut(&s, 2000000000);
	emit_group(&s, "dd", dd, 2, errors, 2);
	emit_group(&s, "sh", sh, 1, NULL, 0);
	emit_counts(&s, 1, 71, 40, 0);
	emit_counts(&s, 1, 72, 2, 0);
	emit_counts(&s, 1, 74, 5, 0);
	emit_counts(&s, 1, 75, 7, 0);
	emit_counts(&s, 2, 73, 3, 1500000000);
	emit_counts(&s, 3, 71, 10, 0);
	emit_counts(&s, 4, 71, 2, 0);
	emit_coverage(&s, true, 69, NULL, 0);
	emit_cut_end(&s);
}

static void emit_new_jobs(record_fn fn, void *userdata)
{
	static const struct record_bucket dd[] = { { 0, 1, 12 }, { 1024, 2048, 250 } };
	static const struct record_bucket cat[] = { { 64, 128, 9 } };
	static const struct record_errno errors[] = { { 11, 5 }, { 32, 1 } };
	const struct script s = { fn, userdata };

	emit_asked(&s, &new_build, 100);
	emit_cut(&s, 3000000000);
	emit_group(&s, "dd", dd, 2, errors, 2);
	emit_group(&s, "cat", cat, 1, NULL, 0);
	emit_counts(&s, 1, 71, 51, 0);
	emit_counts(&s, 1, 73, 6, 0);
	emit_counts(&s, 1, 74, 5, 0);
	emit_counts(&s, 2, 73, 4, 400000000);
	emit_counts(&s, 2, 74, 1, 90000000);
	emit_counts(&s, 3, 73, 30, 0);
	emit_counts(&s, 4, 71, 5, 0);
	emit_coverage(&s, true, 102, NULL, 0);
	emit_cut_end(&s);
}

/* At another rate, so that samples are of another worth. */
static void emit_faster_jobs(record_fn fn, void *userdata)
{
	const struct record_loss lost = { "event-map-full", 3 };
	const struct script s = { fn, userdata };

	emit_asked(&s, &new_build, 1000);
	emit_cut(&s, 3000000000);
	emit_counts(&s, 1, 74, 8, 0);
	emit_counts(&s, 2, 73, 4, 2500000000);
	emit_counts(&s, 3, 73, 30, 0);
	emit_coverage(&s, false, 42, &lost, 1);
	emit_cut_end(&s);
}

static const struct diff_scenario all[] = {
	{ "diff", { emit_old, emit_new }, { .top = 10 } },
	{ "diff-back", { emit_new, emit_old }, { .top = 1, .widths = WIDTHS_BEFORE } },
	{ "diff-same", { emit_old, emit_old }, { .sort = SORT_PEAK } },
	{ "diff-count", { emit_old, emit_new }, { .sort = SORT_COUNT } },
	{ "diff-temporary", { emit_old, emit_new }, { .sort = SORT_TEMPORARY } },
	{ "diff-groups", { emit_old, emit_new }, { .group_by = GROUP_BY_OBJECT } },
	{ "diff-lossy", { emit_old, emit_lossy }, { .top = 10 } },
	{ "diff-jobs", { emit_old_jobs, emit_new_jobs }, { .top = 2 } },
	{ "diff-estimated", { estimated, estimated_later }, { .top = 10 } },
	{ "diff-estimated-groups",
	  { estimated, estimated_later },
	  { .group_by = GROUP_BY_FUNCTION } },
	{ "diff-jobs-lossy", { emit_old_jobs, emit_faster_jobs }, { .top = 10, .job = 1 } },
};

const struct diff_scenario *diff_scenarios(size_t *ret_n)
{
	*ret_n = sizeof(all) / sizeof(all[0]);
	return all;
}
