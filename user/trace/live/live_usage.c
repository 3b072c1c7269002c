/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RSS and a cgroup's use are counters that the kernel keeps. A share (PSS) is counted page by page,
 * with the memory map locked for reading, for a time that goes by the process's size: it is read in
 * a thousandth of the time at most, and for the first time when the process has run for a while.
 */
#include "trace/live/live_usage.h"

#include "base/clock.h"
#include "target/cgroup_memory.h"
#include "target/smaps.h"
#include "target/statm.h"

#include <errno.h>
#include <stdlib.h>

#define PSS_SHARE 1000

struct live_usage {
	uint64_t pss_every_ns; /* 0: not at all */
	int cgroup_version;    /* 0: not looked for; negative errno: there are no memory cgroups */
	struct strbuf root, cgroup;
};

int live_usage_new(uint64_t pss_every_ns, struct live_usage **ret_usage)
{
	struct live_usage *usage = calloc(1, sizeof(*usage));

	if (!usage)
		return -ENOMEM;
	usage->pss_every_ns = pss_every_ns;
	*ret_usage = usage;
	return 0;
}

void live_usage_free(struct live_usage *usage)
{
	if (!usage)
		return;
	strbuf_done(&usage->root);
	strbuf_done(&usage->cgroup);
	free(usage);
}

/* Not before there is a sample: many runs end without. */
static void find_cgroups(struct live_usage *usage)
{
	int r = cgroup_root_of_host(&usage->root);

	usage->cgroup_version = r ? r : cgroup_root_version(strbuf_str(&usage->root));
}

/* 0: not known. That of version 2's root is not. */
static uint64_t cgroup_bytes(struct live_usage *usage, pid_t pid)
{
	struct cgroup_memory memory;

	if (!usage->cgroup_version)
		find_cgroups(usage);
	if (usage->cgroup_version < 0)
		return 0;
	strbuf_reset(&usage->cgroup);
	if (cgroup_of_process(pid, usage->cgroup_version, &usage->cgroup) ||
	    cgroup_memory_read(strbuf_str(&usage->root), usage->cgroup_version,
			       strbuf_str(&usage->cgroup), &memory))
		return 0;
	return memory.current_bytes;
}

/* 0: not read now. */
static uint64_t pss_bytes(const struct live_usage *usage, pid_t pid, struct live_usage_clock *clock)
{
	uint64_t now_ns, took_ns;
	struct smaps_sums sums;
	int r;

	if (!usage->pss_every_ns)
		return 0;
	now_ns = clock_monotonic_ns();
	if (!clock->next_pss_ns)
		clock->next_pss_ns = now_ns + usage->pss_every_ns;
	if (now_ns < clock->next_pss_ns)
		return 0;
	r = smaps_sums_read(pid, &sums);
	took_ns = clock_monotonic_ns() - now_ns;
	clock->next_pss_ns =
		now_ns + (took_ns * PSS_SHARE > usage->pss_every_ns ? took_ns * PSS_SHARE :
								      usage->pss_every_ns);
	return r ? 0 : sums.pss_bytes;
}

void live_usage_read(struct live_usage *usage, pid_t pid, struct live_usage_clock *clock,
		     struct record_sample_process *sample)
{
	if (statm_rss(pid, &sample->rss_bytes))
		sample->rss_bytes = UINT64_MAX; /* it may just have ended */
	sample->cgroup_bytes = cgroup_bytes(usage, pid);
	sample->pss_bytes = pss_bytes(usage, pid, clock);
}
