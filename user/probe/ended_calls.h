/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that do not return, by the stack: code behind such a call that is reached by jumps has the
 * stack pointer of those, and another one than the call would leave. For proofs (result_sites.h).
 */
#ifndef MEMTRACED_PROBE_ENDED_CALLS_H
#define MEMTRACED_PROBE_ENDED_CALLS_H

#include "probe/value_flow.h"

/* Ends such calls in the graph, and is as value_flow_new() of what is left. */
int ended_calls_find(struct code_graph *graph, uint32_t *steps_left, struct value_flow *ret_flow);

#endif
