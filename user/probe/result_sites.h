/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places inside an allocator function at which one probe sees a whole call: what it was asked for
 * and what it returns. A proof over the function's code: each way from its entry to a return
 * passes one such place, where the kernel emulates the instruction, or one at which the call
 * begins and one at which it ends. What calls other code in which something may be counted lies
 * between two of these, so that what happens inside is known to be inside (callee_facts.h). The
 * code of a function that is told the size and makes the block is walked as a part of this one;
 * a place in it counts when that returns to this one. A way may leave for another function, which
 * returns for this one. Where anything cannot be proven there are no sites.
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

#include "probe/result_types.h"

#include <stdint.h>

struct allocator_function;
struct callee_facts;
struct sites;

void result_sites_done(struct result_sites *sites);

/* Why none are looked for, as nothing was proven of such a function so far; NULL: they are. */
const char *result_sites_why_not(const struct allocator_function *function);

/*
 * Of the function at `entry`, which returns a block and has the sites `walked`. *steps_left bounds
 * the work for all functions of a file. 0 or -ENOMEM; `ret_sites` is for result_sites_done() on
 * success.
 */
int result_sites_find(struct callee_facts *callees, const struct allocator_function *function,
		      uint64_t entry, const struct sites *walked, uint32_t *steps_left,
		      struct result_sites *ret_sites);

#endif
