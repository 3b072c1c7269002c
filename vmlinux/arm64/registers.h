/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of arm64, for vmlinux.h: struct pt_regs begins with a struct user_pt_regs. */
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};

struct pt_regs {
	__u64 orig_x0;
	__s32 syscallno;
};

/* What a page fault leaves. */
struct thread_struct {
	unsigned long fault_address;
};
