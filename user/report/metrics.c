/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state as metrics to be scraped: Prometheus' text 0.0.4 and OpenMetrics 1.0 (FORMATS.md 9),
 * which differ in the names of counters, in units, and in how they end. A process is told by pid,
 * comm and image, a number that no other image of the run has: pids come again, and an exec keeps
 * its pid. Sites are the first ones only (--top), since each series costs its reader memory.
 */
#include "report/metrics_out.h"
#include "report/text/text.h"
#include "report/view/view.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static void process_labels(struct metrics_out *out, const struct model_process *image)
{
	char pid[16], number[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, image->pid);
	snprintf(number, sizeof(number), "%" PRIu32, image->id.n);
	metrics_out_label(out, "pid", image->known ? pid : "");
	metrics_out_label(out, "comm", image->comm);
	metrics_out_label(out, "image", number);
}

/* Which runs a metric is of. */
enum metric_of { OF_ALL_RUNS, OF_ALL_CALLS, OF_SAMPLES, OF_MAPPED };

/* Where a number of 8 bytes is: in the process, or in the margins of its totals. */
struct process_metric {
	struct metrics_family family;
	enum { IN_PROCESS, IN_MARGINS, IS_EXACT, IS_RUNNING, INACCESSIBLE } source;
	size_t offset;
	enum metric_of runs;
};

#define TOTAL(member) IN_PROCESS, offsetof(struct view_process, totals.member)
#define MARGIN(member) IN_MARGINS, offsetof(struct view_estimate, member)

static int64_t number_at(const void *base, size_t offset)
{
	int64_t number;

	memcpy(&number, (const char *)base + offset, sizeof(number));
	return number;
}

static int64_t process_number(const struct process_metric *metric,
			      const struct view_process *process)
{
	struct view_estimate margins;

	switch (metric->source) {
	case IN_PROCESS:
		return number_at(process, metric->offset);
	case IN_MARGINS:
		margins = view_estimate_totals(&process->totals);
		return number_at(&margins, metric->offset);
	case IS_EXACT:
		return process->exact;
	case IS_RUNNING:
		return !process->image->ended;
	case INACCESSIBLE:
		return (int64_t)process->image->resident.inaccessible;
	}
	return 0;
}

static const struct process_metric process_metrics[] = {
	{ { "memtraced_allocations", METRICS_COUNTER, "", "Blocks that were allocated." },
	  TOTAL(allocs),
	  OF_ALL_RUNS },
	{ { "memtraced_allocated_bytes", METRICS_COUNTER, "bytes", "Bytes that were allocated." },
	  TOTAL(bytes),
	  OF_ALL_RUNS },
	{ { "memtraced_frees", METRICS_COUNTER, "", "Blocks that were freed." },
	  TOTAL(frees),
	  OF_ALL_RUNS },
	{ { "memtraced_failed_allocations", METRICS_COUNTER, "", "Calls that gave no memory." },
	  TOTAL(failed),
	  OF_ALL_CALLS },
	{ { "memtraced_temporary_allocations", METRICS_COUNTER, "",
	    "Blocks freed before their thread allocated another." },
	  TOTAL(temporary),
	  OF_ALL_CALLS },
	{ { "memtraced_missed_frees", METRICS_COUNTER, "",
	    "Blocks whose address was allocated again before a free was seen." },
	  TOTAL(missed_frees),
	  OF_ALL_RUNS },
	{ { "memtraced_unknown_frees", METRICS_COUNTER, "",
	    "Frees of blocks whose allocation was not seen." },
	  TOTAL(unknown_frees),
	  OF_ALL_RUNS },
	{ { "memtraced_live_bytes", METRICS_GAUGE, "bytes", "Bytes in live heap blocks." },
	  TOTAL(live_bytes),
	  OF_ALL_RUNS },
	{ { "memtraced_live_blocks", METRICS_GAUGE, "", "Live heap blocks." },
	  TOTAL(live_blocks),
	  OF_ALL_RUNS },
	{ { "memtraced_peak_bytes", METRICS_GAUGE, "bytes", "Most bytes in live heap blocks." },
	  TOTAL(peak_bytes),
	  OF_ALL_RUNS },
	{ { "memtraced_mmap_live_bytes", METRICS_GAUGE, "bytes",
	    "Bytes in anonymous mappings of the program's own." },
	  IN_PROCESS,
	  offsetof(struct view_process, mmap.live_bytes),
	  OF_ALL_RUNS },
	{ { "memtraced_mmap_inaccessible_bytes", METRICS_GAUGE, "bytes",
	    "Of these, bytes that may not be accessed (PROT_NONE), when last sampled." },
	  INACCESSIBLE,
	  0,
	  OF_MAPPED },
	{ { "memtraced_process_exact", METRICS_GAUGE, "",
	    "1: nothing was lost of this process, so its numbers are exact." },
	  IS_EXACT,
	  0,
	  OF_ALL_RUNS },
	{ { "memtraced_sample_interval_bytes", METRICS_GAUGE, "bytes",
	    "Bytes that a sample stands for; 0: there was none." },
	  TOTAL(sample_interval),
	  OF_SAMPLES },
	{ { "memtraced_live_ci95_bytes", METRICS_GAUGE, "bytes",
	    "How far the estimate of live bytes can be off, in 95 of 100 cases." },
	  MARGIN(ci95_bytes),
	  OF_SAMPLES },
	{ { "memtraced_live_ci95_blocks", METRICS_GAUGE, "",
	    "How far the estimate of live blocks can be off, in 95 of 100 cases." },
	  MARGIN(ci95_blocks),
	  OF_SAMPLES },
	{ { "memtraced_peak_ci95_bytes", METRICS_GAUGE, "bytes",
	    "How far the estimate of the peak can be off, in 95 of 100 cases." },
	  MARGIN(ci95_peak_bytes),
	  OF_SAMPLES },
	{ { "memtraced_allocated_ci95_bytes", METRICS_GAUGE, "bytes",
	    "How far the estimate of allocated bytes can be off, in 95 of 100 cases." },
	  MARGIN(ci95_allocated_bytes),
	  OF_SAMPLES },
	{ { "memtraced_allocations_ci95", METRICS_GAUGE, "",
	    "How far the estimate of allocations can be off, in 95 of 100 cases." },
	  MARGIN(ci95_allocs),
	  OF_SAMPLES },
	{ { "memtraced_frees_ci95", METRICS_GAUGE, "",
	    "How far the estimate of frees can be off, in 95 of 100 cases." },
	  MARGIN(ci95_frees),
	  OF_SAMPLES },
	{ { "memtraced_process_running", METRICS_GAUGE, "", "0: the process has ended." },
	  IS_RUNNING,
	  0,
	  OF_ALL_RUNS },
};

/* Of processes whose memory was looked at. */
static bool has_mapped(const struct view *view)
{
	for (size_t i = 0; i < view_n_processes(view); i++)
		if (view_process(view, i)->image->has_mapped)
			return true;
	return false;
}

static bool is_of(enum metric_of runs, const struct view *view)
{
	if (runs == OF_MAPPED)
		return has_mapped(view);
	if (runs == OF_ALL_CALLS)
		return !view_is_sampled(view_model(view));
	return runs == OF_ALL_RUNS || view_has_estimates(view_model(view));
}

/* Of a run whose depth changes each image is of one kind. */
static bool is_of_image(enum metric_of runs, const struct view *view,
			const struct view_process *process)
{
	bool is_sampled = view_image_is_sampled(view_model(view), process->image);

	if (runs == OF_MAPPED)
		return process->image->has_mapped;
	return runs == OF_ALL_RUNS || (runs == OF_SAMPLES) == is_sampled;
}

static void put_processes(struct metrics_out *out, const struct view *view)
{
	for (size_t i = 0; i < sizeof(process_metrics) / sizeof(process_metrics[0]); i++) {
		const struct process_metric *metric = &process_metrics[i];

		if (!is_of(metric->runs, view))
			continue;
		metrics_out_family(out, &metric->family);
		for (size_t j = 0; j < view_n_processes(view); j++) {
			const struct view_process *process = view_process(view, j);

			if (!process->image->has_totals ||
			    !is_of_image(metric->runs, view, process))
				continue;
			process_labels(out, process->image);
			metrics_out_i64(out, "", process_number(metric, process));
		}
	}
}

/* Servers index labels, and people read them; `site` tells those apart whose names are alike. */
#define FUNCTION_COLUMNS 200

static void site_labels(struct metrics_out *out, const struct view_process *process,
			const struct view_site *site)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, function = { 0 };
	struct view_frame frame = { 0 };
	bool is_named = view_stack_name(&site->stack, &frame) && !frame.place->alloc;
	char id[20], line[12];

	if (is_named)
		view_frame_short_name(&frame, false, &name);
	text_fit_function(&function, strbuf_str(&name), FUNCTION_COLUMNS);
	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	process_labels(out, process->image);
	metrics_out_label(out, "site", id);
	metrics_out_label(out, "class", site->class == VIEW_MMAP ? "mmap" : "heap");
	metrics_out_label(out, "function", strbuf_str(&function));
	metrics_out_label(out, "file", is_named && frame.file ? frame.file : "");
	snprintf(line, sizeof(line), "%" PRIu32, frame.line);
	metrics_out_label(out, "line", is_named && frame.line ? line : "");
	if (strbuf_error(&name) < 0 || strbuf_error(&function) < 0)
		metrics_out_fail(out, -ENOMEM);
}

struct site_metric {
	struct metrics_family family;
	size_t offset; /* of a number of 8 bytes */
	enum metric_of runs;
};

static const struct site_metric site_metrics[] = {
	{ { "memtraced_site_live_bytes", METRICS_GAUGE, "bytes",
	    "Live bytes by where they were allocated, of the first sites." },
	  offsetof(struct view_site, live_bytes),
	  OF_ALL_RUNS },
	{ { "memtraced_site_live_blocks", METRICS_GAUGE, "",
	    "Live blocks by where they were allocated, of the first sites." },
	  offsetof(struct view_site, live_blocks),
	  OF_ALL_RUNS },
	{ { "memtraced_site_allocated_bytes", METRICS_COUNTER, "bytes",
	    "Bytes that were allocated there, of the first sites." },
	  offsetof(struct view_site, bytes),
	  OF_ALL_RUNS },
	{ { "memtraced_site_live_ci95_bytes", METRICS_GAUGE, "bytes",
	    "How far the estimate of live bytes there can be off, of the first sites." },
	  offsetof(struct view_site, estimate.ci95_bytes),
	  OF_SAMPLES },
	{ { "memtraced_site_live_ci95_blocks", METRICS_GAUGE, "",
	    "How far the estimate of live blocks there can be off, of the first sites." },
	  offsetof(struct view_site, estimate.ci95_blocks),
	  OF_SAMPLES },
	{ { "memtraced_site_allocated_ci95_bytes", METRICS_GAUGE, "bytes",
	    "How far the estimate of what was allocated there can be off, of the first sites." },
	  offsetof(struct view_site, estimate.ci95_allocated_bytes),
	  OF_SAMPLES },
};

static void put_sites(struct metrics_out *out, const struct view *view)
{
	uint64_t top = view_opts(view)->top;

	for (size_t i = 0; i < sizeof(site_metrics) / sizeof(site_metrics[0]); i++) {
		if (!is_of(site_metrics[i].runs, view))
			continue;
		metrics_out_family(out, &site_metrics[i].family);
		for (size_t j = 0; j < view_n_processes(view); j++) {
			const struct view_process *process = view_process(view, j);

			if (!is_of_image(site_metrics[i].runs, view, process))
				continue;
			for (size_t k = 0; k < process->n_sites && (top == 0 || k < top); k++) {
				site_labels(out, process, &process->sites[k]);
				metrics_out_i64(out, "",
						number_at(&process->sites[k],
							  site_metrics[i].offset));
			}
		}
	}
}

/* Buckets have integers: what is below `hi` is at most hi - 1. */
static void put_group(struct metrics_out *out, const struct record_histogram *asked,
		      const struct view_group *group)
{
	const struct record_hist_counts *counts = group->counts;
	uint64_t sum = 0;

	for (size_t i = 0; i <= counts->n_buckets; i++) {
		bool last = i == counts->n_buckets;
		int64_t hi = last ? INT64_MAX : counts->buckets[i].hi;
		char le[32] = "+Inf";

		if (!last && hi == INT64_MAX)
			continue;
		if (!last) {
			sum += counts->buckets[i].count;
			snprintf(le, sizeof(le), "%" PRId64 ".0", hi > INT64_MIN ? hi - 1 : hi);
		}
		metrics_out_label(out, "spec", asked->spec);
		metrics_out_label(out, asked->by ? asked->by : "key",
				  counts->key ? counts->key : "");
		metrics_out_label(out, "le", le);
		metrics_out_u64(out, "_bucket", last ? group->count : sum);
	}
	/* OpenMetrics wants a count only with a sum, which is not kept. */
	if (out->is_openmetrics)
		return;
	metrics_out_label(out, "spec", asked->spec);
	metrics_out_label(out, asked->by ? asked->by : "key", counts->key ? counts->key : "");
	metrics_out_u64(out, "_count", group->count);
}

static void put_histograms(struct metrics_out *out, const struct view *view)
{
	static const struct metrics_family family = {
		"memtraced_values", METRICS_HISTOGRAM, "",
		"Values that were asked for by --hist, in the spec's unit."
	};

	if (view_n_histograms(view) > 0)
		metrics_out_family(out, &family);
	for (size_t i = 0; i < view_n_histograms(view); i++) {
		const struct view_histogram *histogram = view_histogram(view, i);

		for (size_t j = 0; j < histogram->n_groups; j++)
			put_group(out, histogram->asked, &histogram->groups[j]);
	}
}

static void put_events(struct metrics_out *out, const struct view *view)
{
	if (view_n_events(view) > 0)
		metrics_out_counter(
			out, "memtraced_events", "",
			"How often an event happened; of --cpu, its samples; of --page-faults, "
			"an estimate.");
	for (size_t i = 0; i < view_n_events(view); i++) {
		const struct view_event *event = view_event(view, i);

		metrics_out_labelled(out, "event", event->asked->name,
				     event->asked->timed ? event->count : view_event_total(event));
	}
}

static void put_syscalls(struct metrics_out *out, const struct view *view)
{
	static const struct metrics_family families[] = {
		{ "memtraced_syscalls", METRICS_COUNTER, "", "System calls." },
		{ "memtraced_syscall_errors", METRICS_COUNTER, "", "System calls that failed." },
	};
	const struct view_calls *all = &view_syscalls(view)->all;

	for (size_t i = 0; all->n_calls > 0 && i < sizeof(families) / sizeof(families[0]); i++) {
		metrics_out_family(out, &families[i]);
		for (size_t j = 0; j < all->n_calls; j++) {
			const struct record_syscall *call = &all->calls[j].sum;
			char number[16];

			snprintf(number, sizeof(number), "%" PRId32, call->number);
			metrics_out_labelled(out, "syscall", call->name ? call->name : number,
					     i == 0 ? call->calls : call->errors);
		}
	}
}

static void put_losses(struct metrics_out *out, const struct record_coverage *coverage)
{
	if (coverage->n_losses > 0)
		metrics_out_counter(out, "memtraced_lost_events", "",
				    "Events that were lost, by cause; none: there were none.");
	for (size_t i = 0; i < coverage->n_losses; i++)
		metrics_out_labelled(out, "cause", coverage->losses[i].cause,
				     coverage->losses[i].count);
	metrics_out_counter(out, "memtraced_stacks", "", "Events by whether their stack is whole.");
	metrics_out_labelled(out, "complete", "true", coverage->stacks_complete);
	metrics_out_labelled(out, "complete", "false", coverage->stacks_truncated);
}

static void put_coverage(struct metrics_out *out, const struct view *view)
{
	const struct record_coverage *coverage = view_coverage(view);

	metrics_out_gauge(
		out, "memtraced_exact", "",
		"1: nothing was lost, and totals are counted, not estimated from samples.");
	metrics_out_u64(out, "", view_is_exact(view));
	if (!coverage)
		return;
	metrics_out_counter(
		out, "memtraced_seen_events", "",
		"Allocations, frees, failed calls, mappings and events of jobs that were seen.");
	metrics_out_u64(out, "", coverage->events);
	put_losses(out, coverage);
}

static int write_metrics(const struct view *view, FILE *file, bool is_openmetrics)
{
	struct metrics_out out = { .file = file, .is_openmetrics = is_openmetrics };

	put_coverage(&out, view);
	if (view_has_allocations(view)) {
		put_processes(&out, view);
		put_sites(&out, view);
	}
	put_histograms(&out, view);
	put_events(&out, view);
	put_syscalls(&out, view);
	return metrics_out_end(&out);
}

int prometheus_write(const struct view *view, FILE *file)
{
	return write_metrics(view, file, false);
}

int openmetrics_write(const struct view *view, FILE *file)
{
	return write_metrics(view, file, true);
}
