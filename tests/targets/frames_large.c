/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for frames.c with so much code that memtraced keeps the unwind rows of return addresses
 * only, and a function that is interrupted where there is none.
 */
#ifdef __x86_64__
__asm__(".text\n"
	".globl trapped\n"
	".type trapped, @function\n"
	"trapped:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"sub $4096, %rsp\n"
	".cfi_adjust_cfa_offset 4096\n"
	"ud2\n"
	"add $4096, %rsp\n"
	".cfi_adjust_cfa_offset -4096\n"
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size trapped, . - trapped\n"
	".fill 5 << 20, 1, 0x90\n");
#else
void trapped(void);
void trapped(void)
{
}
#endif
