/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of a USDT probe, from where its note says that they are (abi_sample.h).
 */
#ifndef MEMTRACED_USDT_BPF_H
#define MEMTRACED_USDT_BPF_H

#include "abi_sample.h"

#include <bpf/bpf_helpers.h>

/* The context is read as memory: the verifier knows no offset of it that is not constant. */
static __always_inline __u64 usdt_register(const struct pt_regs *ctx, __u16 reg)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + (reg & ABI_USDT_REGS_MASK));
	return value;
}

/* False: there is none, or its memory cannot be read. */
static __always_inline bool usdt_argument(const struct pt_regs *ctx, const struct abi_usdt_arg *arg,
					  __u64 *ret)
{
	__u32 unused = 64 - (arg->bytes & 15) * 8;
	__u64 value = arg->value, address;

	if (arg->place == ABI_USDT_NONE)
		return false;
	if (arg->place == ABI_USDT_REGISTER)
		value = usdt_register(ctx, arg->reg);
	if (arg->place == ABI_USDT_MEMORY) {
		value += usdt_register(ctx, arg->reg);
		if (arg->index != ABI_USDT_NO_INDEX)
			value += usdt_register(ctx, arg->index) << (arg->shift & 3);
		/* Eight bytes, of which those behind the argument fall away on little endian. */
		address = value;
		if (bpf_probe_read_user(&value, sizeof(value), (void *)address)) {
			/* Behind a variable nothing may be mapped: the eight that end with it. */
			address -= unused >> 3;
			if (bpf_probe_read_user(&value, sizeof(value), (void *)address))
				return false;
			value >>= unused & 63;
		}
	}
	value <<= unused & 63;
	*ret = arg->is_signed ? (__u64)((__s64)value >> (unused & 63)) : value >> (unused & 63);
	return true;
}

#endif
