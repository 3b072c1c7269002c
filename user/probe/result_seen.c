/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/result_seen.h"

#include "bpf/abi.h"
#include "probe/allocators.h"

/* Of each register, by its number, in struct pt_regs (arch/x86/include/asm/ptrace.h). */
static uint16_t pt_regs_offset(uint16_t reg)
{
	static const uint16_t offsets[INSN_REGS] = { 80, 88, 96, 40, 152, 32, 104, 112,
						     72, 64, 56, 48, 24,  16, 8,   0 };

	return offsets[reg];
}

struct abi_usdt_arg result_place(const struct flow_state *state, value v)
{
	struct abi_usdt_arg arg = { .bytes = 8, .index = ABI_USDT_NO_INDEX };
	int32_t sp = value_flow_sp_distance(state);

	if (v == VALUE_NULL)
		arg.place = ABI_USDT_CONSTANT;
	for (uint16_t i = 0; i < INSN_REGS && !arg.place; i++) {
		if (state->at[i] != v)
			continue;
		arg.place = ABI_USDT_REGISTER;
		arg.reg = pt_regs_offset(i);
	}
	for (unsigned i = FLOW_SLOTS; i < FLOW_PLACES && !arg.place; i++) {
		if (state->at[i] != v || value_flow_slot_distance(i) > sp)
			continue;
		arg.place = ABI_USDT_MEMORY;
		arg.reg = pt_regs_offset(INSN_RSP);
		arg.value = sp - value_flow_slot_distance(i);
	}
	return arg;
}

static value argument_value(unsigned n)
{
	return VALUE_ENTRY + insn_argument_register(n);
}

static unsigned size_argument(const struct allocator_function *function)
{
	return function->args & 0xf;
}

static unsigned factor_argument(const struct allocator_function *function)
{
	return function->args >> 4;
}

value result_size_value(const struct allocator_function *function)
{
	unsigned size = size_argument(function), factor = factor_argument(function);

	if (size == 0 || size > INSN_ARGUMENTS || factor > INSN_ARGUMENTS)
		return VALUE_UNKNOWN;
	return factor ?
		       value_product(insn_argument_register(size), insn_argument_register(factor)) :
		       argument_value(size);
}

/* Of a product both numbers, if they are there still: it may be too large. */
static void set_size(const struct allocator_function *function, const struct flow_state *state,
		     struct abi_result_site *see)
{
	struct abi_usdt_arg size, factor = { .bytes = 8, .index = ABI_USDT_NO_INDEX };

	see->size = result_place(state, result_size_value(function));
	see->factor = factor;
	see->is_product = factor_argument(function) != 0;
	if (!see->is_product)
		return;
	size = result_place(state, argument_value(size_argument(function)));
	factor = result_place(state, argument_value(factor_argument(function)));
	if (size.place == ABI_USDT_NONE || factor.place == ABI_USDT_NONE)
		return;
	see->size = size;
	see->factor = factor;
}

/* Where the inlined function that the node is in returns to. */
static void set_link(const struct value_flow *flow, const struct code_node *node,
		     struct abi_result_site *see)
{
	const struct graph_frame *frame;

	if (!node->frame)
		return;
	frame = &flow->graph->frames[node->frame - 1];
	see->link = (int32_t)(frame->link - node->addr);
	see->link_at = see->sp_distance - (uint32_t)value_flow_sp_distance(&flow->in[frame->entry]);
}

void result_see(const struct value_flow *flow, const struct allocator_function *function,
		uint16_t node, struct abi_result_site *ret_see)
{
	const struct flow_state *state = &flow->in[node];

	*ret_see = (struct abi_result_site){
		.fp = result_place(state, VALUE_ENTRY + INSN_RBP),
		.sp_distance = (uint32_t)value_flow_sp_distance(state),
		.condition = ABI_RESULT_ALWAYS,
	};
	set_size(function, state, ret_see);
	set_link(flow, &flow->graph->nodes[node], ret_see);
}

uint16_t result_argument_with(const struct flow_state *state, value v)
{
	for (uint16_t i = 1; i <= INSN_ARGUMENTS; i++)
		if (state->at[insn_argument_register(i)] == v)
			return i;
	return 0;
}

uint16_t result_arguments(const struct flow_state *state, const struct allocator_function *function)
{
	uint16_t size = result_argument_with(state, argument_value(size_argument(function))),
		 factor;

	if (!factor_argument(function))
		return ABI_SIZE_ARG(size);
	factor = result_argument_with(state, argument_value(factor_argument(function)));
	return size && factor ? (uint16_t)ABI_SIZE_PRODUCT(size, factor) : 0;
}
