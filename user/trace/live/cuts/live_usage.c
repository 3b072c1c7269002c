/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RSS and a cgroup's use are counters that the kernel keeps. A share (PSS) is counted page by page,
 * with the memory map locked for reading, for a time that goes by the process's size: those of all
 * processes are read in a thousandth of the time at most, and a process's for the first time when
 * it has run for a while.
 */
#include "trace/live/cuts/live_usage.h"

#include "base/clock.h"
#include "target/cgroup_memory.h"
#include "target/process.h"
#include "target/smaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PSS_SHARE 1000
/* What is saved up is read at once, and nothing else is looked at meanwhile. */
#define MOST_SPARE_NS 20000000LL

struct live_usage {
	uint64_t pss_every_ns; /* 0: not at all */
	uint64_t saved_ns;     /* until when time was saved up for shares; 0: not yet, */
	int64_t spare_ns;      /* and how much; below 0: the last one took longer */
	int cgroup_version;    /* 0: not looked for; negative errno: there are no memory cgroups */
	struct strbuf root, cgroup;
	struct strbuf last_cgroup; /* many are in one: what it uses is read once a sample */
	uint64_t last_bytes;
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
	strbuf_done(&usage->last_cgroup);
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
	const char *name;

	if (usage->cgroup_version <= 0)
		return 0;
	strbuf_reset(&usage->cgroup);
	if (cgroup_of_process(pid, usage->cgroup_version, &usage->cgroup))
		return 0;
	name = strbuf_str(&usage->cgroup);
	if (usage->last_cgroup.len && strcmp(name, strbuf_str(&usage->last_cgroup)) == 0)
		return usage->last_bytes;
	if (cgroup_memory_current(strbuf_str(&usage->root), usage->cgroup_version, name,
				  &usage->last_bytes))
		usage->last_bytes = 0;
	strbuf_reset(&usage->last_cgroup);
	strbuf_adds(&usage->last_cgroup, name);
	return usage->last_bytes;
}

void live_usage_begin(struct live_usage *usage)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!usage->cgroup_version)
		find_cgroups(usage);
	strbuf_reset(&usage->last_cgroup);
	if (usage->saved_ns)
		usage->spare_ns += (int64_t)((now_ns - usage->saved_ns) / PSS_SHARE);
	if (usage->spare_ns > MOST_SPARE_NS)
		usage->spare_ns = MOST_SPARE_NS;
	usage->saved_ns = now_ns;
}

bool live_usage_read_share(struct live_usage *usage, pid_t pid, struct live_usage_clock *clock)
{
	uint64_t now_ns;
	struct smaps_sums sums;

	if (!usage->pss_every_ns)
		return false;
	now_ns = clock_monotonic_ns();
	if (!clock->next_pss_ns)
		clock->next_pss_ns = now_ns + usage->pss_every_ns;
	if (now_ns < clock->next_pss_ns)
		return true;
	if (usage->spare_ns <= 0)
		return false;
	clock->pss_bytes = smaps_sums_read(pid, &sums) ? 0 : sums.pss_bytes;
	usage->spare_ns -= (int64_t)(clock_monotonic_ns() - now_ns);
	clock->next_pss_ns = now_ns + usage->pss_every_ns;
	return true;
}

void live_usage_read(struct live_usage *usage, pid_t pid, struct live_usage_clock *clock,
		     struct record_sample_process *sample)
{
	if (statm_rss(pid, &sample->rss_bytes))
		sample->rss_bytes = UINT64_MAX; /* it may just have ended */
	sample->cgroup_bytes = cgroup_bytes(usage, pid);
	sample->pss_bytes = clock->pss_bytes;
	clock->pss_bytes = 0;
}

void live_rss_peak_begin(struct live_rss_peak *peak, uint32_t earlier_pages)
{
	peak->knows_earlier = true;
	peak->earlier_pages = earlier_pages;
}

void live_rss_peak_note(struct live_rss_peak *peak, uint64_t bytes)
{
	if (bytes > peak->bytes)
		peak->bytes = bytes;
}

void live_rss_peak_end(struct live_rss_peak *peak, const struct abi_ev_process *ev)
{
	bool has_risen = peak->knows_earlier && ev->peak_pages > peak->earlier_pages;

	peak->is_least = !(ev->flags & ABI_PROCESS_OWN_PEAK) && !has_risen;
	if (!peak->is_least)
		live_rss_peak_note(peak, ev->peak_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}
