/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel cannot do as the newest can, for who reads a report made on it. Totals are exact
 * all the same: most of it is a matter of cost.
 */
#ifndef MEMTRACED_TRACE_KERNEL_LIMITS_H
#define MEMTRACED_TRACE_KERNEL_LIMITS_H

#include "base/strbuf.h"

#include <stdbool.h>

struct features;

/*
 * Adds words, "; " between them; nothing where nothing is lacking. `features`: NULL when no probes
 * are needed; `kernel_frames`: these are asked for; `release`: uname -r; `syscalls_preempted`: as
 * in struct programs.
 */
void kernel_limits(const struct features *features, bool kernel_frames, const char *release,
		   bool syscalls_preempted, struct strbuf *out);

#endif
