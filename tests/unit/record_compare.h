/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether two records are the same, field by field: what a recording must give back. For tests.
 */
#ifndef MEMTRACED_TESTS_UNIT_RECORD_COMPARE_H
#define MEMTRACED_TESTS_UNIT_RECORD_COMPARE_H

#include "trace/record/record.h"

#include <string.h>

static bool same_string(const char *a, const char *b)
{
	return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* By hand, not by the codec's table: a field missing there would go unnoticed. */
static bool same_history(const struct record *a, const struct record *b)
{
#define SAME(m) (a->m == b->m)
#define SAME_S(m) same_string(a->m, b->m)
	if (!SAME(type))
		return false;
	switch (a->type) {
	case RECORD_RUN:
		return SAME_S(run.tool) && SAME_S(run.kernel) && SAME_S(run.attach_path) &&
		       SAME(run.start_realtime_ns) && SAME(run.start_ns) &&
		       SAME(run.age_resolution_ns) && SAME(run.no_allocations) &&
		       SAME(run.no_stacks) && SAME_S(run.unwinder) && SAME_S(run.kernel_lacks) &&
		       SAME(run.free_stacks);
	case RECORD_FUNCTION:
		return SAME(function.id) && SAME_S(function.name) && SAME_S(function.object) &&
		       SAME(function.file_offset);
	case RECORD_PROCESS:
		return SAME(process.slot) && SAME(process.pid) && SAME(process.ppid) &&
		       SAME(process.parent_slot) && SAME(process.prev_slot) && SAME(process.root) &&
		       SAME(process.inherits) && SAME(process.time_ns) && SAME_S(process.comm) &&
		       SAME_S(process.exe) && SAME(process.depth) && SAME_S(process.command);
	case RECORD_DEPTH:
		return SAME(depth_change.time_ns) && SAME(depth_change.depth) &&
		       SAME(depth_change.calls_per_s) && SAME(depth_change.predicted_ppm) &&
		       SAME(depth_change.doublings);
	case RECORD_OVERHEAD:
		return SAME(overhead.max_ppm) && SAME(overhead.predicted_ppm) &&
		       SAME(overhead.measured_ppm) && SAME(overhead.cpu_ns) &&
		       SAME(overhead.call_ns) && SAME(overhead.sample_ns);
	case RECORD_PROCESS_END:
		return SAME(process_end.slot) && SAME(process_end.how) && SAME(process_end.value) &&
		       SAME(process_end.oom) && SAME(process_end.oom_unknown) &&
		       SAME(process_end.time_ns);
	case RECORD_NAME:
		return SAME(name.slot) && SAME_S(name.comm);
	case RECORD_MAPPING:
		return SAME(mapping.slot) && SAME(mapping.start) && SAME(mapping.end) &&
		       SAME(mapping.file_offset) && SAME(mapping.time_ns) && SAME(mapping.dev) &&
		       SAME(mapping.ino) && SAME_S(mapping.path) && SAME_S(mapping.local_path) &&
		       memcmp(a->mapping.build_id, b->mapping.build_id, RECORD_BUILD_ID_MAX) == 0 &&
		       SAME(mapping.build_id_len) && SAME(mapping.executable);
	case RECORD_UNMAPPING:
		return SAME(unmapping.slot) && SAME(unmapping.start) && SAME(unmapping.end) &&
		       SAME(unmapping.time_ns);
	case RECORD_STACK:
		return SAME(stack.id) && SAME(stack.slot) && SAME(stack.time_ns) &&
		       SAME(stack.truncated) && SAME(stack.interrupted) && SAME(stack.n_frames) &&
		       SAME(stack.exact[0]) && SAME(stack.exact[1]) && SAME(stack.n_more_exact) &&
		       (a->stack.n_more_exact == 0 ||
			memcmp(a->stack.more_exact, b->stack.more_exact,
			       a->stack.n_more_exact * 8) == 0) &&
		       (a->stack.n_frames == 0 ||
			memcmp(a->stack.frames, b->stack.frames, a->stack.n_frames * 8) == 0);
	case RECORD_REGION:
		return SAME(region.slot) && SAME(region.start) && SAME(region.end) &&
		       SAME(region.stack) && SAME(region.time_ns) && SAME(region.fn);
	case RECORD_REGION_GONE:
		return SAME(region_gone.slot) && SAME(region_gone.start) && SAME(region_gone.end) &&
		       SAME(region_gone.time_ns);
	default:
		return false;
	}
}

static bool same_state(const struct record *a, const struct record *b)
{
	switch (a->type) {
	case RECORD_CUT:
		return SAME(cut.time_ns);
	case RECORD_TOTALS:
		return SAME(totals.slot) && SAME_S(totals.comm) && SAME(totals.allocs) &&
		       SAME(totals.frees) && SAME(totals.failed) && SAME(totals.bytes) &&
		       SAME(totals.live_bytes) && SAME(totals.live_blocks) && SAME(totals.lost) &&
		       SAME(totals.peak_bytes) && SAME(totals.peak_error_bytes) &&
		       SAME(totals.temporary) && SAME(totals.missed_frees) &&
		       SAME(totals.unknown_frees) && SAME(totals.further_errors) &&
		       SAME(totals.peak_ns) && SAME(totals.frees_variance) &&
		       SAME(totals.peak_rss_bytes) && SAME(totals.peak_rss_is_least) &&
		       SAME(totals.sample_shown) && SAME(totals.inherited_bytes) &&
		       SAME(totals.inherited_blocks) && SAME(totals.sample_interval) &&
		       SAME(totals.blocks_variance) && SAME(totals.allocs_variance);
	case RECORD_SITE:
		return SAME(site.slot) && SAME(site.fn) && SAME(site.stack) &&
		       SAME(site.live_bytes) && SAME(site.live_blocks) && SAME(site.allocs) &&
		       SAME(site.bytes) && SAME(site.temporary) && SAME(site.peak_bytes) &&
		       SAME(site.oldest_ns) && SAME(site.newest_ns) && SAME(site.inherited_bytes) &&
		       SAME(site.young_bytes) && SAME(site.young_blocks) &&
		       SAME(site.blocks_variance) && SAME(site.allocs_variance) &&
		       memcmp(a->site.born_bytes, b->site.born_bytes, sizeof(a->site.born_bytes)) ==
			       0;
	case RECORD_COVERAGE:
		if (!SAME(coverage.exact) || !SAME(coverage.events) ||
		    !SAME(coverage.stacks_complete) || !SAME(coverage.stacks_truncated) ||
		    !SAME(coverage.n_losses) || !SAME(coverage.stacks_guided) ||
		    !SAME(coverage.n_cuts))
			return false;
		for (size_t i = 0; i < a->coverage.n_cuts; i++)
			if (!SAME_S(coverage.cuts[i].cause) || !SAME(coverage.cuts[i].count))
				return false;
		for (size_t i = 0; i < a->coverage.n_losses; i++)
			if (!SAME_S(coverage.losses[i].cause) || !SAME(coverage.losses[i].count))
				return false;
		return true;
	case RECORD_CUT_END:
		return true;
	case RECORD_HIST_COUNTS:
		if (!SAME(hist_counts.id) || !SAME_S(hist_counts.key) ||
		    !SAME(hist_counts.n_buckets) || !SAME(hist_counts.n_errors) ||
		    !SAME(hist_counts.restarted) || !SAME(hist_counts.passed_on))
			return false;
		for (size_t i = 0; i < a->hist_counts.n_buckets; i++)
			if (!SAME(hist_counts.buckets[i].lo) || !SAME(hist_counts.buckets[i].hi) ||
			    !SAME(hist_counts.buckets[i].count))
				return false;
		for (size_t i = 0; i < a->hist_counts.n_errors; i++)
			if (!SAME(hist_counts.errors[i].number) ||
			    !SAME(hist_counts.errors[i].count))
				return false;
		return true;
	case RECORD_EVENT_COUNT:
		return SAME(event_count.id) && SAME(event_count.slot) && SAME(event_count.stack) &&
		       SAME(event_count.kernel_stack) && SAME(event_count.count) &&
		       SAME(event_count.first_ns) && SAME(event_count.last_ns) &&
		       SAME(event_count.ns) && SAME(event_count.weight) &&
		       SAME(event_count.variance) && SAME(event_count.interval);
	default:
		return false;
	}
}

static bool same_description(const struct record *a, const struct record *b)
{
	switch (a->type) {
	case RECORD_UNPROBED:
		return SAME_S(unprobed.function) && SAME_S(unprobed.object) && SAME_S(unprobed.why);
	case RECORD_SYMBOL:
		if (!SAME_S(symbol.object) || !SAME(symbol.dev) || !SAME(symbol.ino) ||
		    !SAME(symbol.slot) || !SAME(symbol.file_offset) || !SAME(symbol.is_call) ||
		    !SAME(symbol.vaddr) || !SAME(symbol.n_frames) || !SAME(symbol.n_linkages))
			return false;
		for (size_t i = 0; i < a->symbol.n_linkages; i++)
			if (!SAME_S(symbol.linkages[i].name))
				return false;
		for (size_t i = 0; i < a->symbol.n_frames; i++)
			if (!SAME_S(symbol.frames[i].function) || !SAME(symbol.frames[i].offset) ||
			    !SAME_S(symbol.frames[i].file) || !SAME(symbol.frames[i].line) ||
			    !SAME(symbol.frames[i].is_inline))
				return false;
		return true;
	case RECORD_HISTOGRAM:
		return SAME(histogram.id) && SAME_S(histogram.spec) && SAME_S(histogram.unit) &&
		       SAME_S(histogram.by) && SAME(histogram.linear) && SAME(histogram.step);
	case RECORD_EVENT:
		return SAME(event.id) && SAME_S(event.name) && SAME(event.kernel) &&
		       SAME(event.period_ns) && SAME(event.timed) && SAME(event.period) &&
		       SAME(event.page_bytes) && SAME(event.adapts);
	case RECORD_OCCURRENCE:
		return SAME(occurrence.id) && SAME(occurrence.slot) && SAME(occurrence.tid) &&
		       SAME(occurrence.cpu) && SAME(occurrence.time_ns) && SAME(occurrence.stack) &&
		       SAME(occurrence.kernel_stack) && SAME_S(occurrence.comm) &&
		       SAME(occurrence.weight);
	default:
		return false;
	}
}

static bool same_syscall(const struct record_syscall *a, const struct record_syscall *b)
{
	if (!SAME(slot) || !SAME(number) || !SAME_S(name) || !SAME(calls) || !SAME(errors) ||
	    !SAME(restarted) || !SAME(total_ns) || !SAME(max_ns) || !SAME(bytes) ||
	    !SAME(n_buckets) || !SAME(n_errnos))
		return false;
	for (size_t i = 0; i < a->n_buckets; i++)
		if (!SAME(buckets[i].lo) || !SAME(buckets[i].hi) || !SAME(buckets[i].count))
			return false;
	for (size_t i = 0; i < a->n_errnos; i++)
		if (!SAME(errnos[i].number) || !SAME(errnos[i].count))
			return false;
	return true;
}

static bool same_syscalls(const struct record *a, const struct record *b)
{
	switch (a->type) {
	case RECORD_SYSCALL:
		return same_syscall(&a->syscall, &b->syscall);
	case RECORD_SYSCALL_FILE:
		return SAME(syscall_file.slot) && SAME_S(syscall_file.path) &&
		       SAME(syscall_file.opens) && SAME(syscall_file.reads) &&
		       SAME(syscall_file.writes) && SAME(syscall_file.bytes_read) &&
		       SAME(syscall_file.bytes_written) && SAME(syscall_file.total_ns) &&
		       SAME(syscall_file.others);
	case RECORD_SYSCALL_STACK:
		return SAME(syscall_stack.slot) && SAME(syscall_stack.number) &&
		       SAME(syscall_stack.stack) && SAME(syscall_stack.calls) &&
		       SAME(syscall_stack.total_ns);
	default:
		return false;
	}
}

static bool same_losses(const struct record_loss *a, const struct record_loss *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!same_string(a[i].cause, b[i].cause) || a[i].count != b[i].count)
			return false;
	return true;
}

static bool same_jit_code(const struct record_jit_code *a, const struct record_jit_code *b)
{
	if (!SAME(slot) || !SAME(start) || !SAME(size_bytes) || !SAME(since_ns) || !SAME_S(name) ||
	    !SAME_S(source) || !SAME(n_lines))
		return false;
	for (size_t i = 0; i < a->n_lines; i++)
		if (!SAME(lines[i].offset) || !SAME(lines[i].line) || !SAME_S(lines[i].file))
			return false;
	return true;
}

static bool same_heap_error(const struct record_heap_error *a, const struct record_heap_error *b)
{
	return SAME(slot) && SAME(kind) && SAME(fn) && SAME(stack) && SAME(count) &&
	       SAME(time_ns) && SAME(addr) && SAME(size) && SAME(block) && SAME(block_size) &&
	       SAME(block_fn) && SAME(block_stack) && SAME(freed_fn) && SAME(freed_stack);
}

static bool same_fault(const struct record_fault *a, const struct record_fault *b)
{
	return SAME(slot) && SAME(tid) && SAME(signal) && SAME(code) && SAME(has_addr) &&
	       SAME(addr) && SAME(stack) && SAME(time_ns) && SAME(block) && SAME(block_size) &&
	       SAME(block_fn) && SAME(block_stack) && SAME(freed) && SAME(freed_fn) &&
	       SAME(freed_stack);
}

static bool same_use(const struct record_memory_use *a, const struct record_memory_use *b)
{
	return SAME(used) && SAME(most) && SAME(limit);
}

static bool same_death(const struct record_death *a, const struct record_death *b)
{
	return SAME(slot) && SAME(signal) && SAME(code) && SAME(time_ns) && SAME(killer) &&
	       SAME(sender) && SAME(sender_uid) && SAME_S(sender_comm) && SAME(oom) &&
	       SAME_S(oom_constraint) && SAME_S(oom_cgroup) && same_use(&a->oom_use, &b->oom_use) &&
	       SAME(has_memory) && SAME(total_vm) && SAME(anon) && SAME(file) && SAME(shared) &&
	       SAME(swapped) && SAME(page_tables) && SAME(oom_score_adj) && SAME(uid) &&
	       SAME(euid) && SAME_S(cgroup) && same_use(&a->use, &b->use) && SAME_S(full_cgroup) &&
	       same_use(&a->full_use, &b->full_use) && SAME(has_events) && SAME(limit_hits) &&
	       SAME(ooms) && SAME(oom_kills);
}

static bool same_free_pair(const struct record_free_pair *a, const struct record_free_pair *b)
{
	return SAME(slot) && SAME(fn) && SAME(stack) && SAME(free_fn) && SAME(free_stack) &&
	       SAME(count) && SAME(bytes) && SAME(others) && SAME(unknown) && SAME(total_ns) &&
	       memcmp(a->lifetimes, b->lifetimes, sizeof(a->lifetimes)) == 0;
}

static bool same_resident(const struct record_resident *a, const struct record_resident *b)
{
	return SAME(slot) && SAME(time_ns) && SAME(rss) && SAME(pss) && SAME(swap) &&
	       SAME(page_tables) && SAME(heap_live) && SAME(heap_free) && SAME(mmap) &&
	       SAME(file) && SAME(stack) && SAME(unknown) && SAME(unknown_heap) && SAME(moved) &&
	       SAME(all_blocks) && SAME(mapped) && SAME(inaccessible);
}

static bool same_sample(const struct record *a, const struct record *b)
{
	switch (a->type) {
	case RECORD_SAMPLE:
		return SAME(sample.time_ns);
	case RECORD_SAMPLE_PROCESS:
		return SAME(sample_process.slot) && SAME(sample_process.live_bytes) &&
		       SAME(sample_process.live_blocks) && SAME(sample_process.allocs) &&
		       SAME(sample_process.frees) && SAME(sample_process.bytes) &&
		       SAME(sample_process.rss_bytes) && SAME(sample_process.cgroup_bytes) &&
		       SAME(sample_process.pss_bytes);
	case RECORD_SAMPLE_SITE:
		return SAME(sample_site.slot) && SAME(sample_site.fn) && SAME(sample_site.stack) &&
		       SAME(sample_site.live_bytes);
	case RECORD_SAMPLE_END:
		return SAME(sample_end.n_left_out) && SAME(sample_end.most_bytes) &&
		       SAME(sample_end.n_processes_left_out);
	default:
		return false;
	}
}

static bool same_check(const struct record *a, const struct record *b)
{
	if (a->type == RECORD_STACK_CHECK)
		return SAME(stack_check.n_results) &&
		       same_losses(a->stack_check.results, b->stack_check.results,
				   a->stack_check.n_results);
	return a->type == RECORD_STACK_DIFFERS && SAME(stack_differs.slot) &&
	       SAME(stack_differs.whole) && SAME_S(stack_differs.ours) &&
	       SAME_S(stack_differs.reference);
}

static bool same_leaks(const struct record_leaks *a, const struct record_leaks *b)
{
	bool same = SAME(slot) && SAME(number) && SAME(errors) && SAME(complete) &&
		    SAME(stopped_ns) && SAME(running_threads) && SAME(unknown_blocks) &&
		    SAME(older_blocks) && SAME(n_sums) && SAME(n_places);

	for (size_t i = 0; same && i < a->n_sums; i++)
		same = SAME_S(sums[i].name) && SAME(sums[i].blocks) && SAME(sums[i].bytes);
	for (size_t i = 0; same && i < a->n_places; i++)
		same = SAME(places[i].stack) && SAME(places[i].fn) && SAME(places[i].class);
	return same;
}

static bool same_record(const struct record *a, const struct record *b)
{
	return same_history(a, b) || same_state(a, b) || same_description(a, b) ||
	       (a->type == b->type &&
		(same_syscalls(a, b) || same_check(a, b) || same_sample(a, b))) ||
	       (SAME(type) && a->type == RECORD_JIT_CODE &&
		same_jit_code(&a->jit_code, &b->jit_code)) ||
	       (SAME(type) && a->type == RECORD_SYMBOLS_UNREAD && SAME(symbols_unread.count)) ||
	       (SAME(type) && a->type == RECORD_HEAP_ERROR &&
		same_heap_error(&a->heap_error, &b->heap_error)) ||
	       (SAME(type) && a->type == RECORD_FAULT && same_fault(&a->fault, &b->fault)) ||
	       (SAME(type) && a->type == RECORD_DEATH && same_death(&a->death, &b->death)) ||
	       (SAME(type) && a->type == RECORD_LEAKS && same_leaks(&a->leaks, &b->leaks)) ||
	       (SAME(type) && a->type == RECORD_LEAK_TEXT && SAME(leak_text.pid) &&
		SAME_S(leak_text.text)) ||
	       (SAME(type) && a->type == RECORD_FREE_PAIR &&
		same_free_pair(&a->free_pair, &b->free_pair)) ||
	       (SAME(type) && a->type == RECORD_RESIDENT &&
		same_resident(&a->resident, &b->resident));
}

#endif
