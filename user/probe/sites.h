/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where one function is probed: a control flow walk over its machine code, from its entry through
 * all jumps, stepping over calls. Used by the plan; knows code only through struct sites_code, so
 * that it can be tested on a few bytes. No state, bounded in time and memory.
 */
#ifndef MEMTRACED_PROBE_SITES_H
#define MEMTRACED_PROBE_SITES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocator_function;
struct insn_decoder;
struct plan_emulation;

/* The code around the function; all addresses are the object's own virtual ones. */
struct sites_code {
	void *ctx;
	/* Copies up to `len` bytes of executable code; how many. 0: there is none at `addr`. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* The imported function that the pointer at `slot` is bound to, or NULL. */
	const char *(*slot_name)(void *ctx, uint64_t slot);
	/*
	 * The name of the function that starts at `addr`, or NULL; of several names, one that
	 * the allocator table or sites_is_noreturn() knows.
	 */
	const char *(*function_name)(void *ctx, uint64_t addr);
	/* Whether a function, or a split-off part of one, is known to start at `addr`. */
	bool (*starts_function)(void *ctx, uint64_t addr);
	/* Where an exception thrown by the call at `addr` goes on in its function; 0: it leaves. */
	uint64_t (*landing_pad)(void *ctx, uint64_t addr);
	/* Where the code itself defines the function of that name, or 0. NULL: nowhere. */
	uint64_t (*definition)(void *ctx, const char *name);
	/* How many instructions may still be looked at, for all functions. NULL: no matter. */
	uint32_t *insns_left;
};

/* Whether the function gets its work done by another function of the table. */
enum sites_forwards {
	SITES_FORWARDS_NEVER,
	SITES_FORWARDS_SOMETIMES, /* on some of its ways */
	SITES_FORWARDS_ALWAYS,	  /* there is no way to return without */
};

struct sites {
	uint64_t entry_site;
	bool entry_emulated;
	uint8_t block_argument;	  /* of a free: by then the block is in this one; 0: where it was */
	uint8_t frame_words;	  /* of a free: how far sp is below its place at the entry */
	const char *why_no_entry; /* static; NULL: there is an entry site */
	VEC(uint64_t) exits;	  /* ascending; complete only where why_no_exits is NULL */
	const char *why_no_exits; /* static */
	enum sites_forwards forwards;
	bool by_operator; /* forwards to an operator of C++ */
	bool only_jumps;  /* on to other functions, which have its arguments as they are */
};

void sites_done(struct sites *sites);

/* Whether a call of the function of that name does not come back. */
bool sites_is_noreturn(const char *name);

/*
 * Walks the function at `entry`, a `function` of the allocator table. 0 or -ENOMEM; `ret_sites`
 * is for sites_done() on success.
 */
int sites_find(struct insn_decoder *decoder, const struct sites_code *code,
	       const struct allocator_function *function, uint64_t entry,
	       const struct plan_emulation *emulation, struct sites *ret_sites);

/*
 * Why a function of an object is not probed, or not at its returns, in the words of reports. A
 * table, so that who plans in another process can say it by number.
 */

extern const char why_ifunc[], why_no_code[], why_forwards[], why_indirect[], why_leaves[];
extern const char why_unreadable[], why_refused[], why_large[], why_arguments[];
extern const char why_variable[];
extern const char why_landing_pad[], why_effect[], why_stack[], why_no_site[], why_call[];
extern const char why_no_gain[], why_size[], why_aligned[], why_replaces[], why_not_returned[];

/* From 1 on; 0 for NULL. `why` is one of those above. */
uint8_t plan_why_number(const char *why);
/* NULL for 0, and for what is no such number. */
const char *plan_why(uint8_t number);

#endif
