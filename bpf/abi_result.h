/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes inside an allocator function that see what a call was asked for, what it returns, or both
 * (user/probe/result_sites.h): where these are when a thread is there.
 */
#ifndef MEMTRACED_BPF_ABI_RESULT_H
#define MEMTRACED_BPF_ABI_RESULT_H

#include "abi_sample.h"

enum abi_result_kind {
	ABI_RESULT_BEGINS, /* the result is not known yet */
	ABI_RESULT_ENDS,   /* a probe of the same call has seen the size */
	ABI_RESULT_WHOLE,  /* the size and the result are there */
	ABI_RESULT_LEAVES, /* another function returns for it: only while probes are compared */
};

/* Conditions of x86-64's jumps, 0 to 15: the probe counts when it holds. */
#define ABI_RESULT_ALWAYS 0xff

/* Of a probe, by ABI_COOKIE_ARGS. */
struct abi_result_site {
	/* Each a constant, a register, or at a distance from sp. */
	struct abi_usdt_arg size, result;
	struct abi_usdt_arg factor; /* of a product, whose other one is `size`; or none */
	struct abi_usdt_arg fp;	    /* the frame pointer that the caller had */
	__u32 sp_distance;	    /* from sp there to sp at the function's entry */
	__u8 kind;		    /* enum abi_result_kind */
	__u8 condition;
	__u8 is_product; /* the size is one */
	__u8 pad;
	/* In what the function calls: where that returns to, from the probe on; 0: in itself. */
	__s32 link;
	__u32 link_at; /* from sp there */
};
#define ABI_RESULT_SITES (1 << 12)

#endif
