/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/watch_metrics.h"

#include <stdio.h>

static void put_labels(struct metrics_out *out, const struct process_row *row)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)row->pid); /* fits */
	metrics_out_label(out, "pid", pid);
	metrics_out_label(out, "comm", row->comm);
}

static void put_growth(const struct watched *data, uint64_t window_ns,
		       const struct process_rows *rows, struct metrics_out *out)
{
	metrics_out_gauge(
		out, "memtraced_process_resident_growth_bytes_per_second", "",
		"Trend of the resident memory of the processes that have most, where it was "
		"watched for long enough.");
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct watched_process *process = watched_process(data, rows->rows[i].pid);
		double slope;

		if (!process || !watch_series_slope(&process->rss, window_ns, &slope))
			continue;
		put_labels(out, &rows->rows[i]);
		metrics_out_i64(out, "", (int64_t)slope);
	}
}

static void put_pss(const struct watched *data, const struct process_rows *rows,
		    struct metrics_out *out)
{
	metrics_out_gauge(out, "memtraced_process_proportional_bytes", "bytes",
			  "Proportional set size of the processes that have most, if it is read.");
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct watched_process *process = watched_process(data, rows->rows[i].pid);

		if (!process || process->pss_time_ns == 0)
			continue;
		put_labels(out, &rows->rows[i]);
		metrics_out_u64(out, "", process->pss_bytes);
	}
}

static void put_use(const struct watched_choice *list, struct metrics_out *out)
{
	metrics_out_gauge(out, "memtraced_cgroup_memory_bytes", "bytes",
			  "Memory of the cgroups that have most.");
	for (size_t i = 0; i < list->n; i++)
		metrics_out_labelled(out, "cgroup", list->cgroups[i]->name,
				     list->cgroups[i]->memory.current_bytes);
	metrics_out_gauge(out, "memtraced_cgroup_memory_limit_bytes", "bytes",
			  "Limit of these, of those that have one.");
	for (size_t i = 0; i < list->n; i++) {
		if (list->cgroups[i]->memory.max_bytes == CGROUP_NO_LIMIT)
			continue;
		metrics_out_labelled(out, "cgroup", list->cgroups[i]->name,
				     list->cgroups[i]->memory.max_bytes);
	}
}

static void put_pressure(const struct watched_choice *list, struct metrics_out *out)
{
	metrics_out_gauge(
		out, "memtraced_cgroup_memory_pressure_hundredths", "",
		"Hundredths of a percent of the last ten seconds in which some task waited for "
		"memory, where the kernel says so.");
	for (size_t i = 0; i < list->n; i++) {
		if (list->cgroups[i]->memory.pressure == CGROUP_NO_PRESSURE)
			continue;
		metrics_out_labelled(out, "cgroup", list->cgroups[i]->name,
				     list->cgroups[i]->memory.pressure);
	}
}

static void put_sweeps(const struct watch *watch, struct metrics_out *out)
{
	struct watched_counts counts = watched_count(watch_data(watch));

	metrics_out_counter(out, "memtraced_watch_sweeps", "",
			    "How often all processes and cgroups were looked at.");
	metrics_out_u64(out, "", watch_info(watch).sweeps);
	metrics_out_gauge(out, "memtraced_watched", "",
			  "Processes and cgroups that were looked at the last time.");
	metrics_out_labelled(out, "what", "processes", counts.processes);
	metrics_out_labelled(out, "what", "cgroups", counts.cgroups);
	metrics_out_gauge(out, "memtraced_watch_left_out", "",
			  "Processes and cgroups skipped because the limit was reached.");
	metrics_out_labelled(out, "what", "processes", counts.processes_left_out);
	metrics_out_labelled(out, "what", "cgroups", counts.cgroups_left_out);
}

void watch_metrics_put(const struct watch *watch, const struct service_config *config,
		       const struct process_rows *rows, struct metrics_out *out)
{
	const struct watched *data = watch_data(watch);

	if (!config->watches)
		return;
	put_growth(data, config->growth_window_ns, rows, out);
	put_pss(data, rows, out);
	put_sweeps(watch, out);
}

int watch_metrics_put_cgroups(const struct watch *watch, const struct service_config *config,
			      struct metrics_out *out)
{
	struct watched_choice list = {};
	int r;

	if (!config->watches)
		return 0;
	r = watched_choose_cgroups(watch_data(watch), config->cgroups, &list);
	if (r == 0) {
		put_use(&list, out);
		put_pressure(&list, out);
	}
	watched_choice_done(&list);
	return r;
}
