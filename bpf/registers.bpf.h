/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processor's architecture decides: registers of the C calling convention and of system
 * calls, and the order in which memory is seen. bpf_tracing.h has the plain registers (PT_REGS_SP);
 * nothing else on this side knows an architecture, but for struct pt_regs in vmlinux/.
 */
#ifndef MEMTRACED_REGISTERS_BPF_H
#define MEMTRACED_REGISTERS_BPF_H

/*
 * The registers as the argument of a global function: this is the name by which all kernels know
 * the context of these programs (kernel/bpf/btf.c: btf_get_prog_ctx_type). What is in it they read
 * of struct pt_regs.
 */
struct bpf_user_pt_regs_t {
};

#include "abi.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* What a walk over a user stack begins with. */
struct user_registers {
	__u64 pc, sp, fp;
	__u64 link;    /* arm64: x30 */
	__s64 syscall; /* the call that the thread is in; negative: none, or not known */
};

/* Those of the context of a uprobe program. */
#define PROBE_REGISTERS(ctx)                                                                       \
	{                                                                                          \
		.pc = PT_REGS_IP(ctx), .sp = PT_REGS_SP(ctx), .fp = PT_REGS_FP(ctx),               \
		.link = LINK_REGISTER(ctx), .syscall = -1                                          \
	}

#if defined(__TARGET_ARCH_x86)

/* Bytes of the instruction that makes a system call: `syscall`. */
#define SYSCALL_INSN_BYTES 2
#define NR_MMAP 9
#define NR_MUNMAP 11
#define NR_MREMAP 25
#define NR_BRK 12
#define NR_RESTART_SYSCALL 219
#define NR_EXECVE 59
#define NR_EXECVEAT 322
/* Offsets in struct pt_regs, for programs that do without CO-RE. */
#define REGS_RESULT 80
#define REGS_NR 120
#define REGS_IP 128
#define REGS_MODE 136 /* cs */
#define REGS_SP 152

/* Code whose system calls have other numbers: cs is __USER32_CS, not __USER_CS (0x33). */
#define MODE_IS_32_BIT(mode) ((mode) == 0x23)
#define MODE_IS_USER(mode) (((mode)&3) == 3)

/* When a signal is delivered, the registers are still those that the call returned with. */
#define SIGNAL_FINDS_CALL_REWOUND false

/* After the `ret`, sp is past the return address that it pointed to at entry. */
#define SP_AT_RETURN(ctx) (PT_REGS_SP(ctx) - 8)

/* The return address is at [sp], where a return probe also takes it from. */
#define LINK_REGISTER(ctx) 0
#define REGISTER_RBX(regs) BPF_CORE_READ(regs, bx)
/* It stays there until the function returns, and where is known. */
#define NESTING_READS_STACK true
/* Stacks are walked by call frame information (unwind.bpf.h). */
#define WALKS_BY_CFI 1
#define UNSIGNED_ADDRESS(address) (address)
#define SIGRETURN_CODE 0 /* not asked for: stacks are walked by call frame information */
#define LINK_IS_IN_FRAME(link, frame) false
#define KERNEL_FRAMES_REPEATED 0

/*
 * The general register at that offset of struct pt_regs. One by one, as the verifier knows no other
 * offsets of the context than constants, and a copy of it (usdt_register) takes 20 ns.
 */
static __always_inline __u64 probe_register(const struct pt_regs *ctx, __u16 offset)
{
#define IF_REGISTER(name)                                                                          \
	if (offset == offsetof(struct pt_regs, name)) {                                            \
		__u64 value = ctx->name;                                                           \
                                                                                                   \
		barrier_var(value); /* else it is loaded by a chosen pointer */                    \
		return value;                                                                      \
	}
	IF_REGISTER(ax)
	IF_REGISTER(bx)
	IF_REGISTER(bp)
	IF_REGISTER(di)
	IF_REGISTER(si)
	IF_REGISTER(dx)
	IF_REGISTER(cx)
	IF_REGISTER(r8)
	IF_REGISTER(r9)
	IF_REGISTER(r10)
	IF_REGISTER(r11)
	IF_REGISTER(r12)
	IF_REGISTER(r13)
	IF_REGISTER(r14)
	IF_REGISTER(r15)
#undef IF_REGISTER
	return 0;
}

/* Does a conditional jump of that number jump? Odd ones are the opposite of those before. */
static __always_inline bool condition_holds(const struct pt_regs *ctx, __u8 condition)
{
	__u64 flags = ctx->flags;
	bool carry = flags & 1, parity = flags & 4, zero = flags & 0x40, sign = flags & 0x80,
	     overflow = flags & 0x800, holds;

	switch (condition >> 1) {
	case 0:
		holds = overflow;
		break;
	case 1:
		holds = carry;
		break;
	case 2:
		holds = zero;
		break;
	case 3:
		holds = carry || zero;
		break;
	case 4:
		holds = sign;
		break;
	case 5:
		holds = parity;
		break;
	case 6:
		holds = sign != overflow;
		break;
	default:
		holds = zero || sign != overflow;
		break;
	}
	return holds != (condition & 1);
}

static __always_inline bool link_read(__u64 link, __u64 sp, __u64 *ret)
{
	(void)link; /* the call has pushed it */
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)sp) == 0;
}

/* Those that a thread came into the kernel with, of which `room` gets all. */
static __always_inline bool read_registers_in(struct pt_regs *room, const struct pt_regs *from,
					      struct user_registers *ret)
{
	if (bpf_probe_read_kernel(room, sizeof(*room), from))
		return false;
	*ret = (struct user_registers){
		.pc = room->ip, .sp = room->sp, .fp = room->bp, .syscall = room->orig_ax
	};
	return true;
}

/*
 * The same. No inline function, like the next: programs have 512 bytes of stack with all that they
 * call, and what these have is given back.
 */
static __attribute__((noinline, unused)) bool read_user_registers(const struct pt_regs *from,
								  struct user_registers *ret)
{
	struct pt_regs regs;

	return read_registers_in(&regs, from, ret);
}

/* The number of the system call that a thread is in; negative: it is in none. */
static __always_inline __s64 syscall_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, orig_ax);
}

/* The number that the system call instruction about to be executed will ask for. */
static __always_inline __s32 next_syscall_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, ax);
}

/* Where the thread's own variables are (TLS). */
static __always_inline __u64 thread_pointer(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread.fsbase);
}

static __always_inline __u64 syscall_argument_1(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, di);
}

static __always_inline __u64 syscall_argument_4(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, r10);
}

/* That the thread's newest page fault was about (set_signal_archinfo in arch/x86/mm/fault.c). */
#define FAULT_ADDRESS(task) BPF_CORE_READ(task, thread.cr2)

/* All arguments, at the exit of a system call: it changes none of their registers. */
static __attribute__((noinline, unused)) bool syscall_arguments(const struct pt_regs *from,
								__u64 args[6])
{
	struct pt_regs regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), from))
		return false;
	args[0] = regs.di;
	args[1] = regs.si;
	args[2] = regs.dx;
	args[3] = regs.r10;
	args[4] = regs.r8;
	args[5] = regs.r9;
	return true;
}

/* Others see stores in program order, and loads are made in it. */
#define PUBLISH(word, value)                                                                       \
	do {                                                                                       \
		barrier();                                                                         \
		*(volatile typeof(*(word)) *)(word) = (value);                                     \
		barrier();                                                                         \
	} while (0)

static __always_inline void loads_in_order(void)
{
	barrier();
}

#elif defined(__TARGET_ARCH_arm64)

#define SYSCALL_INSN_BYTES 4
/* include/uapi/asm-generic/unistd.h */
#define NR_MUNMAP 215
#define NR_MREMAP 216
#define NR_BRK 214
#define NR_MMAP 222
#define NR_RESTART_SYSCALL 128
#define NR_EXECVE 221
#define NR_EXECVEAT 281
#define REGS_RESULT 0
#define REGS_FP 232
#define REGS_SP 248
#define REGS_IP 256
#define REGS_MODE 264 /* pstate */
#define REGS_NR 280

/* PSR_MODE32_BIT */
#define MODE_IS_32_BIT(mode) ((mode)&0x10)
#define MODE_IS_USER(mode) (!((mode)&0xf)) /* EL0 */

/* The registers have been wound back to the instruction already (do_signal), for any handler. */
#define SIGNAL_FINDS_CALL_REWOUND true

#define SP_AT_RETURN(ctx) PT_REGS_SP(ctx)

/*
 * A signed return address without its signature (bits 54 to 48, and 63 to 56): addresses of user
 * space have 48 bits unless a program asks for more (Documentation/arm64/memory.rst).
 */
#define UNSIGNED_ADDRESS(address) ((address) & ((1ULL << 48) - 1))
#define LINK_REGISTER(ctx) PT_REGS_RET(ctx)
/* A function that calls another puts its own somewhere in its frame, where frame records lead. */
#define NESTING_READS_STACK false
/* Rules are of x86-64's registers; no table is made of other code. */
#define WALKS_BY_CFI 0
#define SIGRETURN_CODE 0xd4000001d2801168ULL /* mov x8, #139; svc #0 */
/* A function with a frame that has called nothing has it in both places. */
#define LINK_IS_IN_FRAME(link, frame) ((link) == (frame))

/* Kernel stacks of tracepoints begin with the caller's address, and then with a frame that has it
 * once more (perf_arch_fetch_caller_regs). */
#define KERNEL_FRAMES_REPEATED 1

/* No sites are found in such code: user/probe/result_sites.h. */
static __always_inline __u64 probe_register(const struct pt_regs *ctx, __u16 offset)
{
	(void)ctx, (void)offset;
	return 0;
}

static __always_inline bool condition_holds(const struct pt_regs *ctx, __u8 condition)
{
	(void)ctx, (void)condition;
	return false;
}

/* It is in x30 when a function begins, and when it returns. */
static __always_inline bool link_read(__u64 link, __u64 sp, __u64 *ret)
{
	(void)sp; /* a call pushes nothing */
	*ret = UNSIGNED_ADDRESS(link);
	return true;
}

/* The same in all kernels from 5.10 to 7.2: what precedes orig_x0 is user space's. */
static __attribute__((noinline, unused)) bool read_user_registers(const struct pt_regs *from,
								  struct user_registers *ret)
{
	struct {
		__u64 x29, x30, sp, pc, pstate, orig_x0;
		__s32 syscallno, unused;
	} regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)from + REGS_FP))
		return false;
	*ret = (struct user_registers){
		.pc = regs.pc,
		.sp = regs.sp,
		.fp = regs.x29,
		.link = regs.x30,
		.syscall = regs.syscallno,
	};
	return true;
}

static __always_inline __s64 syscall_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, syscallno);
}

static __always_inline __s32 next_syscall_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ((const struct user_pt_regs *)regs, regs[8]);
}

static __always_inline __u64 syscall_argument_1(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, orig_x0);
}

static __always_inline __u64 syscall_argument_4(const struct pt_regs *regs)
{
	return PT_REGS_PARM4_CORE(regs);
}

/* That the thread's newest page fault was about (set_thread_esr in arch/arm64/mm/fault.c). */
#define FAULT_ADDRESS(task) BPF_CORE_READ(task, thread.fault_address)

/* The result has taken the place of the first one, which is kept beside. */
static __attribute__((noinline, unused)) bool syscall_arguments(const struct pt_regs *from,
								__u64 args[6])
{
	if (bpf_probe_read_kernel(args, 6 * sizeof(args[0]), from))
		return false;
	args[0] = BPF_CORE_READ(from, orig_x0);
	return true;
}

#ifndef OLD_KERNEL
/*
 * Stores and loads overtake each other; atomic operations that give a value keep them in order
 * (Documentation/atomic_t.txt). The build for old kernels has none, and no table that needs them.
 */
#define PUBLISH(word, value) (void)__sync_lock_test_and_set(word, value)

static __always_inline void loads_in_order(void)
{
	__u64 word = 0;

	(void)__sync_val_compare_and_swap(&word, 0, 1);
}
#else
#define PUBLISH(word, value)                                                                       \
	do {                                                                                       \
		*(volatile typeof(*(word)) *)(word) = (value);                                     \
	} while (0)

/* There is nothing stronger before Linux 5.12: a CPU may make the loads in the other order. */
static __always_inline void loads_in_order(void)
{
	barrier();
}
#endif

#else
#error "an architecture that is not known"
#endif

/*
 * Is the thread still in the execve or execveat that has begun its image? The registers of these
 * two calls' arguments are 0 then (ELF_PLAT_INIT in arch/x86/include/asm/elf.h,
 * start_thread_common() in arch/arm64/include/asm/processor.h). Before, the one has a path in the
 * first, the other in the second.
 */
static __always_inline bool image_is_at_entry(const struct pt_regs *regs)
{
	__s64 number = syscall_number(regs);

	return (number == NR_EXECVE || number == NR_EXECVEAT) && !PT_REGS_PARM1_CORE(regs) &&
	       !PT_REGS_PARM2_CORE(regs);
}

#endif
