/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What result_sites.h finds. */
#ifndef MEMTRACED_PROBE_RESULT_TYPES_H
#define MEMTRACED_PROBE_RESULT_TYPES_H

#include "base/vec.h"
#include "bpf/abi_result.h"

#include <stdbool.h>
#include <stdint.h>

struct result_site {
	uint64_t addr;
	/*
	 * ABI_RESULT_LEAVES: it jumps to other code, with sp and fp as at the entry, and `args`
	 * says which argument the size is there: what stands at entry and return, or exits, can
	 * stand there. 0: the call has begun before.
	 */
	struct abi_result_site see;
	uint16_t args; /* as of struct allocator_function */
	bool is_rare;  /* single-stepped: the result is NULL, or it jumps by a pointer */
};

struct result_sites {
	VEC(struct result_site) list; /* by address; empty: nothing is proven, or nothing gained */
	/* Of a function that can throw: each `ret` of the code that it leaves for. */
	VEC(uint64_t) exits;
	const char *why_none; /* static; NULL: there are sites */
};

#endif
