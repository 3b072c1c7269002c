/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/growth_metrics.h"

#include "model/regions.h"
#include "report/metrics_out.h"
#include "service/daemon/growth/growth_snapshot.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/routes/process_rows.h"

#include <stdio.h>

void growth_metrics_put_processes(const struct host_growth *growth, const struct process_rows *rows,
				  struct metrics_out *out)
{
	static const struct metrics_family mapped = {
		"memtraced_process_mapped_bytes", METRICS_GAUGE, "bytes",
		"What the processes with most resident memory have mapped and not unmapped since "
		"growth depth has known them, by mmap and brk."
	};
	struct region_totals totals;
	char pid[16];

	metrics_out_family(out, &mapped);
	for (size_t i = 0; i < rows->n_rows; i++) {
		if (!host_growth_mapped(growth, rows->rows[i].pid, &totals))
			continue;
		(void)snprintf(pid, sizeof(pid), "%d", (int)rows->rows[i].pid); /* fits */
		metrics_out_label(out, "pid", pid);
		metrics_out_label(out, "comm", rows->rows[i].comm);
		metrics_out_i64(out, "", totals.live_bytes);
	}
}

void growth_metrics_put(const struct host_growth *growth, struct metrics_out *out)
{
	static const struct metrics_family running = {
		"memtraced_growth_running", METRICS_GAUGE, "",
		"1: page faults of the host are sampled; 0: they are not."
	};
	static const struct metrics_family period = { "memtraced_growth_period", METRICS_GAUGE, "",
						      "One in so many page faults is sampled." };
	static const struct metrics_family age = { "memtraced_growth_age_seconds", METRICS_GAUGE,
						   "seconds",
						   "For how long, since it was last begun anew." };
	static const struct metrics_family samples = {
		"memtraced_growth_samples", METRICS_GAUGE, "",
		"Page faults that were sampled in that time, at the latest reading."
	};
	static const struct metrics_family lost = {
		"memtraced_growth_lost", METRICS_GAUGE, "",
		"What was lost in that time, by cause, as in reports' coverage."
	};
	static const struct metrics_family stacks = { "memtraced_growth_stacks", METRICS_GAUGE, "",
						      "Stacks that are kept." };
	static const struct metrics_family files = { "memtraced_growth_files", METRICS_GAUGE, "",
						     "Files that are kept for them." };
	static const struct metrics_family mappings = {
		"memtraced_growth_mappings", METRICS_GAUGE, "",
		"1: mappings are traced as well; 0: they are not."
	};
	static const struct metrics_family regions = { "memtraced_growth_regions", METRICS_GAUGE,
						       "", "Mapped regions that are kept." };
	static const struct metrics_family left_out = {
		"memtraced_growth_regions_left_out", METRICS_GAUGE, "",
		"Regions that are not: their process has more than are kept of one."
	};
	static const struct metrics_family renewed = {
		"memtraced_growth_renewed", METRICS_COUNTER, "",
		"Times that all was forgotten and begun anew, as it was too much."
	};
	static const struct metrics_family failed = {
		"memtraced_growth_failed", METRICS_COUNTER, "",
		"Times that it could not begin, or ended by a fault."
	};
	static const struct growth_snapshot none;
	struct host_growth_info info = host_growth_info(growth);
	const struct growth_snapshot *now = info.snapshot ? info.snapshot : &none;

	metrics_out_one(out, &running, info.is_running);
	metrics_out_one(out, &period, info.period);
	metrics_out_one(out, &age, info.age_ns / 1000000000);
	metrics_out_one(out, &samples, now->events);
	metrics_out_family(out, &lost);
	vec_foreach(&now->losses, loss) {
		metrics_out_label(out, "cause", loss->cause);
		metrics_out_u64(out, "", loss->count);
	}
	metrics_out_one(out, &mappings, info.is_running && info.has_mappings);
	metrics_out_one(out, &stacks, now->size.counts + now->size.region_sites);
	metrics_out_one(out, &files, now->size.objects);
	metrics_out_one(out, &regions, now->size.regions);
	metrics_out_one(out, &left_out, now->regions_left_out);
	metrics_out_one(out, &renewed, info.renewed);
	metrics_out_one(out, &failed, info.failed);
}
