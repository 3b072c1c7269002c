/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampled depth: the USDT probes of otel_memory, by which a process shows the allocations that it
 * has chosen. A sample is whole in itself, so that nothing is kept of threads.
 */
#ifndef MEMTRACED_SAMPLE_BPF_H
#define MEMTRACED_SAMPLE_BPF_H

#include "account.bpf.h"
#include "usdt.bpf.h"

/* Where the arguments of each probe are. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_sample_spec);
} sample_specs SEC(".maps") __weak;

static __always_inline bool has_own_samples(const struct abi_proc *proc)
{
	return *(volatile __u64 *)&proc->sample_interval & ABI_SAMPLE_OWN;
}

/* The interval that a process's least weight tells, and whether weights are multiples of it. */
static __always_inline __u64 interval_by_weight(struct abi_proc *proc, __u64 known, __u64 weight,
						__u64 size)
{
	__u64 least = *(volatile __u64 *)&proc->least_sample, now;
	__u64 kind = known & ABI_SAMPLE_MULTIPLES;

	if (abi_sample_is_multiple(least, weight, size))
		kind = ABI_SAMPLE_MULTIPLES;
	now = abi_sample_least(least, weight, size);
	if (now != least)
		*(volatile __u64 *)&proc->least_sample = now;
	return abi_sample_told(now, kind);
}

/*
 * Our library tells its interval; of others' samples the weights tell it. A process's own samples
 * take the place of a stand-in's. Two CPUs may both write; the next sample corrects the wrong one.
 */
static __always_inline void note_interval(struct pt_regs *ctx, struct abi_proc *proc,
					  const struct abi_sample_spec *spec, __u64 weight,
					  __u64 size)
{
	__u64 known = *(volatile __u64 *)&proc->sample_interval, interval = 0;

	if (!spec->is_stand_in && !(known & ABI_SAMPLE_OWN)) {
		known = ABI_SAMPLE_IMAGE | ABI_SAMPLE_OWN;
		*(volatile __u64 *)&proc->least_sample = 0;
	}
	if (!spec->is_stand_in ||
	    !usdt_argument(ctx, &spec->arg[ABI_SAMPLE_INTERVAL_TOLD], &interval) || !interval ||
	    interval >> ABI_SIZE_BITS)
		interval = interval_by_weight(proc, known, weight, size);
	interval |= ABI_SAMPLE_IMAGE | (known & ABI_SAMPLE_OWN);
	interval |= ABI_SAMPLE_THINNED(known) << ABI_SAMPLE_THINNED_SHIFT;
	if (interval != *(volatile __u64 *)&proc->sample_interval)
		*(volatile __u64 *)&proc->sample_interval = interval;
}

static __always_inline void note_thinned(struct abi_proc *proc, __u64 doublings)
{
	__u64 known = *(volatile __u64 *)&proc->sample_interval;

	if (ABI_SAMPLE_THINNED(known) >= doublings)
		return;
	known &= ~(ABI_SAMPLE_THINNED_MASK << ABI_SAMPLE_THINNED_SHIFT);
	*(volatile __u64 *)&proc->sample_interval = known | doublings << ABI_SAMPLE_THINNED_SHIFT;
}

static __always_inline __u32 wanted_doublings(struct abi_proc *proc)
{
	__s64 live = *(volatile __s64 *)&proc->live_samples;
	__u32 by_room = abi_sample_doublings(live, knob_sample_room);
	__u32 by_time = *(volatile __u32 *)&control.doublings;

	return by_room > by_time ? by_room : by_time;
}

/*
 * Keeps one process from taking the room of all, or more time than it may: of samples lighter than
 * a doubled interval those that are kept, as likely as they are heavy, weigh that much in place of
 * the others (Duffield, Lund and Thorup, J. ACM 54, 2007). Estimates stay unbiased, with the
 * variance of that interval.
 */
static __always_inline bool sample_fits(struct abi_proc *proc, __u64 *weight)
{
	__u32 doublings = wanted_doublings(proc);
	__u64 interval, chance;

	if (!doublings)
		return true;
	if (doublings == ABI_SAMPLE_NO_ROOM) {
		proc_lost(proc, ABI_LOST_SAMPLE_ROOM);
		return false;
	}
	note_thinned(proc, doublings);
	interval = ABI_SAMPLE_SHOWN(*(volatile __u64 *)&proc->sample_interval) << doublings;
	if (*weight >= interval)
		return true;
	chance = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	if (chance % interval >= *weight)
		return false;
	*weight = interval;
	return true;
}

static __always_inline __u64 sample_stack(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					  const struct abi_sample_spec *spec)
{
#if !WALKS_BY_CFI
	if (spec->in_link)
		return leaf_stack_capture(ctx, proc, slot);
#endif
	return stack_capture(ctx, proc, slot, STACK_AT_PROBE);
}

static __always_inline void sample_alloc(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					 const struct abi_sample_spec *spec)
{
	__u64 addr, size, weight;
	struct abi_block block;

	if (spec->is_stand_in && has_own_samples(proc))
		return;
	if (!usdt_argument(ctx, &spec->arg[ABI_SAMPLE_PTR], &addr) ||
	    !usdt_argument(ctx, &spec->arg[ABI_SAMPLE_SIZE], &size) ||
	    !usdt_argument(ctx, &spec->arg[ABI_SAMPLE_WEIGHT], &weight)) {
		proc_lost(proc, ABI_LOST_ARGUMENT);
		return;
	}
	if (!addr || !weight)
		return;
	if (addr & 7 || addr >= ABI_ADDR_LIMIT || weight >> ABI_SIZE_BITS ||
	    size >> ABI_SIZE_BITS) {
		proc_lost(proc, ABI_LOST_ADDRESS);
		return;
	}
	/* Those that are not wanted tell the interval, too. */
	note_interval(ctx, proc, spec, weight, size);
	if (!abi_block_is_tracked(&knob_block_filter, size))
		return;
	if (!sample_fits(proc, &weight))
		return;
	count_by(ABI_SAMPLED_ALLOCS, abi_sample_blocks(weight, size));
	block.stack = sample_stack(ctx, proc, slot, spec);
	block.size_fn = abi_sample_size_fn(weight, size);
	block.tick = *(volatile __u32 *)&control.tick;
	block.era = proc->era;
	account_new(slot, ABI_BLOCK_KEY(slot, addr), &block);
}

/* Else it may be of a block that the process's own samples, or those that fit, left out. */
static __always_inline bool is_unknown(const struct abi_proc *proc,
				       const struct abi_sample_spec *spec)
{
	if (ABI_SAMPLE_THINNED(*(volatile __u64 *)&proc->sample_interval))
		return false;
	return !spec->is_stand_in || !has_own_samples(proc);
}

static __always_inline void sample_free(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					const struct abi_sample_spec *spec)
{
	enum block_origin origin;
	struct abi_block block;
	__u64 addr;

	if (!usdt_argument(ctx, &spec->arg[ABI_SAMPLE_PTR], &addr)) {
		proc_lost(proc, ABI_LOST_ARGUMENT);
		return;
	}
	if (!addr)
		return;
	origin = block_take(slot, addr, &block);
	if (origin == BLOCK_UNKNOWN) {
		if (is_unknown(proc, spec))
			count_unknown_free(proc);
		return;
	}
	account_free(slot, &block, false);
}

#endif
