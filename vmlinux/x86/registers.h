/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of x86-64, for vmlinux.h, what a page fault leaves, and where TLS is. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct thread_struct {
	unsigned long fsbase, cr2;
};
