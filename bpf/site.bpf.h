/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A site's counts, with what they were at the last peak and the last cut (DESIGN.md section 10).
 * Order: the site, then the process's total, then its peak epoch.
 */
#ifndef MEMTRACED_SITE_BPF_H
#define MEMTRACED_SITE_BPF_H

#include "process.bpf.h"

struct site_change {
	__s64 bytes;
	__s64 blocks;
	bool allocated; /* counts as a new allocation */
	bool temporary;
};

static __always_inline struct abi_site *site_get(__u32 slot, __u16 fn, __u64 stack)
{
	struct abi_site_key key = {
		.stack = stack,
		.slot = slot,
		.fn = fn,
		.stripe = bpf_get_smp_processor_id(),
	};
	struct abi_site *site = bpf_map_lookup_elem(&sites, &key);
	/* Static storage would be shared; 104 bytes fit the stack. */
	struct abi_site fresh = {};

	if (site)
		return site;
	bpf_map_update_elem(&sites, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sites, &key);
}

/* Keeps what belongs to the last cut and the last peak before the site changes. */
static __always_inline void site_enter_epochs(struct abi_site *site, const struct abi_proc *proc,
					      __u32 peak_epoch)
{
	__u32 cut = *(volatile __u32 *)&control.cut_epoch;

	if (site->cut_epoch != cut) {
		site->cut = site->now;
		site->cut_peak_bytes = site->peak_epoch == proc->cut_peak_epoch ?
					       site->peak_bytes :
					       site->now.live_bytes;
		site->cut_epoch = cut;
	}
	if (site->peak_epoch != peak_epoch) {
		site->peak_bytes = site->now.live_bytes;
		site->peak_epoch = peak_epoch;
	}
}

/* Applies a change; false (counted) when there is no room for a new site. */
static __always_inline bool site_apply(struct abi_proc *proc, __u32 slot, __u16 fn, __u64 stack,
				       const struct site_change *change, __u32 peak_epoch)
{
	struct abi_site *site = site_get(slot, fn, stack);

	if (!site) {
		proc_lost(proc, ABI_LOST_SITE_MAP_FULL);
		return false;
	}
	site_enter_epochs(site, proc, peak_epoch);
	__sync_fetch_and_add(&site->now.live_bytes, change->bytes);
	__sync_fetch_and_add(&site->now.live_blocks, change->blocks);
	if (change->allocated) {
		__sync_fetch_and_add(&site->now.allocs, 1);
		__sync_fetch_and_add(&site->now.bytes, change->bytes);
	}
	if (change->temporary)
		__sync_fetch_and_add(&site->now.temporary, 1);
	return true;
}

static __always_inline __u32 peak_epoch_of(const struct abi_proc *proc)
{
	return *(volatile __u32 *)&proc->peak_epoch;
}

#endif
