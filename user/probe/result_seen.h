/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a probe at an instruction of an allocator function sees of a call: where its size, the
 * caller's frame pointer and its stack stand there, by the values that are known (value_flow.h).
 * For result_sites.c. No state.
 */
#ifndef MEMTRACED_PROBE_RESULT_SEEN_H
#define MEMTRACED_PROBE_RESULT_SEEN_H

#include "bpf/abi_result.h"
#include "probe/value_flow.h"

struct allocator_function;

/* Where a value stands; ABI_USDT_NONE: nowhere. */
struct abi_usdt_arg result_place(const struct flow_state *state, value v);

/* What the function was asked for; VALUE_UNKNOWN: that is not told by arguments in registers. */
value result_size_value(const struct allocator_function *function);

/* Fills all but the kind and the result. The stack pointer is known there. */
void result_see(const struct value_flow *flow, const struct allocator_function *function,
		uint16_t node, struct abi_result_site *ret_see);

/* The argument that a call there would have the value in; 0: none. */
uint16_t result_argument_with(const struct flow_state *state, value v);

/* As struct allocator_function has it, of a call there that is told the same size; 0: none is. */
uint16_t result_arguments(const struct flow_state *state,
			  const struct allocator_function *function);

#endif
