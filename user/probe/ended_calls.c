/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/ended_calls.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "probe/sites.h"

struct ended_call {
	uint16_t call, behind;
};

struct ended_calls {
	VEC(struct ended_call) list;
};

static bool is_reached(const struct value_flow *flow, uint16_t node)
{
	return flow->in[node].at[INSN_RSP] != VALUE_UNKNOWN;
}

/* Ways with different stack pointers meet there. */
static bool has_conflict(const struct value_flow *flow, uint16_t node)
{
	return is_reached(flow, node) && value_flow_sp_distance(&flow->in[node]) < 0;
}

/* The stack pointer of all ways to the node but one, as a distance; negative: they differ. */
static int32_t distance_of_others(const struct value_flow *flow, uint16_t node, uint16_t but)
{
	int32_t found = -1;

	for (size_t i = 0; i < flow->graph->n; i++) {
		const struct code_node *n = &flow->graph->nodes[i];
		int32_t distance = value_flow_sp_distance(&flow->out[i]);

		if (i == but || !is_reached(flow, i) || (n->next != node && n->target != node))
			continue;
		if (distance < 0 || (found >= 0 && found != distance))
			return -1;
		found = distance;
	}
	return found;
}

/* The code behind it where ways with different stack pointers meet; GRAPH_NONE: they do not. */
static uint16_t conflict_behind(const struct value_flow *flow, uint16_t call, uint16_t *ret_from)
{
	const struct code_node *nodes = flow->graph->nodes;
	uint16_t at = nodes[call].next;

	*ret_from = call;
	while (at != GRAPH_NONE && nodes[at].is_nop && !has_conflict(flow, at)) {
		*ret_from = at;
		at = nodes[at].next;
	}
	return at != GRAPH_NONE && has_conflict(flow, at) ? at : GRAPH_NONE;
}

/* Its own stack pointer may be unknown for no other reason than that it goes on there. */
static int end_call(struct code_graph *graph, const struct value_flow *flow, uint16_t call,
		    struct ended_calls *ended)
{
	uint16_t from, at = conflict_behind(flow, call, &from);
	int32_t own, others;

	if (at == GRAPH_NONE)
		return 0;
	own = value_flow_sp_distance(&flow->out[from]);
	others = distance_of_others(flow, at, from);
	if (others < 0 || own == others)
		return 0;
	code_graph_end_call(graph, call);
	return vec_push(&ended->list, ((struct ended_call){ call, at }));
}

static int end_calls(struct code_graph *graph, const struct value_flow *flow,
		     struct ended_calls *ended)
{
	int r = 0;

	for (size_t i = 0; i < graph->n && r == 0; i++)
		if (graph->nodes[i].flow == INSN_CALL && is_reached(flow, i))
			r = end_call(graph, flow, (uint16_t)i, ended);
	return r;
}

/* Now that none goes on: has each another stack pointer than the code behind it? */
static bool are_right(const struct value_flow *flow, const struct ended_calls *ended)
{
	vec_foreach(&ended->list, e) {
		int32_t own = value_flow_sp_distance(&flow->out[e->call]);
		int32_t behind = value_flow_sp_distance(&flow->in[e->behind]);

		if (own < 0 || behind < 0 || own == behind)
			return false;
	}
	return true;
}

static void ended_calls_done(struct ended_calls *ended)
{
	vec_done(&ended->list);
}

int ended_calls_find(struct code_graph *graph, uint32_t *steps_left, struct value_flow *ret_flow)
{
	_cleanup_(ended_calls_done) struct ended_calls ended = { 0 };
	int r = value_flow_new(graph, steps_left, ret_flow);
	size_t before;

	while (r == 0 && !ret_flow->why_not) {
		before = ended.list.len;
		r = end_calls(graph, ret_flow, &ended);
		if (r < 0 || ended.list.len == before)
			break;
		value_flow_done(ret_flow);
		r = value_flow_new(graph, steps_left, ret_flow);
	}
	if (r == 0 && !ret_flow->why_not && !are_right(ret_flow, &ended))
		ret_flow->why_not = why_stack;
	return r;
}
