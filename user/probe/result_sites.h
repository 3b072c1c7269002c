/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places inside an allocator function at which one probe sees a whole call: what it was asked for
 * and what it returns. A proof over the function's code: each way from its entry to a return
 * passes one such place, where the kernel emulates the instruction, or one at which the call
 * begins and one at which it ends. What calls other code lies between two of these, so that what
 * happens inside is known to be inside. A way may leave for another function, which returns for
 * this one. Where anything cannot be proven there are no sites.
 *
 * The exits of a function that can throw are probed on its `ret`, which is single-stepped. So its
 * calls may begin at its entry and end at sites, too, in two traps that are both emulated.
 *
 * The proof trusts what compilers keep to: a callee restores the registers that are its caller's,
 * nothing writes to another's spilled registers, padding follows no call that returns.
 *
 * For the plan alone; x86-64 alone. No state, bounded in time and memory.
 */
#ifndef MEMTRACED_PROBE_RESULT_SITES_H
#define MEMTRACED_PROBE_RESULT_SITES_H

#include "base/vec.h"
#include "bpf/abi_result.h"

#include <stdbool.h>
#include <stdint.h>

struct allocator_function;
struct insn_decoder;
struct plan_emulation;
struct sites;
struct sites_code;

struct result_site {
	uint64_t addr;
	/*
	 * ABI_RESULT_LEAVES: it jumps to other code, with sp and fp as at the entry, and `args`
	 * says which argument the size is there: what stands at entry and return, or exits, can
	 * stand there. 0: the call has begun before.
	 */
	struct abi_result_site see;
	uint16_t args;
	bool is_rare; /* single-stepped: the result is NULL, or it jumps by a pointer */
};

struct result_sites {
	VEC(struct result_site) list; /* ascending; empty: nothing is proven, or nothing gained */
	/* Of a function that can throw: each `ret` of the code that it leaves for. */
	VEC(uint64_t) exits;
	const char *why_none; /* static; NULL: there are sites */
};

void result_sites_done(struct result_sites *sites);

/*
 * Of the function at `entry`, which returns a block and has the sites `walked`. *steps_left bounds
 * the work for all functions of a file. 0 or -ENOMEM; `ret_sites` is for result_sites_done() on
 * success.
 */
int result_sites_find(struct insn_decoder *decoder, const struct sites_code *code,
		      const struct allocator_function *function, uint64_t entry,
		      const struct sites *walked, const struct plan_emulation *emulation,
		      uint32_t *steps_left, struct result_sites *ret_sites);

#endif
