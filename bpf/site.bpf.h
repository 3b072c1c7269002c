/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A site's counts, with what they were at the last peak and the last cut (DESIGN.md section 10).
 * Order: the site, then the process's total, then its peak epoch.
 */
#ifndef MEMTRACED_SITE_BPF_H
#define MEMTRACED_SITE_BPF_H

#include "abi_sample.h"
#include "process.bpf.h"
#include "room.bpf.h"

/* How a block ends. */
enum block_end {
	BLOCK_FREED,
	BLOCK_TEMPORARY,   /* freed with no other made between */
	BLOCK_FREE_MISSED, /* its address was handed out again */
};

struct site_change {
	__s64 bytes;
	__s64 blocks;
	__u32 allocated; /* counts as a new allocation */
	__u32 end;	 /* enum block_end */
	__u64 variance;	 /* abi_site_counts.allocs_variance */
	__u64 bytes_variance;
};

/* Built by hand: an initialiser may become data that one of the two builds lacks. */
static __always_inline void site_change(struct site_change *change, __s64 bytes, __s64 blocks,
					__u32 allocated, enum block_end end)
{
	change->bytes = bytes;
	change->blocks = blocks;
	change->allocated = allocated;
	change->end = end;
	change->variance = 0;
	change->bytes_variance = 0;
}

static __always_inline enum block_end block_end(bool temporary)
{
	return temporary ? BLOCK_TEMPORARY : BLOCK_FREED;
}

/* The change that a block makes which comes (sign 1) or goes (-1). */
static __always_inline void site_change_of(struct site_change *change, const struct abi_proc *proc,
					   const struct abi_block *block, __s64 sign,
					   __u32 allocated, enum block_end end)
{
	__u64 bytes = ABI_BLOCK_SIZE(block), size, beyond;

	site_change(change, sign * bytes, sign, allocated, end);
	if (!proc_has_samples(proc))
		return;
	size = abi_sampled_size(block);
	change->blocks = sign * abi_sample_blocks(bytes, size);
	if (!allocated)
		return;
	beyond = abi_sampled_beyond(block, *(volatile __u64 *)&proc->sample_interval);
	change->variance = abi_sample_variance(bytes, size, beyond);
	change->bytes_variance = abi_sample_bytes_variance(bytes, beyond);
}

static __always_inline __u16 site_function_of(const struct abi_proc *proc,
					      const struct abi_block *block)
{
	return proc_has_samples(proc) ? ABI_FN_SAMPLED : ABI_BLOCK_FN(block);
}

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

/*
 * Not on the stack, of which all calls of a program have 512 bytes together; no static, which one
 * of the two builds would lack (check-skeletons).
 */
__weak const __u8 no_site[sizeof(struct abi_site)];

/* Beside a CPU's usual stripe: see site_apply(). */
#define SITE_OTHER_STRIPE 0x8000
#define SITE_SHARED_STRIPE 0x4000
/* In place of all CPUs': Linux has 8192 CPUs at most. */
#define SITE_COMMON_STRIPE 0x2000

static __always_inline struct abi_site *site_map_get(const struct abi_site_key *key)
{
	struct abi_site *site = bpf_map_lookup_elem(&sites, key);
	__u32 times = key->stripe == SITE_COMMON_STRIPE ? ABI_ROOM_TIMES_AT_LAST : ABI_ROOM_TIMES;
	struct abi_room *room;

	if (site)
		return site;
	room = room_of(key->slot);
	if (!room_for_site(room, times))
		return NULL;
	if (!bpf_map_update_elem(&sites, key, no_site, BPF_NOEXIST))
		ROOM_COUNT(room, sites, 1);
	return bpf_map_lookup_elem(&sites, key);
}

static __always_inline struct abi_site *site_get(__u32 slot, __u16 fn, __u64 stack, __u32 stripes)
{
	struct abi_site_key key = {
		.stack = stack,
		.slot = slot,
		.fn = fn,
		.stripe = stripes == SITE_COMMON_STRIPE ? stripes :
							  bpf_get_smp_processor_id() | stripes,
	};
	struct abi_site *site = site_table_get(&key);

	return site ? site : site_map_get(&key);
}

/* Programs are not preempted on old kernels (trace_call_bpf), and have a CPU's sites alone. */
static __always_inline bool site_own(struct abi_site *site)
{
#ifndef OLD_KERNEL
	__u32 epoch = *(volatile __u32 *)&site->cut_epoch;

	return !(epoch & ABI_CUT_BUSY) &&
	       __sync_val_compare_and_swap(&site->cut_epoch, epoch, epoch | ABI_CUT_BUSY) == epoch;
#else
	(void)site;
	return true;
#endif
}

/*
 * Keeps what belongs to the last cut and the last peak before the site changes. Readers know by the
 * epoch, whether it is busy or not, which of its counts were those at the cut. Gives the epoch that
 * the site then has.
 */
static __always_inline __u32 site_enter_epochs(struct abi_site *site, const struct abi_proc *proc,
					       __u32 peak_epoch, bool is_sampled)
{
	__u32 cut = *(volatile __u32 *)&control.cut_epoch;
	__u32 saved = site->cut_epoch & ~ABI_CUT_BUSY;

	/* A program that was preempted may know of an older cut than the site was saved for. */
	if ((__s32)(cut - saved) > 0) {
		bool had_peak = site->peak_epoch == proc_cut_peak_epoch(proc);

		site->cut = site->now;
		site->cut_peak_bytes = had_peak ? site->peak_bytes : site->now.live_bytes;
		if (!is_sampled && !had_peak)
			site->cut.peak_blocks = site->now.live_blocks;
		PUBLISH(&site->cut_epoch, cut | ABI_CUT_BUSY);
		saved = cut;
	}
	if (site->peak_epoch != peak_epoch) {
		site->peak_bytes = site->now.live_bytes;
		if (!is_sampled)
			site->now.peak_blocks = site->now.live_blocks;
		site->peak_epoch = peak_epoch;
	}
	return saved;
}

/* Old kernels' build runs on others, too, where sites have no owners. */
#ifdef OLD_KERNEL
#define SITE_ADD(count, n, is_own) __sync_fetch_and_add(&(count), n)
#else
#define SITE_ADD(count, n, is_own)                                                                 \
	do {                                                                                       \
		if (is_own)                                                                        \
			(count) += (n);                                                            \
		else                                                                               \
			__sync_fetch_and_add(&(count), n);                                         \
	} while (0)
#endif

/* Where many add to the site a larger one may be lost, until the next of its kind. */
static __always_inline void site_note_beyond(struct abi_site_counts *now,
					     const struct site_change *change)
{
	__u64 beyond = abi_sample_blocks_beyond(change->blocks, change->variance);

	if (beyond > now->most_beyond)
		now->most_beyond = beyond;
}

static __always_inline bool site_is_sampled(__u16 fn)
{
	return knob_sampled && fn == ABI_FN_SAMPLED;
}

/* Of lifetimes. */
static __always_inline __u64 site_clock(void)
{
	return knob_lifetimes ? bpf_ktime_get_ns() >> ABI_CLOCK_SHIFT :
				*(volatile __u32 *)&control.tick;
}

/* is_own: nothing else changes the site meanwhile. */
static __always_inline void site_add(struct abi_site *site, const struct site_change *change,
				     __u16 fn, bool is_own)
{
	struct abi_site_counts *now = &site->now;

	SITE_ADD(now->live_bytes, change->bytes, is_own);
	SITE_ADD(now->live_blocks, change->blocks, is_own);
	if (change->allocated) {
		SITE_ADD(now->allocs, change->blocks, is_own);
		SITE_ADD(now->bytes, change->bytes, is_own);
	}
	if (site_is_sampled(fn)) {
		SITE_ADD(now->allocs_variance, change->variance, is_own);
		SITE_ADD(now->bytes_variance, change->bytes_variance, is_own);
		SITE_ADD(now->samples, change->allocated, is_own);
		if (change->allocated)
			site_note_beyond(now, change);
	} else {
		SITE_ADD(now->lifetimes, -change->blocks * site_clock(), is_own);
		if (change->end == BLOCK_TEMPORARY)
			SITE_ADD(now->temporary, 1, is_own);
	}
	if (change->end == BLOCK_FREE_MISSED)
		SITE_ADD(now->missed_frees, -change->blocks, is_own);
}

enum site_applied { SITE_NO_ROOM, SITE_APPLIED, SITE_OWNED };

/* A function in the lower half, stripes of its site in the upper: functions have five arguments. */
#define SITE_OF_FN(fn, stripes) ((__u32)(fn) | (__u32)(stripes) << 16)

/* Many add to it, so atomically: this change may be on the wrong side of a cut or a peak. */
static __always_inline void site_add_shared(struct abi_proc *proc, struct abi_site *site,
					    const struct site_change *change, __u16 fn)
{
	site_add(site, change, fn, false);
	__sync_fetch_and_add(&proc->race_bytes, change->bytes < 0 ? -change->bytes : change->bytes);
}

/*
 * Applies a change to the site of these stripes: enum site_applied; SITE_OWNED: a program is at it
 * that this one has preempted.
 */
VERIFIED_ONCE int site_apply_at(__u32 slot, __u32 fn_stripes, __u64 stack,
				const struct site_change *change, __u32 peak_epoch)
{
	struct abi_proc *proc = proc_by_slot(slot);
	__u32 stripes = fn_stripes >> 16, epoch;
	struct abi_site *site;
	__u16 fn = fn_stripes;

	if (!proc || !change)
		return SITE_NO_ROOM;
	site = site_get(slot, fn, stack, stripes);
	if (!site) {
		if (stripes == SITE_COMMON_STRIPE)
			proc_lost(proc, ABI_LOST_SITE_MAP_FULL);
		return SITE_NO_ROOM;
	}
	if (stripes == SITE_SHARED_STRIPE) {
		site_add_shared(proc, site, change, fn);
		return SITE_APPLIED;
	}
	if (!site_own(site)) {
		if (stripes != SITE_COMMON_STRIPE)
			return SITE_OWNED;
		site_add_shared(proc, site, change, fn);
		return SITE_APPLIED;
	}
	epoch = site_enter_epochs(site, proc, peak_epoch, site_is_sampled(fn));
	/* Another CPU may add to the common one without owning it. */
	site_add(site, change, fn, stripes != SITE_COMMON_STRIPE);
	PUBLISH(&site->cut_epoch, epoch);
	return SITE_APPLIED;
}

/*
 * Applies a change; false (counted) when there is no room for a new site. While a program that this
 * one has preempted is at the site, another one of the same stack takes the change: what is saved
 * for a cut then never holds a part of it. Where that is taken as well, one without an owner. Where
 * this CPU's stripe has no room, one of all CPUs takes the change.
 */
static __always_inline bool site_apply(__u32 slot, __u16 fn, __u64 stack,
				       const struct site_change *change, __u32 peak_epoch)
{
	int r = site_apply_at(slot, SITE_OF_FN(fn, 0), stack, change, peak_epoch);

	if (r == SITE_OWNED)
		r = site_apply_at(slot, SITE_OF_FN(fn, SITE_OTHER_STRIPE), stack, change,
				  peak_epoch);
	if (r == SITE_OWNED)
		r = site_apply_at(slot, SITE_OF_FN(fn, SITE_SHARED_STRIPE), stack, change,
				  peak_epoch);
	if (r == SITE_NO_ROOM)
		r = site_apply_at(slot, SITE_OF_FN(fn, SITE_COMMON_STRIPE), stack, change,
				  peak_epoch);
	return r == SITE_APPLIED;
}

static __always_inline __u32 peak_epoch_of(const struct abi_proc *proc)
{
	return *(volatile __u32 *)&proc->peak_epoch;
}

#endif
