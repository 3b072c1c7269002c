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

/* Entries that are looked at for a site before it goes into the hash map. */
#define SITE_TRIES 4

static __always_inline bool site_key_equal(const struct abi_site_key *a,
					   const struct abi_site_key *b)
{
	return a->stack == b->stack && a->slot == b->slot && a->fn == b->fn &&
	       a->stripe == b->stripe;
}

/*
 * The entry of the site, taken for it when it has none; NULL: all places near its hash are taken.
 * A program that preempts this one in the middle of taking an entry takes another for the same
 * site, and readers add up both.
 */
#ifdef OLD_KERNEL
static __always_inline struct abi_site *site_table_get(const struct abi_site_key *key)
{
	(void)key; /* entries are taken by compare and swap: all sites are in the map */
	return NULL;
}
#else
static __always_inline struct abi_site *site_table_get(const struct abi_site_key *key)
{
	__u64 words = key->stack + ((__u64)key->slot << 32 | key->fn << 16 | key->stripe);
	__u32 hash = words * 0x9e3779b97f4a7c15ULL >> 40, i;

	for (i = 0; i < SITE_TRIES; i++) {
		__u32 at = (hash + i) % ABI_SITE_ENTRIES;
		struct abi_site_entry *e = bpf_map_lookup_elem(&site_table, &at);

		if (!e)
			return NULL;
		if (e->state == ABI_SITE_USED && site_key_equal(&e->key, key))
			return &e->site;
		if (e->state != ABI_SITE_FREE ||
		    __sync_val_compare_and_swap(&e->state, ABI_SITE_FREE, ABI_SITE_BUSY))
			continue;
		e->key = *key;
		PUBLISH(&e->state, ABI_SITE_USED);
		return &e->site;
	}
	return NULL;
}
#endif

/* Not on the stack, of which all calls of a program have 512 bytes together. */
static const struct abi_site no_site;

static __always_inline struct abi_site *site_map_get(const struct abi_site_key *site_key)
{
	struct abi_site_key key = *site_key;
	struct abi_site *site = bpf_map_lookup_elem(&sites, &key);

	if (site)
		return site;
	bpf_map_update_elem(&sites, &key, &no_site, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sites, &key);
}

static __always_inline struct abi_site *site_get(__u32 slot, __u16 fn, __u64 stack)
{
	struct abi_site_key key = {
		.stack = stack,
		.slot = slot,
		.fn = fn,
		.stripe = bpf_get_smp_processor_id(),
	};
	struct abi_site *site = site_table_get(&key);

	return site ? site : site_map_get(&key);
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
		PUBLISH(&site->cut_epoch, cut);
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
