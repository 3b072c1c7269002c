/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which allocator function a call instruction calls: its target, through linkage stub and pointer
 * to the symbol, and through functions that end in a jump. libstdc++'s operators jump to each other
 * and to free, so that the one which the program called has no frame. Knows code only through
 * struct callee_code. No state, bounded in time.
 */
#ifndef MEMTRACED_PROBE_CALLEE_H
#define MEMTRACED_PROBE_CALLEE_H

#include <stddef.h>
#include <stdint.h>

struct allocator_function;
struct insn_decoder;

/* The code around the call; all addresses are the object's own virtual ones. */
struct callee_code {
	void *ctx;
	/* Copies up to `len` bytes of executable code; how many. 0: there is none at `addr`. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* The imported symbol that the pointer at `slot` is bound to, or NULL. */
	const char *(*slot_name)(void *ctx, uint64_t slot);
	/* The function that starts at `addr`, and its end; NULL: none is known to. */
	const char *(*function)(void *ctx, uint64_t addr, uint64_t *ret_end);
};

/*
 * The function that the call before `return_addr` ends up in, by the name that it is called by;
 * NULL: none of the table, or it cannot be told.
 */
const struct allocator_function *callee_find(struct insn_decoder *decoder,
					     const struct callee_code *code, uint64_t return_addr);

#endif
