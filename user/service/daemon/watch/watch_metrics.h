/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the watch knows, for /metrics: growth and PSS of the processes that are shown anyway, and
 * the cgroups that have most.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_WATCH_WATCH_METRICS_H
#define MEMTRACED_SERVICE_DAEMON_WATCH_WATCH_METRICS_H

#include "report/metrics_out.h"
#include "service/daemon/service_state.h"
#include "service/daemon/watch/watch.h"

void watch_metrics_put(const struct watch *watch, const struct service_config *config,
		       const struct process_rows *rows, struct metrics_out *out);
/* For who may see the host. 0 or -ENOMEM. */
int watch_metrics_put_cgroups(const struct watch *watch, const struct service_config *config,
			      struct metrics_out *out);

#endif
