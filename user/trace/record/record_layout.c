/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record/record_layout.h"

_Static_assert(sizeof(bool) == 1, "FIELD_BOOL");
_Static_assert(sizeof(int) == 4 && sizeof(enum record_end) == 4, "FIELD_U32");

#define F(type, member, kind)                                                                      \
	{                                                                                          \
		offsetof(struct type, member), 0, kind                                             \
	}
#define ARRAY(type, member, n, kind)                                                               \
	{                                                                                          \
		offsetof(struct type, member), offsetof(struct type, n), kind                      \
	}
#define END                                                                                        \
	{                                                                                          \
		0, 0, 0                                                                            \
	}

/* In the order of the payload. New fields go to the end. */
static const struct field run_fields[] = {
	F(record_run, tool, FIELD_STRING),
	F(record_run, kernel, FIELD_OPTIONAL_STRING),
	F(record_run, attach_path, FIELD_OPTIONAL_STRING),
	F(record_run, start_realtime_ns, FIELD_U64),
	F(record_run, start_ns, FIELD_U64),
	F(record_run, age_resolution_ns, FIELD_U64),
	F(record_run, no_allocations, FIELD_BOOL),
	F(record_run, no_stacks, FIELD_BOOL),
	F(record_run, unwinder, FIELD_OPTIONAL_STRING),
	F(record_run, kernel_lacks, FIELD_OPTIONAL_STRING),
	F(record_run, free_stacks, FIELD_BOOL),
	F(record_run, growth_span_ns, FIELD_U64),
	F(record_run, sampled, FIELD_BOOL),
	F(record_run, no_heap, FIELD_BOOL),
	END,
};
static const struct field function_fields[] = {
	F(record_function, id, FIELD_U16),
	F(record_function, name, FIELD_STRING),
	F(record_function, object, FIELD_OPTIONAL_STRING),
	F(record_function, file_offset, FIELD_U64),
	END,
};
static const struct field process_fields[] = {
	F(record_process, slot, FIELD_U32),
	F(record_process, pid, FIELD_U32),
	F(record_process, ppid, FIELD_U32),
	F(record_process, parent_slot, FIELD_U32),
	F(record_process, prev_slot, FIELD_U32),
	F(record_process, root, FIELD_BOOL),
	F(record_process, inherits, FIELD_BOOL),
	F(record_process, time_ns, FIELD_U64),
	F(record_process, comm, FIELD_STRING),
	F(record_process, exe, FIELD_OPTIONAL_STRING),
	F(record_process, depth, FIELD_U32),
	F(record_process, command, FIELD_OPTIONAL_STRING),
	END,
};
static const struct field process_end_fields[] = {
	F(record_process_end, slot, FIELD_U32),
	F(record_process_end, how, FIELD_U32),
	F(record_process_end, value, FIELD_U32),
	F(record_process_end, oom, FIELD_BOOL),
	F(record_process_end, time_ns, FIELD_U64),
	F(record_process_end, oom_unknown, FIELD_BOOL),
	END,
};
static const struct field name_fields[] = {
	F(record_name, slot, FIELD_U32),
	F(record_name, comm, FIELD_STRING),
	END,
};
static const struct field mapping_fields[] = {
	F(record_mapping, slot, FIELD_U32),
	F(record_mapping, start, FIELD_U64),
	F(record_mapping, end, FIELD_U64),
	F(record_mapping, file_offset, FIELD_U64),
	F(record_mapping, time_ns, FIELD_U64),
	F(record_mapping, dev, FIELD_U64),
	F(record_mapping, ino, FIELD_U64),
	F(record_mapping, path, FIELD_STRING),
	F(record_mapping, local_path, FIELD_OPTIONAL_STRING),
	F(record_mapping, build_id, FIELD_BYTES_20),
	F(record_mapping, build_id_len, FIELD_U8),
	F(record_mapping, executable, FIELD_BOOL),
	END,
};
static const struct field unmapping_fields[] = {
	F(record_unmapping, slot, FIELD_U32),
	F(record_unmapping, start, FIELD_U64),
	F(record_unmapping, end, FIELD_U64),
	F(record_unmapping, time_ns, FIELD_U64),
	END,
};
static const struct field stack_fields[] = {
	F(record_stack, id, FIELD_U64),
	F(record_stack, slot, FIELD_U32),
	F(record_stack, time_ns, FIELD_U64),
	F(record_stack, truncated, FIELD_BOOL),
	ARRAY(record_stack, frames, n_frames, FIELD_ADDRESSES),
	F(record_stack, interrupted, FIELD_BOOL),
	F(record_stack, exact[0], FIELD_U64),
	F(record_stack, exact[1], FIELD_U64),
	ARRAY(record_stack, more_exact, n_more_exact, FIELD_ADDRESSES),
	END,
};
static const struct field region_fields[] = {
	F(record_region, slot, FIELD_U32),
	F(record_region, start, FIELD_U64),
	F(record_region, end, FIELD_U64),
	F(record_region, stack, FIELD_U64),
	F(record_region, time_ns, FIELD_U64),
	F(record_region, fn, FIELD_U16),
	END,
};
static const struct field region_gone_fields[] = {
	F(record_region_gone, slot, FIELD_U32),
	F(record_region_gone, start, FIELD_U64),
	F(record_region_gone, end, FIELD_U64),
	F(record_region_gone, time_ns, FIELD_U64),
	END,
};
static const struct field cut_fields[] = {
	F(record_cut, time_ns, FIELD_U64),
	F(record_cut, slept_ns, FIELD_U64),
	END,
};
static const struct field totals_fields[] = {
	F(record_totals, slot, FIELD_U32),
	F(record_totals, comm, FIELD_OPTIONAL_STRING),
	F(record_totals, allocs, FIELD_U64),
	F(record_totals, frees, FIELD_U64),
	F(record_totals, failed, FIELD_U64),
	F(record_totals, bytes, FIELD_U64),
	F(record_totals, live_bytes, FIELD_U64),
	F(record_totals, live_blocks, FIELD_U64),
	F(record_totals, peak_bytes, FIELD_U64),
	F(record_totals, peak_error_bytes, FIELD_U64),
	F(record_totals, temporary, FIELD_U64),
	F(record_totals, missed_frees, FIELD_U64),
	F(record_totals, unknown_frees, FIELD_U64),
	F(record_totals, lost, FIELD_U64),
	F(record_totals, further_errors, FIELD_U64),
	F(record_totals, peak_ns, FIELD_U64),
	F(record_totals, inherited_bytes, FIELD_U64),
	F(record_totals, inherited_blocks, FIELD_U64),
	F(record_totals, has_before, FIELD_BOOL),
	F(record_totals, before_bytes, FIELD_U64),
	F(record_totals, before_blocks, FIELD_U64),
	F(record_totals, before_unread, FIELD_U64),
	F(record_totals, sample_interval, FIELD_U64),
	F(record_totals, blocks_variance, FIELD_U64),
	F(record_totals, allocs_variance, FIELD_U64),
	F(record_totals, frees_variance, FIELD_U64),
	F(record_totals, sample_shown, FIELD_U64),
	F(record_totals, se_live_bytes, FIELD_U64),
	F(record_totals, se_bytes, FIELD_U64),
	F(record_totals, samples, FIELD_U64),
	F(record_totals, live_samples, FIELD_U64),
	F(record_totals, live_beyond, FIELD_U64),
	F(record_totals, most_beyond, FIELD_U64),
	F(record_totals, peak_rss_bytes, FIELD_U64),
	F(record_totals, peak_rss_is_least, FIELD_BOOL),
	END,
};
static const struct field site_fields[] = {
	F(record_site, slot, FIELD_U32),
	F(record_site, fn, FIELD_U16),
	F(record_site, stack, FIELD_U64),
	F(record_site, live_bytes, FIELD_U64),
	F(record_site, live_blocks, FIELD_U64),
	F(record_site, allocs, FIELD_U64),
	F(record_site, bytes, FIELD_U64),
	F(record_site, temporary, FIELD_U64),
	F(record_site, peak_bytes, FIELD_U64),
	F(record_site, oldest_ns, FIELD_U64),
	F(record_site, newest_ns, FIELD_U64),
	F(record_site, inherited_bytes, FIELD_U64),
	F(record_site, born_bytes[0], FIELD_U64),
	F(record_site, born_bytes[1], FIELD_U64),
	F(record_site, born_bytes[2], FIELD_U64),
	F(record_site, born_bytes[3], FIELD_U64),
	F(record_site, born_bytes[4], FIELD_U64),
	F(record_site, born_bytes[5], FIELD_U64),
	F(record_site, born_bytes[6], FIELD_U64),
	F(record_site, born_bytes[7], FIELD_U64),
	F(record_site, young_bytes, FIELD_U64),
	F(record_site, young_blocks, FIELD_U64),
	F(record_site, blocks_variance, FIELD_U64),
	F(record_site, allocs_variance, FIELD_U64),
	F(record_site, se_live_bytes, FIELD_U64),
	F(record_site, se_bytes, FIELD_U64),
	F(record_site, samples, FIELD_U64),
	F(record_site, live_samples, FIELD_U64),
	F(record_site, live_beyond, FIELD_U64),
	F(record_site, most_beyond, FIELD_U64),
	END,
};
static const struct field coverage_fields[] = {
	F(record_coverage, exact, FIELD_BOOL),
	F(record_coverage, events, FIELD_U64),
	F(record_coverage, stacks_complete, FIELD_U64),
	F(record_coverage, stacks_truncated, FIELD_U64),
	ARRAY(record_coverage, losses, n_losses, FIELD_LOSSES),
	F(record_coverage, stacks_guided, FIELD_U64),
	ARRAY(record_coverage, cuts, n_cuts, FIELD_LOSSES),
	END,
};
static const struct field no_fields[] = { END };
static const struct field unprobed_fields[] = {
	F(record_unprobed, function, FIELD_STRING),
	F(record_unprobed, object, FIELD_STRING),
	F(record_unprobed, why, FIELD_STRING),
	END,
};
static const struct field symbol_fields[] = {
	F(record_symbol, object, FIELD_STRING),
	F(record_symbol, dev, FIELD_U64),
	F(record_symbol, ino, FIELD_U64),
	F(record_symbol, slot, FIELD_U32),
	F(record_symbol, file_offset, FIELD_U64),
	F(record_symbol, is_call, FIELD_BOOL),
	F(record_symbol, vaddr, FIELD_U64),
	ARRAY(record_symbol, frames, n_frames, FIELD_FRAMES),
	ARRAY(record_symbol, linkages, n_linkages, FIELD_LINKAGES),
	END,
};
static const struct field histogram_fields[] = {
	F(record_histogram, id, FIELD_U32),
	F(record_histogram, spec, FIELD_STRING),
	F(record_histogram, unit, FIELD_OPTIONAL_STRING),
	F(record_histogram, by, FIELD_OPTIONAL_STRING),
	F(record_histogram, linear, FIELD_BOOL),
	F(record_histogram, step, FIELD_U64),
	END,
};
static const struct field hist_counts_fields[] = {
	F(record_hist_counts, id, FIELD_U32),
	F(record_hist_counts, key, FIELD_OPTIONAL_STRING),
	ARRAY(record_hist_counts, buckets, n_buckets, FIELD_BUCKETS),
	ARRAY(record_hist_counts, errors, n_errors, FIELD_ERRNOS),
	F(record_hist_counts, restarted, FIELD_U64),
	F(record_hist_counts, passed_on, FIELD_U64),
	END,
};
static const struct field event_fields[] = {
	F(record_event, id, FIELD_U32),
	F(record_event, name, FIELD_STRING),
	F(record_event, kernel, FIELD_BOOL),
	F(record_event, period_ns, FIELD_U64),
	F(record_event, timed, FIELD_BOOL),
	F(record_event, period, FIELD_U32),
	F(record_event, page_bytes, FIELD_U64),
	F(record_event, adapts, FIELD_BOOL),
	END,
};
static const struct field event_count_fields[] = {
	F(record_event_count, id, FIELD_U32),	    F(record_event_count, slot, FIELD_U32),
	F(record_event_count, stack, FIELD_U64),    F(record_event_count, kernel_stack, FIELD_U64),
	F(record_event_count, count, FIELD_U64),    F(record_event_count, first_ns, FIELD_U64),
	F(record_event_count, last_ns, FIELD_U64),  F(record_event_count, ns, FIELD_U64),
	F(record_event_count, weight, FIELD_U64),   F(record_event_count, variance, FIELD_U64),
	F(record_event_count, interval, FIELD_U64), END,
};
static const struct field occurrence_fields[] = {
	F(record_occurrence, id, FIELD_U32),	       F(record_occurrence, slot, FIELD_U32),
	F(record_occurrence, tid, FIELD_U32),	       F(record_occurrence, cpu, FIELD_U32),
	F(record_occurrence, time_ns, FIELD_U64),      F(record_occurrence, stack, FIELD_U64),
	F(record_occurrence, kernel_stack, FIELD_U64), F(record_occurrence, comm, FIELD_STRING),
	F(record_occurrence, weight, FIELD_U64),       END,
};
static const struct field syscall_fields[] = {
	F(record_syscall, slot, FIELD_U32),
	F(record_syscall, number, FIELD_U32),
	F(record_syscall, name, FIELD_OPTIONAL_STRING),
	F(record_syscall, calls, FIELD_U64),
	F(record_syscall, errors, FIELD_U64),
	F(record_syscall, restarted, FIELD_U64),
	F(record_syscall, total_ns, FIELD_U64),
	F(record_syscall, max_ns, FIELD_U64),
	F(record_syscall, bytes, FIELD_U64),
	ARRAY(record_syscall, buckets, n_buckets, FIELD_BUCKETS),
	ARRAY(record_syscall, errnos, n_errnos, FIELD_ERRNOS),
	END,
};
static const struct field syscall_file_fields[] = {
	F(record_syscall_file, slot, FIELD_U32),
	F(record_syscall_file, path, FIELD_STRING),
	F(record_syscall_file, opens, FIELD_U64),
	F(record_syscall_file, reads, FIELD_U64),
	F(record_syscall_file, writes, FIELD_U64),
	F(record_syscall_file, bytes_read, FIELD_U64),
	F(record_syscall_file, bytes_written, FIELD_U64),
	F(record_syscall_file, total_ns, FIELD_U64),
	F(record_syscall_file, others, FIELD_U64),
	END,
};
static const struct field syscall_stack_fields[] = {
	F(record_syscall_stack, slot, FIELD_U32),     F(record_syscall_stack, number, FIELD_U32),
	F(record_syscall_stack, stack, FIELD_U64),    F(record_syscall_stack, calls, FIELD_U64),
	F(record_syscall_stack, total_ns, FIELD_U64), END,
};
static const struct field stack_check_fields[] = {
	ARRAY(record_stack_check, results, n_results, FIELD_LOSSES),
	END,
};
static const struct field stack_differs_fields[] = {
	F(record_stack_differs, slot, FIELD_U32),
	F(record_stack_differs, whole, FIELD_BOOL),
	F(record_stack_differs, ours, FIELD_STRING),
	F(record_stack_differs, reference, FIELD_STRING),
	END,
};
static const struct field depth_change_fields[] = {
	F(record_depth_change, time_ns, FIELD_U64),
	F(record_depth_change, depth, FIELD_U32),
	F(record_depth_change, calls_per_s, FIELD_U64),
	F(record_depth_change, predicted_ppm, FIELD_U64),
	F(record_depth_change, doublings, FIELD_U32),
	END,
};
static const struct field overhead_fields[] = {
	F(record_overhead, max_ppm, FIELD_U64),
	F(record_overhead, predicted_ppm, FIELD_U64),
	F(record_overhead, measured_ppm, FIELD_U64),
	F(record_overhead, cpu_ns, FIELD_U64),
	F(record_overhead, call_ns, FIELD_U64),
	F(record_overhead, sample_ns, FIELD_U64),
	END,
};
static const struct field symbols_unread_fields[] = {
	F(record_symbols_unread, count, FIELD_U64),
	END,
};
static const struct field jit_code_fields[] = {
	F(record_jit_code, slot, FIELD_U32),
	F(record_jit_code, start, FIELD_U64),
	F(record_jit_code, size_bytes, FIELD_U64),
	F(record_jit_code, since_ns, FIELD_U64),
	F(record_jit_code, name, FIELD_STRING),
	F(record_jit_code, source, FIELD_OPTIONAL_STRING),
	ARRAY(record_jit_code, lines, n_lines, FIELD_JIT_LINES),
	END,
};
static const struct field heap_error_fields[] = {
	F(record_heap_error, slot, FIELD_U32),
	F(record_heap_error, kind, FIELD_U32),
	F(record_heap_error, fn, FIELD_U16),
	F(record_heap_error, stack, FIELD_U64),
	F(record_heap_error, count, FIELD_U64),
	F(record_heap_error, time_ns, FIELD_U64),
	F(record_heap_error, addr, FIELD_U64),
	F(record_heap_error, size, FIELD_U64),
	F(record_heap_error, block, FIELD_U64),
	F(record_heap_error, block_size, FIELD_U64),
	F(record_heap_error, block_fn, FIELD_U16),
	F(record_heap_error, block_stack, FIELD_U64),
	F(record_heap_error, freed_fn, FIELD_U16),
	F(record_heap_error, freed_stack, FIELD_U64),
	END,
};
#define LIFETIMES(n)                                                                               \
	F(record_free_pair, lifetimes[n], FIELD_U64),                                              \
		F(record_free_pair, lifetimes[(n) + 1], FIELD_U64),                                \
		F(record_free_pair, lifetimes[(n) + 2], FIELD_U64),                                \
		F(record_free_pair, lifetimes[(n) + 3], FIELD_U64)
static const struct field free_pair_fields[] = {
	F(record_free_pair, slot, FIELD_U32),
	F(record_free_pair, fn, FIELD_U16),
	F(record_free_pair, stack, FIELD_U64),
	F(record_free_pair, free_fn, FIELD_U16),
	F(record_free_pair, free_stack, FIELD_U64),
	F(record_free_pair, count, FIELD_U64),
	F(record_free_pair, bytes, FIELD_U64),
	F(record_free_pair, others, FIELD_U64),
	F(record_free_pair, unknown, FIELD_U64),
	F(record_free_pair, total_ns, FIELD_U64),
	LIFETIMES(0),
	LIFETIMES(4),
	LIFETIMES(8),
	LIFETIMES(12),
	LIFETIMES(16),
	LIFETIMES(20),
	LIFETIMES(24),
	LIFETIMES(28),
	END,
};
static const struct field fault_fields[] = {
	F(record_fault, slot, FIELD_U32),	 F(record_fault, tid, FIELD_U32),
	F(record_fault, signal, FIELD_U32),	 F(record_fault, code, FIELD_U32),
	F(record_fault, has_addr, FIELD_BOOL),	 F(record_fault, addr, FIELD_U64),
	F(record_fault, stack, FIELD_U64),	 F(record_fault, time_ns, FIELD_U64),
	F(record_fault, block, FIELD_U64),	 F(record_fault, block_size, FIELD_U64),
	F(record_fault, block_fn, FIELD_U16),	 F(record_fault, block_stack, FIELD_U64),
	F(record_fault, freed, FIELD_BOOL),	 F(record_fault, freed_fn, FIELD_U16),
	F(record_fault, freed_stack, FIELD_U64), END,
};
static const struct field death_fields[] = {
	F(record_death, slot, FIELD_U32),
	F(record_death, signal, FIELD_U32),
	F(record_death, code, FIELD_U32),
	F(record_death, time_ns, FIELD_U64),
	F(record_death, killer, FIELD_U32),
	F(record_death, sender, FIELD_U32),
	F(record_death, sender_uid, FIELD_U32),
	F(record_death, sender_comm, FIELD_OPTIONAL_STRING),
	F(record_death, oom, FIELD_BOOL),
	F(record_death, oom_constraint, FIELD_OPTIONAL_STRING),
	F(record_death, oom_cgroup, FIELD_OPTIONAL_STRING),
	F(record_death, oom_use.used, FIELD_U64),
	F(record_death, oom_use.most, FIELD_U64),
	F(record_death, oom_use.limit, FIELD_U64),
	F(record_death, has_memory, FIELD_BOOL),
	F(record_death, total_vm, FIELD_U64),
	F(record_death, anon, FIELD_U64),
	F(record_death, file, FIELD_U64),
	F(record_death, shared, FIELD_U64),
	F(record_death, swapped, FIELD_U64),
	F(record_death, page_tables, FIELD_U64),
	F(record_death, oom_score_adj, FIELD_U32),
	F(record_death, uid, FIELD_U32),
	F(record_death, euid, FIELD_U32),
	F(record_death, cgroup, FIELD_OPTIONAL_STRING),
	F(record_death, use.used, FIELD_U64),
	F(record_death, use.most, FIELD_U64),
	F(record_death, use.limit, FIELD_U64),
	F(record_death, full_cgroup, FIELD_OPTIONAL_STRING),
	F(record_death, full_use.used, FIELD_U64),
	F(record_death, full_use.most, FIELD_U64),
	F(record_death, full_use.limit, FIELD_U64),
	F(record_death, has_events, FIELD_BOOL),
	F(record_death, limit_hits, FIELD_U64),
	F(record_death, ooms, FIELD_U64),
	F(record_death, oom_kills, FIELD_U64),
	END,
};
static const struct field resident_fields[] = {
	F(record_resident, slot, FIELD_U32),	     F(record_resident, time_ns, FIELD_U64),
	F(record_resident, rss, FIELD_U64),	     F(record_resident, pss, FIELD_U64),
	F(record_resident, swap, FIELD_U64),	     F(record_resident, page_tables, FIELD_U64),
	F(record_resident, heap_live, FIELD_U64),    F(record_resident, heap_free, FIELD_U64),
	F(record_resident, mmap, FIELD_U64),	     F(record_resident, file, FIELD_U64),
	F(record_resident, stack, FIELD_U64),	     F(record_resident, unknown, FIELD_U64),
	F(record_resident, unknown_heap, FIELD_U64), F(record_resident, moved, FIELD_U64),
	F(record_resident, all_blocks, FIELD_BOOL),  F(record_resident, mapped, FIELD_U64),
	F(record_resident, inaccessible, FIELD_U64), END,
};
static const struct field leaks_fields[] = {
	F(record_leaks, slot, FIELD_U32),
	F(record_leaks, number, FIELD_U64),
	F(record_leaks, errors, FIELD_U64),
	F(record_leaks, complete, FIELD_BOOL),
	F(record_leaks, stopped_ns, FIELD_U64),
	F(record_leaks, running_threads, FIELD_U64),
	F(record_leaks, unknown_blocks, FIELD_BOOL),
	F(record_leaks, older_blocks, FIELD_BOOL),
	ARRAY(record_leaks, sums, n_sums, FIELD_LEAK_SUMS),
	ARRAY(record_leaks, places, n_places, FIELD_LEAK_PLACES),
	END,
};
static const struct field leak_text_fields[] = {
	F(record_leak_text, pid, FIELD_U32),
	F(record_leak_text, text, FIELD_STRING),
	END,
};
static const struct field sample_fields[] = {
	F(record_sample, time_ns, FIELD_U64),
	END,
};
static const struct field sample_process_fields[] = {
	F(record_sample_process, slot, FIELD_U32),
	F(record_sample_process, live_bytes, FIELD_U64),
	F(record_sample_process, live_blocks, FIELD_U64),
	F(record_sample_process, allocs, FIELD_U64),
	F(record_sample_process, frees, FIELD_U64),
	F(record_sample_process, bytes, FIELD_U64),
	F(record_sample_process, rss_bytes, FIELD_U64),
	F(record_sample_process, cgroup_bytes, FIELD_U64),
	F(record_sample_process, pss_bytes, FIELD_U64),
	END,
};
static const struct field sample_site_fields[] = {
	F(record_sample_site, slot, FIELD_U32),
	F(record_sample_site, fn, FIELD_U16),
	F(record_sample_site, stack, FIELD_U64),
	F(record_sample_site, live_bytes, FIELD_U64),
	END,
};
static const struct field sample_end_fields[] = {
	F(record_sample_end, n_left_out, FIELD_U64),
	F(record_sample_end, most_bytes, FIELD_U64),
	F(record_sample_end, n_processes_left_out, FIELD_U64),
	END,
};
/* Elements of lists: all their fields are there, or they could not be counted. */
static const struct field address_fields[] = {
	{ 0, 0, FIELD_U64 },
	END,
};
static const struct field loss_fields[] = {
	F(record_loss, cause, FIELD_STRING),
	F(record_loss, count, FIELD_U64),
	END,
};
static const struct field frame_fields[] = {
	F(record_symbol_frame, function, FIELD_OPTIONAL_STRING),
	F(record_symbol_frame, offset, FIELD_U64),
	F(record_symbol_frame, file, FIELD_OPTIONAL_STRING),
	F(record_symbol_frame, line, FIELD_U32),
	F(record_symbol_frame, is_inline, FIELD_BOOL),
	END,
};

static const struct field linkage_fields[] = {
	F(record_symbol_linkage, name, FIELD_OPTIONAL_STRING),
	END,
};

static const struct field bucket_fields[] = {
	F(record_bucket, lo, FIELD_U64),
	F(record_bucket, hi, FIELD_U64),
	F(record_bucket, count, FIELD_U64),
	END,
};
static const struct field errno_fields[] = {
	F(record_errno, number, FIELD_U32),
	F(record_errno, count, FIELD_U64),
	END,
};

static const struct field jit_line_fields[] = {
	F(record_jit_line, offset, FIELD_U64),
	F(record_jit_line, line, FIELD_U32),
	F(record_jit_line, file, FIELD_OPTIONAL_STRING),
	END,
};

static const struct field leak_sum_fields[] = {
	F(record_leak_sum, name, FIELD_STRING),
	F(record_leak_sum, blocks, FIELD_U64),
	F(record_leak_sum, bytes, FIELD_U64),
	END,
};
static const struct field leak_place_fields[] = {
	F(record_leak_place, stack, FIELD_U64),
	F(record_leak_place, fn, FIELD_U16),
	F(record_leak_place, class, FIELD_U8),
	END,
};

/* The smallest sizes: integers, and the lengths of strings. */
static const struct list_kind list_kinds[FIELD_LISTS] = {
	[FIELD_ADDRESSES - FIELD_FIRST_LIST] = { sizeof(uint64_t), 8, address_fields },
	[FIELD_LOSSES - FIELD_FIRST_LIST] = { sizeof(struct record_loss), 4 + 8, loss_fields },
	[FIELD_FRAMES - FIELD_FIRST_LIST] = { sizeof(struct record_symbol_frame), 4 + 8 + 4 + 4 + 1,
					      frame_fields },
	[FIELD_BUCKETS -
		FIELD_FIRST_LIST] = { sizeof(struct record_bucket), 8 + 8 + 8, bucket_fields },
	[FIELD_ERRNOS - FIELD_FIRST_LIST] = { sizeof(struct record_errno), 4 + 8, errno_fields },
	[FIELD_JIT_LINES -
		FIELD_FIRST_LIST] = { sizeof(struct record_jit_line), 8 + 4 + 4, jit_line_fields },
	[FIELD_LEAK_SUMS -
		FIELD_FIRST_LIST] = { sizeof(struct record_leak_sum), 4 + 8 + 8, leak_sum_fields },
	[FIELD_LEAK_PLACES - FIELD_FIRST_LIST] = { sizeof(struct record_leak_place), 8 + 2 + 1,
						   leak_place_fields },
	[FIELD_LINKAGES -
		FIELD_FIRST_LIST] = { sizeof(struct record_symbol_linkage), 4, linkage_fields },
};

#define LAYOUT(type, member, table) [type] = { offsetof(struct record, member), table }

/* What a record's type is made of. */
static const struct record_layout layouts[] = {
	LAYOUT(RECORD_RUN, run, run_fields),
	LAYOUT(RECORD_FUNCTION, function, function_fields),
	LAYOUT(RECORD_PROCESS, process, process_fields),
	LAYOUT(RECORD_PROCESS_END, process_end, process_end_fields),
	LAYOUT(RECORD_MAPPING, mapping, mapping_fields),
	LAYOUT(RECORD_UNMAPPING, unmapping, unmapping_fields),
	LAYOUT(RECORD_STACK, stack, stack_fields),
	LAYOUT(RECORD_REGION, region, region_fields),
	LAYOUT(RECORD_REGION_GONE, region_gone, region_gone_fields),
	LAYOUT(RECORD_CUT, cut, cut_fields),
	LAYOUT(RECORD_TOTALS, totals, totals_fields),
	LAYOUT(RECORD_SITE, site, site_fields),
	LAYOUT(RECORD_COVERAGE, coverage, coverage_fields),
	LAYOUT(RECORD_CUT_END, cut, no_fields),
	LAYOUT(RECORD_UNPROBED, unprobed, unprobed_fields),
	LAYOUT(RECORD_SYMBOL, symbol, symbol_fields),
	LAYOUT(RECORD_HISTOGRAM, histogram, histogram_fields),
	LAYOUT(RECORD_HIST_COUNTS, hist_counts, hist_counts_fields),
	LAYOUT(RECORD_EVENT, event, event_fields),
	LAYOUT(RECORD_EVENT_COUNT, event_count, event_count_fields),
	LAYOUT(RECORD_OCCURRENCE, occurrence, occurrence_fields),
	LAYOUT(RECORD_SYSCALL, syscall, syscall_fields),
	LAYOUT(RECORD_SYSCALL_FILE, syscall_file, syscall_file_fields),
	LAYOUT(RECORD_SYSCALL_STACK, syscall_stack, syscall_stack_fields),
	LAYOUT(RECORD_STACK_CHECK, stack_check, stack_check_fields),
	LAYOUT(RECORD_STACK_DIFFERS, stack_differs, stack_differs_fields),
	LAYOUT(RECORD_JIT_CODE, jit_code, jit_code_fields),
	LAYOUT(RECORD_SYMBOLS_UNREAD, symbols_unread, symbols_unread_fields),
	LAYOUT(RECORD_NAME, name, name_fields),
	LAYOUT(RECORD_DEPTH, depth_change, depth_change_fields),
	LAYOUT(RECORD_OVERHEAD, overhead, overhead_fields),
	LAYOUT(RECORD_HEAP_ERROR, heap_error, heap_error_fields),
	LAYOUT(RECORD_RESIDENT, resident, resident_fields),
	LAYOUT(RECORD_FAULT, fault, fault_fields),
	LAYOUT(RECORD_DEATH, death, death_fields),
	LAYOUT(RECORD_LEAKS, leaks, leaks_fields),
	LAYOUT(RECORD_LEAK_TEXT, leak_text, leak_text_fields),
	LAYOUT(RECORD_FREE_PAIR, free_pair, free_pair_fields),
	LAYOUT(RECORD_SAMPLE, sample, sample_fields),
	LAYOUT(RECORD_SAMPLE_PROCESS, sample_process, sample_process_fields),
	LAYOUT(RECORD_SAMPLE_SITE, sample_site, sample_site_fields),
	LAYOUT(RECORD_SAMPLE_END, sample_end, sample_end_fields),
};

const struct record_layout *record_layout_find(uint32_t type)
{
	if (type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[type].fields)
		return NULL;
	return &layouts[type];
}

const struct list_kind *record_list_kind(enum field_kind kind)
{
	return &list_kinds[kind - FIELD_FIRST_LIST];
}
