/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check-stacks: sends what a stack was walked in, so that the daemon can walk it by other means.
 * Off, the verifier drops all of it.
 */
#ifndef MEMTRACED_STACK_COPY_BPF_H
#define MEMTRACED_STACK_COPY_BPF_H

#include "abi_stack_copy.h"
#include "knobs.bpf.h"
#include "ring.bpf.h"

#include <bpf/bpf_core_read.h>

struct stack_copy_buffer {
	__u32 busy;
	__u32 pad;
	struct abi_ev_stack_copy copy;
};

/* Too large for a CPU's own: those stop at 32 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_copy_buffer);
} copy_buffers SEC(".maps") __weak;

static __always_inline struct stack_copy_buffer *copy_buffer_get(void)
{
	__u32 i;

	for (i = 0; i < ABI_COPY_BUFFERS; i++) {
		__u32 key = i;
		struct stack_copy_buffer *buffer = bpf_map_lookup_elem(&copy_buffers, &key);

		/* it is as good between CPUs */
		if (buffer && take_on_this_cpu(&buffer->busy))
			return buffer;
	}
	return NULL;
}

/* Is a copy still wanted? Counts it. */
static __always_inline bool copy_claim(void)
{
	if (*(volatile __u32 *)&control.copies >= knob_check_stacks)
		return false;
	__sync_fetch_and_add(&control.copies, 1);
	return true;
}

/* Where the memory is that a walk may need. */
static __always_inline void copy_areas(struct abi_ev_stack_copy *copy, struct task_struct *task)
{
	__u64 sp = copy->reg[ABI_RSP], top;

	copy->base[0] = sp & ~(__u64)(ABI_COPY_PAGE - 1);
	copy->base[1] = copy->base[0] + ABI_COPY_AREA_PAGES * ABI_COPY_PAGE;
	if (sp - BPF_CORE_READ(task, sas_ss_sp) >= BPF_CORE_READ(task, sas_ss_size) ||
	    BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return;
	/* What the signal interrupted runs on the process's own stack. */
	top = BPF_CORE_READ(task, mm, start_stack) | (ABI_COPY_PAGE - 1);
	copy->base[1] = top + 1 - ABI_COPY_AREA_PAGES * ABI_COPY_PAGE;
}

/*
 * Every page that is there: what a program has never touched is in no frame of it. Behind the
 * process's own stack there is nothing, and finding that out is what costs most.
 */
static __always_inline void copy_memory(struct abi_ev_stack_copy *copy, struct task_struct *task)
{
	__u64 top = BPF_CORE_READ(task, mm, start_stack) | (ABI_COPY_PAGE - 1);
	__u32 i;

	copy->readable = 0;
	copy->pages = 0;
	for (i = 0; i < ABI_COPY_PAGES; i++) {
		__u64 from = copy->base[i / ABI_COPY_AREA_PAGES] +
			     i % ABI_COPY_AREA_PAGES * ABI_COPY_PAGE;

		if (from > top || bpf_probe_read_user(copy->memory[i], ABI_COPY_PAGE, (void *)from))
			continue;
		copy->readable |= 1U << i;
		copy->pages = i + 1;
	}
}

/* What return probes have replaced: bpf/return_address.bpf.h. */
static __always_inline void copy_returns(struct abi_ev_stack_copy *copy, struct task_struct *task)
{
	struct return_instance *ri = BPF_CORE_READ(task, utask, return_instances);
	__u32 i;

	for (i = 0; i < ABI_COPY_RETURNS && ri; i++) {
		copy->replaced[i].slot = BPF_CORE_READ(ri, stack);
		copy->replaced[i].address = BPF_CORE_READ(ri, orig_ret_vaddr);
		ri = BPF_CORE_READ(ri, next);
	}
	copy->returns = ri ? ABI_COPY_RETURNS + 1 : i;
}

/* Copies have half of the ring at most: what else is in it must not be lost for them. */
static __always_inline bool copy_send(struct abi_ev_stack_copy *copy)
{
	__u64 len = copy->pages * ABI_COPY_PAGE;

	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >
	    bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2)
		return false;
	/* bounded where it is used, and no bits that the compiler could set in place of adding */
	barrier_var(len);
	if (len > ABI_COPY_PAGES * ABI_COPY_PAGE)
		return false;
	barrier_var(len);
	return ring_send_later(copy, offsetof(struct abi_ev_stack_copy, memory) + len) == 0;
}

static __always_inline bool copy_make(struct abi_ev_stack_copy *copy,
				      const struct abi_ev_stack *walked, __u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	copy->head.type = ABI_EV_STACK_COPY;
	copy->head.slot = slot;
	copy->head.time_ns = bpf_ktime_get_ns();
	if (bpf_probe_read_kernel(copy->reg, sizeof(copy->reg), task_registers()) ||
	    bpf_probe_read_kernel(&copy->walked, sizeof(copy->walked), walked))
		return false;
	copy_areas(copy, task);
	copy_memory(copy, task);
	copy_returns(copy, task);
	return copy_send(copy);
}

/* A stack has been walked: sends what it was walked in, as long as copies are wanted. */
VERIFIED_ONCE int stack_copy(const struct abi_ev_stack *walked, __u32 slot)
{
	struct stack_copy_buffer *buffer;
	bool sent;

	if (!walked || walked->flags & ABI_STACK_KERNEL || !copy_claim())
		return 0;
	buffer = copy_buffer_get();
	sent = buffer && copy_make(&buffer->copy, walked, slot);
	if (buffer)
		give_back_on_this_cpu(&buffer->busy);
	if (!sent) {
		__sync_fetch_and_add(&control.copies, -1);
		__sync_fetch_and_add(&control.copies_lost, 1);
	}
	return 0;
}

#endif
