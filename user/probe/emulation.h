/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which instructions a kernel emulates under a uprobe: a probe on any other is single-stepped, at
 * some ten times the cost. trace/features measures it, the plan chooses probe sites by it.
 */
#ifndef MEMTRACED_PROBE_EMULATION_H
#define MEMTRACED_PROBE_EMULATION_H

#include <stdbool.h>

struct plan_emulation {
	bool push, nop1, nopl, endbr, jmp, jcc, call, ret, sub_sp, mov, adr;
};

#endif
