/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/codec.h"
#include "trace/record/record_codec.h"

/* Elements of lists: all their fields are there, or they could not be counted. */
static const struct field loss_fields[] = {
	F(record_loss, cause, FIELD_STRING),
	F(record_loss, count, FIELD_U64),
	F_END,
};
static const struct layout loss_layout = LAYOUT(record_loss, loss_fields);
static const struct field frame_fields[] = {
	F(record_symbol_frame, function, FIELD_OPTIONAL_STRING),
	F(record_symbol_frame, offset, FIELD_U64),
	F(record_symbol_frame, file, FIELD_OPTIONAL_STRING),
	F(record_symbol_frame, line, FIELD_U32),
	F(record_symbol_frame, is_inline, FIELD_BOOL),
	F_END,
};
static const struct layout frame_layout = LAYOUT(record_symbol_frame, frame_fields);
static const struct field linkage_fields[] = {
	F(record_symbol_linkage, name, FIELD_OPTIONAL_STRING),
	F_END,
};
static const struct layout linkage_layout = LAYOUT(record_symbol_linkage, linkage_fields);
static const struct field valgrind_fields[] = {
	F(record_symbol_valgrind, name, FIELD_OPTIONAL_STRING),
	F(record_symbol_valgrind, seen, FIELD_U32),
	F_END,
};
static const struct layout valgrind_layout = LAYOUT(record_symbol_valgrind, valgrind_fields);
static const struct field bucket_fields[] = {
	F(record_bucket, lo, FIELD_U64),
	F(record_bucket, hi, FIELD_U64),
	F(record_bucket, count, FIELD_U64),
	F_END,
};
static const struct layout bucket_layout = LAYOUT(record_bucket, bucket_fields);
static const struct field errno_fields[] = {
	F(record_errno, number, FIELD_U32),
	F(record_errno, count, FIELD_U64),
	F_END,
};
static const struct layout errno_layout = LAYOUT(record_errno, errno_fields);
static const struct field jit_line_fields[] = {
	F(record_jit_line, offset, FIELD_U64),
	F(record_jit_line, line, FIELD_U32),
	F(record_jit_line, file, FIELD_OPTIONAL_STRING),
	F_END,
};
static const struct layout jit_line_layout = LAYOUT(record_jit_line, jit_line_fields);
static const struct field leak_sum_fields[] = {
	F(record_leak_sum, name, FIELD_STRING),
	F(record_leak_sum, blocks, FIELD_U64),
	F(record_leak_sum, bytes, FIELD_U64),
	F_END,
};
static const struct layout leak_sum_layout = LAYOUT(record_leak_sum, leak_sum_fields);
static const struct field leak_place_fields[] = {
	F(record_leak_place, stack, FIELD_U64),
	F(record_leak_place, fn, FIELD_U16),
	F(record_leak_place, class, FIELD_U8),
	F_END,
};
static const struct layout leak_place_layout = LAYOUT(record_leak_place, leak_place_fields);

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
	F(record_run, counted_by, FIELD_OPTIONAL_STRING),
	F_END,
};
static const struct field function_fields[] = {
	F(record_function, id, FIELD_U16),
	F(record_function, name, FIELD_STRING),
	F(record_function, object, FIELD_OPTIONAL_STRING),
	F(record_function, file_offset, FIELD_U64),
	F_END,
};
static const struct field process_fields[] = {
	F(record_process, image, FIELD_U32),
	F(record_process, pid, FIELD_U32),
	F(record_process, ppid, FIELD_U32),
	F(record_process, parent_image, FIELD_U32),
	F(record_process, prev_image, FIELD_U32),
	F(record_process, root, FIELD_BOOL),
	F(record_process, inherits, FIELD_BOOL),
	F(record_process, time_ns, FIELD_U64),
	F(record_process, comm, FIELD_STRING),
	F(record_process, exe, FIELD_OPTIONAL_STRING),
	F_MAX(record_process, depth, FIELD_U32, RECORD_DEPTH_GROWTH),
	F(record_process, command, FIELD_OPTIONAL_STRING),
	F_END,
};
static const struct field process_end_fields[] = {
	F(record_process_end, image, FIELD_U32),
	F_MAX(record_process_end, how, FIELD_U32, RECORD_END_HIDDEN),
	F(record_process_end, value, FIELD_U32),
	F(record_process_end, oom, FIELD_BOOL),
	F(record_process_end, time_ns, FIELD_U64),
	F(record_process_end, oom_unknown, FIELD_BOOL),
	F_END,
};
static const struct field name_fields[] = {
	F(record_name, image, FIELD_U32),
	F(record_name, comm, FIELD_STRING),
	F_END,
};
static const struct field mapping_fields[] = {
	F(record_mapping, image, FIELD_U32),
	F(record_mapping, start, FIELD_U64),
	F(record_mapping, end, FIELD_U64),
	F(record_mapping, file_offset, FIELD_U64),
	F(record_mapping, time_ns, FIELD_U64),
	F(record_mapping, dev, FIELD_U64),
	F(record_mapping, ino, FIELD_U64),
	F(record_mapping, path, FIELD_STRING),
	F(record_mapping, local_path, FIELD_OPTIONAL_STRING),
	F_BYTES(record_mapping, build_id),
	F_MAX(record_mapping, build_id_len, FIELD_U8, RECORD_BUILD_ID_MAX),
	F(record_mapping, executable, FIELD_BOOL),
	F(record_mapping, kind, FIELD_U32),
	F_END,
};
static const struct field unmapping_fields[] = {
	F(record_unmapping, image, FIELD_U32),
	F(record_unmapping, start, FIELD_U64),
	F(record_unmapping, end, FIELD_U64),
	F(record_unmapping, time_ns, FIELD_U64),
	F_END,
};
static const struct field stack_fields[] = {
	F(record_stack, id, FIELD_U64),
	F(record_stack, image, FIELD_U32),
	F(record_stack, time_ns, FIELD_U64),
	F(record_stack, truncated, FIELD_BOOL),
	F_LIST(record_stack, frames, n_frames, 0, &codec_u64),
	F(record_stack, interrupted, FIELD_BOOL),
	F_REPEAT(record_stack, exact, uint64_t, &codec_u64),
	F_LIST(record_stack, more_exact, n_more_exact, 0, &codec_u64),
	F_END,
};
static const struct field region_fields[] = {
	F(record_region, image, FIELD_U32),
	F(record_region, start, FIELD_U64),
	F(record_region, end, FIELD_U64),
	F(record_region, stack, FIELD_U64),
	F(record_region, time_ns, FIELD_U64),
	F(record_region, fn, FIELD_U16),
	F_END,
};
static const struct field region_gone_fields[] = {
	F(record_region_gone, image, FIELD_U32),
	F(record_region_gone, start, FIELD_U64),
	F(record_region_gone, end, FIELD_U64),
	F(record_region_gone, time_ns, FIELD_U64),
	F_END,
};
static const struct field cut_fields[] = {
	F(record_cut, time_ns, FIELD_U64),
	F(record_cut, slept_ns, FIELD_U64),
	F_END,
};
static const struct field totals_fields[] = {
	F(record_totals, image, FIELD_U32),
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
	F(record_totals, by_library, FIELD_BOOL),
	F(record_totals, lifetime_resolution_ns, FIELD_U64),
	F_END,
};
static const struct field site_fields[] = {
	F(record_site, image, FIELD_U32),
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
	F_REPEAT(record_site, born_bytes, uint64_t, &codec_u64),
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
	F(record_site, peak_blocks, FIELD_U64),
	F(record_site, lifetime_ns, FIELD_U64),
	F_END,
};
static const struct field coverage_fields[] = {
	F(record_coverage, exact, FIELD_BOOL),
	F(record_coverage, events, FIELD_U64),
	F(record_coverage, stacks_complete, FIELD_U64),
	F(record_coverage, stacks_truncated, FIELD_U64),
	F_LIST(record_coverage, losses, n_losses, 0, &loss_layout),
	F(record_coverage, stacks_guided, FIELD_U64),
	F_LIST(record_coverage, cuts, n_cuts, 0, &loss_layout),
	F_END,
};
static const struct field no_fields[] = { F_END };
static const struct field unprobed_fields[] = {
	F(record_unprobed, function, FIELD_STRING),
	F(record_unprobed, object, FIELD_STRING),
	F(record_unprobed, why, FIELD_STRING),
	F_END,
};
static const struct field sites_differ_fields[] = {
	F(record_sites_differ, function, FIELD_STRING),
	F(record_sites_differ, object, FIELD_STRING),
	F(record_sites_differ, calls, FIELD_U64),
	F(record_sites_differ, different, FIELD_U64),
	F_END,
};
static const struct field symbol_fields[] = {
	F(record_symbol, object, FIELD_STRING),
	F(record_symbol, dev, FIELD_U64),
	F(record_symbol, ino, FIELD_U64),
	F(record_symbol, image, FIELD_U32),
	F(record_symbol, file_offset, FIELD_U64),
	F(record_symbol, is_call, FIELD_BOOL),
	F(record_symbol, vaddr, FIELD_U64),
	F_LIST(record_symbol, frames, n_frames, 0, &frame_layout),
	F_LIST(record_symbol, linkages, n_linkages, 0, &linkage_layout),
	F(record_symbol, callee, FIELD_OPTIONAL_STRING),
	F(record_symbol, callee_linkage, FIELD_OPTIONAL_STRING),
	F_LIST(record_symbol, valgrind, n_valgrind, 0, &valgrind_layout),
	F_END,
};
static const struct field histogram_fields[] = {
	F(record_histogram, id, FIELD_U32),
	F(record_histogram, spec, FIELD_STRING),
	F(record_histogram, unit, FIELD_OPTIONAL_STRING),
	F(record_histogram, by, FIELD_OPTIONAL_STRING),
	F(record_histogram, linear, FIELD_BOOL),
	F(record_histogram, step, FIELD_U64),
	F_END,
};
static const struct field hist_counts_fields[] = {
	F(record_hist_counts, id, FIELD_U32),
	F(record_hist_counts, key, FIELD_OPTIONAL_STRING),
	F_LIST(record_hist_counts, buckets, n_buckets, 0, &bucket_layout),
	F_LIST(record_hist_counts, errors, n_errors, 0, &errno_layout),
	F(record_hist_counts, restarted, FIELD_U64),
	F(record_hist_counts, passed_on, FIELD_U64),
	F_END,
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
	F_END,
};
static const struct field event_count_fields[] = {
	F(record_event_count, id, FIELD_U32),	    F(record_event_count, image, FIELD_U32),
	F(record_event_count, stack, FIELD_U64),    F(record_event_count, kernel_stack, FIELD_U64),
	F(record_event_count, count, FIELD_U64),    F(record_event_count, first_ns, FIELD_U64),
	F(record_event_count, last_ns, FIELD_U64),  F(record_event_count, ns, FIELD_U64),
	F(record_event_count, weight, FIELD_U64),   F(record_event_count, variance, FIELD_U64),
	F(record_event_count, interval, FIELD_U64), F_END,
};
static const struct field occurrence_fields[] = {
	F(record_occurrence, id, FIELD_U32),	       F(record_occurrence, image, FIELD_U32),
	F(record_occurrence, tid, FIELD_U32),	       F(record_occurrence, cpu, FIELD_U32),
	F(record_occurrence, time_ns, FIELD_U64),      F(record_occurrence, stack, FIELD_U64),
	F(record_occurrence, kernel_stack, FIELD_U64), F(record_occurrence, comm, FIELD_STRING),
	F(record_occurrence, weight, FIELD_U64),       F_END,
};
static const struct field syscall_fields[] = {
	F(record_syscall, image, FIELD_U32),
	F(record_syscall, number, FIELD_U32),
	F(record_syscall, name, FIELD_OPTIONAL_STRING),
	F(record_syscall, calls, FIELD_U64),
	F(record_syscall, errors, FIELD_U64),
	F(record_syscall, restarted, FIELD_U64),
	F(record_syscall, total_ns, FIELD_U64),
	F(record_syscall, max_ns, FIELD_U64),
	F(record_syscall, bytes, FIELD_U64),
	F_LIST(record_syscall, buckets, n_buckets, 0, &bucket_layout),
	F_LIST(record_syscall, errnos, n_errnos, 0, &errno_layout),
	F_END,
};
static const struct field syscall_file_fields[] = {
	F(record_syscall_file, image, FIELD_U32),
	F(record_syscall_file, path, FIELD_STRING),
	F(record_syscall_file, opens, FIELD_U64),
	F(record_syscall_file, reads, FIELD_U64),
	F(record_syscall_file, writes, FIELD_U64),
	F(record_syscall_file, bytes_read, FIELD_U64),
	F(record_syscall_file, bytes_written, FIELD_U64),
	F(record_syscall_file, total_ns, FIELD_U64),
	F(record_syscall_file, others, FIELD_U64),
	F_END,
};
static const struct field syscall_stack_fields[] = {
	F(record_syscall_stack, image, FIELD_U32),    F(record_syscall_stack, number, FIELD_U32),
	F(record_syscall_stack, stack, FIELD_U64),    F(record_syscall_stack, calls, FIELD_U64),
	F(record_syscall_stack, total_ns, FIELD_U64), F_END,
};
static const struct field stack_check_fields[] = {
	F_LIST(record_stack_check, results, n_results, 0, &loss_layout),
	F_END,
};
static const struct field stack_differs_fields[] = {
	F(record_stack_differs, image, FIELD_U32),
	F(record_stack_differs, whole, FIELD_BOOL),
	F(record_stack_differs, ours, FIELD_STRING),
	F(record_stack_differs, reference, FIELD_STRING),
	F_END,
};
static const struct field depth_change_fields[] = {
	F(record_depth_change, time_ns, FIELD_U64),
	F_MAX(record_depth_change, depth, FIELD_U32, RECORD_DEPTH_GROWTH),
	F(record_depth_change, calls_per_s, FIELD_U64),
	F(record_depth_change, predicted_ppm, FIELD_U64),
	F(record_depth_change, doublings, FIELD_U32),
	F_END,
};
static const struct field overhead_fields[] = {
	F(record_overhead, max_ppm, FIELD_U64),
	F(record_overhead, predicted_ppm, FIELD_U64),
	F(record_overhead, measured_ppm, FIELD_U64),
	F(record_overhead, cpu_ns, FIELD_U64),
	F(record_overhead, call_ns, FIELD_U64),
	F(record_overhead, sample_ns, FIELD_U64),
	F_END,
};
static const struct field cost_fields[] = {
	F(record_cost, calls, FIELD_U64),	 F(record_cost, span_ns, FIELD_U64),
	F(record_cost, predicted_ns, FIELD_U64), F(record_cost, measured_ns, FIELD_U64),
	F(record_cost, own_cpu_ns, FIELD_U64),	 F(record_cost, uncounted_ns, FIELD_U64),
	F(record_cost, limit_ppm, FIELD_U64),	 F_END,
};
static const struct field symbols_unread_fields[] = {
	F(record_symbols_unread, count, FIELD_U64),
	F_END,
};
static const struct field jit_code_fields[] = {
	F(record_jit_code, image, FIELD_U32),
	F(record_jit_code, start, FIELD_U64),
	F(record_jit_code, size_bytes, FIELD_U64),
	F(record_jit_code, since_ns, FIELD_U64),
	F(record_jit_code, name, FIELD_STRING),
	F(record_jit_code, source, FIELD_OPTIONAL_STRING),
	F_LIST(record_jit_code, lines, n_lines, 0, &jit_line_layout),
	F_LOCAL(record_jit_code, function),
	F_END,
};
static const struct field heap_error_fields[] = {
	F(record_heap_error, image, FIELD_U32),	   F(record_heap_error, kind, FIELD_U32),
	F(record_heap_error, fn, FIELD_U16),	   F(record_heap_error, stack, FIELD_U64),
	F(record_heap_error, count, FIELD_U64),	   F(record_heap_error, time_ns, FIELD_U64),
	F(record_heap_error, addr, FIELD_U64),	   F(record_heap_error, size, FIELD_U64),
	F(record_heap_error, block, FIELD_U64),	   F(record_heap_error, block_size, FIELD_U64),
	F(record_heap_error, block_fn, FIELD_U16), F(record_heap_error, block_stack, FIELD_U64),
	F(record_heap_error, freed_fn, FIELD_U16), F(record_heap_error, freed_stack, FIELD_U64),
	F(record_heap_error, tid, FIELD_U32),	   F_END,
};
static const struct field free_pair_fields[] = {
	F(record_free_pair, image, FIELD_U32),
	F(record_free_pair, fn, FIELD_U16),
	F(record_free_pair, stack, FIELD_U64),
	F(record_free_pair, free_fn, FIELD_U16),
	F(record_free_pair, free_stack, FIELD_U64),
	F(record_free_pair, count, FIELD_U64),
	F(record_free_pair, bytes, FIELD_U64),
	F(record_free_pair, others, FIELD_U64),
	F(record_free_pair, unknown, FIELD_U64),
	F(record_free_pair, total_ns, FIELD_U64),
	F_REPEAT(record_free_pair, lifetimes, uint64_t, &codec_u64),
	F_END,
};
static const struct field fault_fields[] = {
	F(record_fault, image, FIELD_U32),
	F(record_fault, tid, FIELD_U32),
	F(record_fault, signal, FIELD_U32),
	F(record_fault, code, FIELD_U32),
	F(record_fault, has_addr, FIELD_BOOL),
	F(record_fault, addr, FIELD_U64),
	F(record_fault, stack, FIELD_U64),
	F(record_fault, time_ns, FIELD_U64),
	F(record_fault, block, FIELD_U64),
	F(record_fault, block_size, FIELD_U64),
	F(record_fault, block_fn, FIELD_U16),
	F(record_fault, block_stack, FIELD_U64),
	F(record_fault, freed, FIELD_BOOL),
	F(record_fault, freed_fn, FIELD_U16),
	F(record_fault, freed_stack, FIELD_U64),
	F(record_fault, unsearched, FIELD_BOOL),
	F_END,
};
static const struct field death_fields[] = {
	F(record_death, image, FIELD_U32),
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
	F_END,
};
static const struct field resident_fields[] = {
	F(record_resident, image, FIELD_U32),
	F(record_resident, time_ns, FIELD_U64),
	F(record_resident, rss, FIELD_U64),
	F(record_resident, pss, FIELD_U64),
	F(record_resident, swap, FIELD_U64),
	F(record_resident, page_tables, FIELD_U64),
	F(record_resident, heap_live, FIELD_U64),
	F(record_resident, heap_free, FIELD_U64),
	F(record_resident, mmap, FIELD_U64),
	F(record_resident, file, FIELD_U64),
	F(record_resident, stack, FIELD_U64),
	F(record_resident, unknown, FIELD_U64),
	F(record_resident, unknown_heap, FIELD_U64),
	F(record_resident, moved, FIELD_U64),
	F(record_resident, all_blocks, FIELD_BOOL),
	F(record_resident, mapped, FIELD_U64),
	F(record_resident, inaccessible, FIELD_U64),
	F(record_resident, only_mapped, FIELD_BOOL),
	F_END,
};
static const struct field leaks_fields[] = {
	F(record_leaks, image, FIELD_U32),
	F(record_leaks, number, FIELD_U64),
	F(record_leaks, errors, FIELD_U64),
	F(record_leaks, complete, FIELD_BOOL),
	F(record_leaks, stopped_ns, FIELD_U64),
	F(record_leaks, running_threads, FIELD_U64),
	F(record_leaks, unknown_blocks, FIELD_BOOL),
	F(record_leaks, older_blocks, FIELD_BOOL),
	F_LIST(record_leaks, sums, n_sums, 0, &leak_sum_layout),
	F_LIST(record_leaks, places, n_places, 0, &leak_place_layout),
	F_END,
};
static const struct field leak_text_fields[] = {
	F(record_leak_text, pid, FIELD_U32),
	F(record_leak_text, text, FIELD_STRING),
	F_END,
};
static const struct field sample_fields[] = {
	F(record_sample, time_ns, FIELD_U64),
	F_END,
};
static const struct field sample_process_fields[] = {
	F(record_sample_process, image, FIELD_U32),
	F(record_sample_process, live_bytes, FIELD_U64),
	F(record_sample_process, live_blocks, FIELD_U64),
	F(record_sample_process, allocs, FIELD_U64),
	F(record_sample_process, frees, FIELD_U64),
	F(record_sample_process, bytes, FIELD_U64),
	F(record_sample_process, rss_bytes, FIELD_U64),
	F(record_sample_process, cgroup_bytes, FIELD_U64),
	F(record_sample_process, pss_bytes, FIELD_U64),
	F_END,
};
static const struct field sample_site_fields[] = {
	F(record_sample_site, image, FIELD_U32),
	F(record_sample_site, fn, FIELD_U16),
	F(record_sample_site, stack, FIELD_U64),
	F(record_sample_site, live_bytes, FIELD_U64),
	F_END,
};
static const struct field sample_end_fields[] = {
	F(record_sample_end, n_left_out, FIELD_U64),
	F(record_sample_end, most_bytes, FIELD_U64),
	F(record_sample_end, n_processes_left_out, FIELD_U64),
	F_END,
};
#define RECORD(type, member, table)                                                                \
	[type] = { "record_" #member, MEMBER_SIZE(record, member), table, NULL }

/* What a record's type is made of. */
static const struct layout layouts[] = {
	RECORD(RECORD_RUN, run, run_fields),
	RECORD(RECORD_FUNCTION, function, function_fields),
	RECORD(RECORD_PROCESS, process, process_fields),
	RECORD(RECORD_PROCESS_END, process_end, process_end_fields),
	RECORD(RECORD_MAPPING, mapping, mapping_fields),
	RECORD(RECORD_UNMAPPING, unmapping, unmapping_fields),
	RECORD(RECORD_STACK, stack, stack_fields),
	RECORD(RECORD_REGION, region, region_fields),
	RECORD(RECORD_REGION_GONE, region_gone, region_gone_fields),
	RECORD(RECORD_CUT, cut, cut_fields),
	RECORD(RECORD_TOTALS, totals, totals_fields),
	RECORD(RECORD_SITE, site, site_fields),
	RECORD(RECORD_COVERAGE, coverage, coverage_fields),
	[RECORD_CUT_END] = { "no members", 0, no_fields, NULL },
	RECORD(RECORD_UNPROBED, unprobed, unprobed_fields),
	RECORD(RECORD_SYMBOL, symbol, symbol_fields),
	RECORD(RECORD_HISTOGRAM, histogram, histogram_fields),
	RECORD(RECORD_HIST_COUNTS, hist_counts, hist_counts_fields),
	RECORD(RECORD_EVENT, event, event_fields),
	RECORD(RECORD_EVENT_COUNT, event_count, event_count_fields),
	RECORD(RECORD_OCCURRENCE, occurrence, occurrence_fields),
	RECORD(RECORD_SYSCALL, syscall, syscall_fields),
	RECORD(RECORD_SYSCALL_FILE, syscall_file, syscall_file_fields),
	RECORD(RECORD_SYSCALL_STACK, syscall_stack, syscall_stack_fields),
	RECORD(RECORD_STACK_CHECK, stack_check, stack_check_fields),
	RECORD(RECORD_STACK_DIFFERS, stack_differs, stack_differs_fields),
	RECORD(RECORD_JIT_CODE, jit_code, jit_code_fields),
	RECORD(RECORD_SYMBOLS_UNREAD, symbols_unread, symbols_unread_fields),
	RECORD(RECORD_NAME, name, name_fields),
	RECORD(RECORD_DEPTH, depth_change, depth_change_fields),
	RECORD(RECORD_OVERHEAD, overhead, overhead_fields),
	RECORD(RECORD_COST, cost, cost_fields),
	RECORD(RECORD_SITES_DIFFER, sites_differ, sites_differ_fields),
	RECORD(RECORD_HEAP_ERROR, heap_error, heap_error_fields),
	RECORD(RECORD_RESIDENT, resident, resident_fields),
	RECORD(RECORD_FAULT, fault, fault_fields),
	RECORD(RECORD_DEATH, death, death_fields),
	RECORD(RECORD_LEAKS, leaks, leaks_fields),
	RECORD(RECORD_LEAK_TEXT, leak_text, leak_text_fields),
	RECORD(RECORD_FREE_PAIR, free_pair, free_pair_fields),
	RECORD(RECORD_SAMPLE, sample, sample_fields),
	RECORD(RECORD_SAMPLE_PROCESS, sample_process, sample_process_fields),
	RECORD(RECORD_SAMPLE_SITE, sample_site, sample_site_fields),
	RECORD(RECORD_SAMPLE_END, sample_end, sample_end_fields),
};

const struct layout *record_layout_find(uint32_t type)
{
	if (type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[type].fields)
		return NULL;
	return &layouts[type];
}
