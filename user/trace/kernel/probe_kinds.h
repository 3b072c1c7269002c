/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kinds of instructions that a kernel may emulate under a uprobe, as tiny functions to try it
 * on: a table for each machine, of which this build has its own.
 */
#ifndef MEMTRACED_TRACE_KERNEL_PROBE_KINDS_H
#define MEMTRACED_TRACE_KERNEL_PROBE_KINDS_H

#include "probe/insn_types.h"

#include <stdbool.h>
#include <stddef.h>

struct probe_kind {
	const char *name;
	unsigned char code[16];
	unsigned char site; /* where in the code the instruction is */
	bool everywhere;    /* emulated by every kernel from 5.10 on */
	int member;	    /* offset in struct plan_emulation; -1: of the first one */
};

/* The first two: one that no kernel emulates, and one that each does. */
enum { PROBE_KIND_STEPPED, PROBE_KIND_EMULATED };

const struct probe_kind *probe_kinds(size_t *ret_n);

/* Whether a kernel emulates instructions of that kind, not the first. */
static inline bool *probe_kind_member(const struct probe_kind *kind,
				      struct plan_emulation *emulation)
{
	return (bool *)((char *)emulation + kind->member);
}

#endif
