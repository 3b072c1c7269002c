/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Return addresses as the program wrote them. A return probe, ours or another tool's, puts the
 * address of the kernel's trampoline in their place; the true one is in the task's list of return
 * instances, under the stack pointer (kernel/events/uprobes.c: prepare_uretprobe).
 */
#ifndef MEMTRACED_RETURN_ADDRESS_BPF_H
#define MEMTRACED_RETURN_ADDRESS_BPF_H

#include "old_kernel.bpf.h"
#include "registers.bpf.h"

/*
 * Instances that are looked at for one address: those of calls that were left by longjmp, and of
 * chained calls (a probed function that jumps to the next), which all have the address.
 */
#define MAX_RETURN_INSTANCES 16

/*
 * The trampoline's first instruction (get_trampoline_vaddr). It is in the last page of the address
 * space, whose addresses have 52 bits on arm64 where the processor has them (FEAT_LPA2 from Linux
 * 6.9 on), and it has been read without what is above 48.
 */
static __always_inline bool is_return_trampoline(struct task_struct *task, __u64 address)
{
	struct xol_area *area;

	if (address & 4095)
		return false;
	if (!bpf_core_field_exists(struct xol_area, vaddr) ||
	    !bpf_core_field_exists(struct mm_struct, uprobes_state))
		return true; /* the stack slot will tell */
	area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	return area && UNSIGNED_ADDRESS(BPF_CORE_READ(area, vaddr)) == address;
}

#define RETURN_INSTANCES_AT_ONCE 4

/* The first of a few instances from this one on whose slot that is; else the one behind them. */
VERIFIED_ONCE_NUMBERS __u64 return_instance(__u64 first, __u64 slot)
{
	struct return_instance *ri = (void *)first;
	int i;

	for (i = 0; i < RETURN_INSTANCES_AT_ONCE; i++) {
		if (!ri || BPF_CORE_READ(ri, stack) == slot)
			break;
		ri = BPF_CORE_READ(ri, next);
	}
	return (__u64)ri;
}

/*
 * The return address that was read as `address` in a stack slot. *instance: the search begins
 * there, 0 for the innermost call; so a walk outwards passes each instance once.
 */
static __always_inline __u64 original_return_address(__u64 address, __u64 slot, __u64 *instance)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *ri = (void *)*instance;
	int i;

	if (!is_return_trampoline(task, address))
		return address;
	if (!ri)
		ri = BPF_CORE_READ(task, utask, return_instances);
	for (i = 0; i < MAX_RETURN_INSTANCES / RETURN_INSTANCES_AT_ONCE; i++)
		ri = (void *)return_instance((__u64)ri, slot);
	if (!ri || BPF_CORE_READ(ri, stack) != slot)
		return address;
	*instance = (__u64)ri;
	return BPF_CORE_READ(ri, orig_ret_vaddr);
}

#if WALKS_BY_CFI

/*
 * The trampoline (arch/x86/kernel/uprobes.c), of which Linux has but a breakpoint before 6.11:
 *
 *   0 push %rax; push %rcx; push %r11; mov $335,%rax; syscall
 *   d pop %r11
 *   f pop %rcx
 *  10 ret         where rax was, the system call has put where to
 */
enum { TRAMPOLINE_CALLED = 0xd, TRAMPOLINE_RET = 0x10 };

/* Is the return that the thread is in still in the list? Where its stack slot is tells. */
static __always_inline bool return_is_pending(const struct user_registers *regs, __u64 offset,
					      __u64 slot)
{
	__u64 pushed = slot + 8 - regs->sp;

	if (offset < TRAMPOLINE_CALLED)
		return pushed <= 24 && !(pushed & 7);
	return offset == TRAMPOLINE_CALLED && (pushed == 24 || !pushed);
}

/* Where the system call has put where to, and put back what it needs to return there. */
static __always_inline bool return_is_prepared(const struct user_registers *regs, __u64 offset,
					       __u64 *ret_slot)
{
	*ret_slot = regs->sp + (TRAMPOLINE_RET - offset + 1) / 2 * 8;
	return offset >= TRAMPOLINE_CALLED && offset <= TRAMPOLINE_RET &&
	       (offset > TRAMPOLINE_CALLED || BPF_CORE_READ(task_registers(), cx) == regs->pc);
}

/*
 * A thread in the trampoline has returned: its registers are made those that it will have behind
 * that. False: it is not there, or it is in the middle of a change.
 */
static __always_inline bool leave_return_trampoline(struct user_registers *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 offset = regs->pc & 4095, slot;
	struct return_instance *ri;

	if (offset > TRAMPOLINE_RET || !bpf_core_field_exists(struct xol_area, vaddr) ||
	    !is_return_trampoline(task, regs->pc - offset))
		return false;
	ri = BPF_CORE_READ(task, utask, return_instances);
	slot = ri ? BPF_CORE_READ(ri, stack) : 0;
	if (ri && return_is_pending(regs, offset, slot))
		regs->pc = BPF_CORE_READ(ri, orig_ret_vaddr);
	else if (!return_is_prepared(regs, offset, &slot) || !link_read(0, slot, &regs->pc))
		return false;
	regs->sp = slot + 8;
	return true;
}

/*
 * Where the return goes that a signal has interrupted in the trampoline, and the slot of the
 * stack that has its address. 0: the code is not the trampoline, or nothing says where. Behind
 * the system call it has returned, so that the stack says it; before, the list of instances does.
 */
static __always_inline __u64 interrupted_return(__u64 pc, __u64 sp, __u64 *instance,
						__u64 *ret_slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 offset = pc & 4095, tramp = pc - offset, address = 0;

	if (offset > TRAMPOLINE_RET || !bpf_core_field_exists(struct xol_area, vaddr) ||
	    !is_return_trampoline(task, tramp))
		return 0;
	if (offset >= TRAMPOLINE_CALLED) {
		*ret_slot = sp + (TRAMPOLINE_RET - offset + 1) / 2 * 8;
		return link_read(0, *ret_slot, &address) ? address : 0;
	}
	/* push %rax, push %rcx: one byte each; push %r11: two */
	*ret_slot = sp - 8 + (offset < 3 ? offset : 3) * 8;
	address = original_return_address(tramp, *ret_slot, instance);
	return address == tramp ? 0 : address;
}

#endif

/* The return address of a call that was entered with this sp; 0 when it cannot be read. */
VERIFIED_ONCE_NUMBERS __u64 return_address(__u64 sp, __u64 link)
{
	__u64 address = 0, instance = 0;

	if (!link_read(link, sp, &address))
		return 0;
	return original_return_address(address, sp, &instance);
}

#endif
