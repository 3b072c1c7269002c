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

/*
 * The smallest weight that a process has shown is one sample's, its interval: weights are multiples
 * of it. Its own samples' interval takes the place of a stand-in's. Two CPUs may both write, of
 * which the next sample corrects the wrong one.
 */
static __always_inline void note_interval(struct abi_proc *proc, __u64 weight, bool own)
{
	__u64 known = *(volatile __u64 *)&proc->sample_interval, interval = weight;

	if (own && !(known & ABI_SAMPLE_OWN))
		known = ABI_SAMPLE_IMAGE;
	if (known & ~ABI_SAMPLE_FLAGS && (known & ~ABI_SAMPLE_FLAGS) < interval)
		interval = known & ~ABI_SAMPLE_FLAGS;
	interval |= ABI_SAMPLE_IMAGE;
	if (own)
		interval |= ABI_SAMPLE_OWN;
	if (interval != known)
		*(volatile __u64 *)&proc->sample_interval = interval;
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
	if (!addr || !weight || size < knob_min_size || size > knob_max_size)
		return;
	if (addr & 7 || addr >= ABI_ADDR_LIMIT || weight >> ABI_SIZE_BITS) {
		proc_lost(proc, ABI_LOST_ADDRESS);
		return;
	}
	note_interval(proc, weight, !spec->is_stand_in);
	block.stack = sample_stack(ctx, proc, slot, spec);
	block.size_fn = ABI_SAMPLE_SIZE_FN(weight, size);
	block.tick = *(volatile __u32 *)&control.tick;
	block.era = proc->era;
	account_new(slot, ABI_BLOCK_KEY(slot, addr), &block);
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
		if (!spec->is_stand_in || !has_own_samples(proc))
			count_unknown_free(proc);
		return;
	}
	count_inherited_free(proc, origin);
	account_free(slot, &block, false);
}

#endif
