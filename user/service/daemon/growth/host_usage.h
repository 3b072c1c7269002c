/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the watch knows of a process and its cgroup, as a timeline for reports of growth depth:
 * sweeps have read it anyway, so its session takes no samples. On the thread of the loop.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_HOST_USAGE_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_HOST_USAGE_H

#include "report/view/view_series.h"
#include "service/daemon/watch/watched.h"

/*
 * Its points, and of the cgroup (NULL: it is not known) those since the first of them, as
 * report_usage wants them. Each knows what was looked at then alone.
 */
int host_usage_join(const struct watched_process *process, const struct watched_cgroup *cgroup,
		    struct view_point **ret_points, size_t *ret_n);

/* A report_usage.points; `userdata` is the service. Of who runs, or has just ended. */
int host_usage_points(const struct model_process *image, void *userdata,
		      struct view_point **ret_points, size_t *ret_n);

#endif
