/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel cannot do as the newest can, for who reads a report made on it. Most of it is a
 * matter of cost, and totals are exact all the same. Where calls may be taken for another's, those
 * for which nothing has proven it are a loss (nesting-guessed).
 */
#ifndef MEMTRACED_TRACE_KERNEL_KERNEL_LIMITS_H
#define MEMTRACED_TRACE_KERNEL_KERNEL_LIMITS_H

#include "base/strbuf.h"

#include <stdbool.h>

struct features;

struct kernel_found {
	const struct features *features; /* NULL: no probes are needed */
	const char *release;		 /* uname -r */
	bool kernel_frames;		 /* these are asked for */
	bool syscalls_preempted;	 /* as in struct programs */
	bool unwind_refused;		 /* the programs were, with the unwinder in them */
	bool deaths_unseen;		 /* as in struct programs */
};

/* Adds words, "; " between them; nothing where nothing is lacking. */
void kernel_limits(const struct kernel_found *found, struct strbuf *out);

#endif
