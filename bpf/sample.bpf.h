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

/*
 * The smallest weight that a process has shown is one sample's, its interval: weights are multiples
 * of it. Two CPUs may both lower it, of which the next small one corrects the larger.
 */
static __always_inline void note_interval(struct abi_proc *proc, __u64 weight)
{
	__u64 known = *(volatile __u64 *)&proc->sample_interval;

	if (!known || weight < known)
		*(volatile __u64 *)&proc->sample_interval = weight;
}

static __always_inline void sample_alloc(struct pt_regs *ctx, struct abi_proc *proc, __u32 slot,
					 const struct abi_sample_spec *spec)
{
	__u64 addr, size, weight;
	struct abi_block block;

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
	note_interval(proc, weight);
	block.stack = stack_capture(ctx, proc, slot, STACK_AT_PROBE);
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
		count_unknown_free(proc);
		return;
	}
	count_inherited_free(proc, origin);
	account_free(slot, &block, false);
}

#endif
