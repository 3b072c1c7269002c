/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/host_usage.h"

#include "base/vec.h"
#include "service/daemon/service_state.h"

#include <errno.h>
#include <stdlib.h>

static struct view_point point_at(uint64_t time_ns)
{
	return (struct view_point){ .time_ns = time_ns,
				    .rss_bytes = UINT64_MAX,
				    .cgroup_bytes = UINT64_MAX,
				    .pss_bytes = UINT64_MAX };
}

DEFINE_COMPARE(compare_times, struct view_point, time_ns)

static uint64_t either(uint64_t a, uint64_t b)
{
	return a != UINT64_MAX ? a : b;
}

/* Those of one time become one. */
static size_t merge_points(struct view_point *points, size_t n)
{
	size_t kept = 0;

	for (size_t i = 1; i < n; i++) {
		struct view_point *last = &points[kept];

		if (points[i].time_ns != last->time_ns) {
			points[++kept] = points[i];
			continue;
		}
		last->rss_bytes = either(last->rss_bytes, points[i].rss_bytes);
		last->cgroup_bytes = either(last->cgroup_bytes, points[i].cgroup_bytes);
		last->pss_bytes = either(last->pss_bytes, points[i].pss_bytes);
	}
	return n ? kept + 1 : 0;
}

int host_usage_join(const struct watched_process *process, const struct watched_cgroup *cgroup,
		    struct view_point **ret_points, size_t *ret_n)
{
	struct view_point *points = calloc(2 * WATCH_POINTS + 1, sizeof(*points));
	uint64_t first_ns = process->rss.n ? watch_series_at(&process->rss, 0).time_ns : UINT64_MAX;
	size_t n = 0;

	if (!points)
		return -ENOMEM;
	for (uint32_t i = 0; i < process->rss.n; i++) {
		struct watch_point at = watch_series_at(&process->rss, i);

		points[n] = point_at(at.time_ns);
		points[n++].rss_bytes = at.bytes;
	}
	for (uint32_t i = 0; cgroup && i < cgroup->current.n; i++) {
		struct watch_point at = watch_series_at(&cgroup->current, i);

		/* Version 2's root knows no use. */
		if (at.time_ns < first_ns || at.bytes == 0)
			continue;
		points[n] = point_at(at.time_ns);
		points[n++].cgroup_bytes = at.bytes;
	}
	if (process->pss_time_ns) {
		points[n] = point_at(process->pss_time_ns);
		points[n++].pss_bytes = process->pss_bytes;
	}
	qsort(points, n, sizeof(*points), compare_times);
	*ret_n = merge_points(points, n);
	*ret_points = points;
	return 0;
}

/* By what is known of its death, else as it is now. NULL: it is not known, or not watched. */
static const struct watched_cgroup *cgroup_of(const struct watch *watch,
					      const struct model_process *image)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	int version = watch_info(watch).cgroup_version;

	if (image->has_death && image->death.cgroup)
		return watched_cgroup(watch_data(watch), image->death.cgroup);
	if (version == 0 || image->ended ||
	    cgroup_of_process((pid_t)image->pid, version, &name) < 0)
		return NULL;
	return watched_cgroup(watch_data(watch), strbuf_str(&name));
}

int host_usage_points(const struct model_process *image, void *userdata,
		      struct view_point **ret_points, size_t *ret_n)
{
	const struct service *service = userdata;
	uint64_t end_ns = image->ended ? image->end_ns : UINT64_MAX;
	const struct watched_process *process =
		watched_process_until(watch_data(service->watch), (pid_t)image->pid, end_ns);

	*ret_points = NULL;
	*ret_n = 0;
	if (!process)
		return 0;
	return host_usage_join(process, cgroup_of(service->watch, image), ret_points, ret_n);
}
