/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a probed allocator function was asked for.
 */
#ifndef MEMTRACED_ARGUMENTS_BPF_H
#define MEMTRACED_ARGUMENTS_BPF_H

#include "registers.bpf.h"

/*
 * Integer arguments 1 to 5. Each is loaded at a fixed offset before the choice: the verifier
 * refuses a context pointer with a chosen one.
 */
static __always_inline __u64 argument(const struct pt_regs *regs, __u32 n)
{
	__u64 a1 = PT_REGS_PARM1(regs), a2 = PT_REGS_PARM2(regs), a3 = PT_REGS_PARM3(regs),
	      a4 = PT_REGS_PARM4(regs), a5 = PT_REGS_PARM5(regs);

	barrier_var(a1);
	barrier_var(a2);
	barrier_var(a3);
	barrier_var(a4);
	barrier_var(a5);
	return n == 1 ? a1 : n == 2 ? a2 : n == 3 ? a3 : n == 4 ? a4 : a5;
}

/* The block that is freed or resized; or where a new one is to be put. */
static __always_inline __u64 block_argument(const struct pt_regs *regs, __u16 args)
{
	return args >> 8 ? argument(regs, args >> 8) : PT_REGS_PARM1(regs);
}

/* Words that a free's frame has where it is probed: of its cookie. */
static __always_inline __u32 words_below_entry(__u64 cookie)
{
	bool is_free = (ABI_COOKIE_KIND(cookie) & ABI_KIND_MASK) == ABI_FREE;

	return is_free ? ABI_FRAME_WORDS(ABI_COOKIE_ARGS(cookie)) : 0;
}

static __always_inline __u64 entry_sp(const struct pt_regs *regs, __u64 cookie)
{
	__u64 sp = PT_REGS_SP(regs);

	barrier_var(sp); /* else it is loaded by a chosen pointer, see argument() */
	return sp + 8 * words_below_entry(cookie);
}

/* Is the size a product, of which the sign says nothing? One that is too large is ~0. */
static __always_inline bool size_is_product(const struct pt_regs *regs, __u16 args)
{
	return (args >> 4 & 0xf) && argument(regs, args & 0xf) != 1 &&
	       argument(regs, args >> 4 & 0xf) != 1;
}

/* calloc and reallocarray fail at ~0; a wrapped product might look like a request for 0. */
static __always_inline __u64 size_product(__u64 size, __u64 factor)
{
	__u64 limit = factor ? ~0ULL / factor : ~0ULL;

	barrier_var(limit); /* else clang makes it a 128-bit product, which BPF has not */
	return size > limit ? ~0ULL : size * factor;
}

static __always_inline __u64 requested_size(const struct pt_regs *regs, __u16 args)
{
	__u64 size = argument(regs, args & 0xf);

	return args >> 4 & 0xf ? size_product(size, argument(regs, args >> 4 & 0xf)) : size;
}

#endif
