/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The figures of growth depth for /metrics.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_METRICS_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_METRICS_H

struct host_growth;
struct metrics_out;
struct process_rows;

void growth_metrics_put(const struct host_growth *growth, struct metrics_out *out);

/* Of the processes that are shown anyway, what they have mapped. */
void growth_metrics_put_processes(const struct host_growth *growth, const struct process_rows *rows,
				  struct metrics_out *out);

#endif
