/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/value_flow.h"

#include "probe/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a callee restores: rbx, rbp, r12 to r15; and what it may change, but for rsp. */
#define CALLEE_SAVED (1U << INSN_RBX | 1U << INSN_RBP | 0xf000U)
#define CALLER_SAVED (0xffffU & ~CALLEE_SAVED & ~(1U << INSN_RSP))

struct transfer {
	struct value_flow *flow;
	uint16_t node;
	struct flow_state state;
	bool escapes;
};

static value made_at(const struct transfer *t, unsigned place)
{
	return VALUE_MADE | (value)t->node << 6 | place;
}

static value met_at(uint16_t node, unsigned place)
{
	return VALUE_MET | (value)node << 6 | place;
}

static void forget_place(struct transfer *t, unsigned place)
{
	t->state.at[place] = made_at(t, place);
}

static bool is_address(value v)
{
	return (v & VALUE_KIND) == VALUE_SP;
}

static int32_t address_of(value v)
{
	return (int32_t)(v & ~VALUE_KIND) - VALUE_SP_BIAS;
}

static bool is_of_entry(value v)
{
	return v >= VALUE_ENTRY && v < VALUE_ENTRY + INSN_REGS;
}

/* Has the slot a register of the function's caller; or, in inlined code, of the function? */
static bool has_saved_register(const struct transfer *t, unsigned slot)
{
	const struct code_graph *graph = t->flow->graph;
	unsigned frame = graph->nodes[t->node].frame;
	const struct flow_state *entry;
	value v = t->state.at[slot];

	if (is_of_entry(v) && (CALLEE_SAVED >> (v - VALUE_ENTRY) & 1))
		return true;
	if (!frame || is_address(v))
		return false;
	entry = &t->flow->in[graph->frames[frame - 1].entry];
	/* What the function has beside may be its variable. */
	if (value_flow_slot_distance(slot) <= value_flow_sp_distance(entry))
		return false;
	for (unsigned i = 0; i < INSN_REGS; i++)
		if ((CALLEE_SAVED >> i & 1) && entry->at[i] == v)
			return true;
	return false;
}

int32_t value_flow_sp_distance(const struct flow_state *state)
{
	value sp = state->at[INSN_RSP];

	return is_address(sp) && address_of(sp) <= 0 ? -address_of(sp) : -1;
}

/* The slot that is all of the 8 bytes at this distance from sp at the entry; 0: none is. */
static unsigned slot_of(int32_t address)
{
	if (address >= 0 || address % 8 || -address / 8 > FLOW_N_SLOTS)
		return 0;
	return FLOW_SLOTS + (unsigned)(-address / 8) - 1;
}

static void forget_below_sp(struct transfer *t)
{
	value sp = t->state.at[INSN_RSP];

	for (unsigned i = 0; i < FLOW_N_SLOTS; i++)
		if (!is_address(sp) || -8 * (int32_t)(i + 1) < address_of(sp))
			forget_place(t, FLOW_SLOTS + i);
}

/* Whatever a pointer may lead to has been written to: not where a register was saved. */
static void forget_variables(struct transfer *t)
{
	for (unsigned i = FLOW_SLOTS; i < FLOW_PLACES; i++)
		if (!has_saved_register(t, i))
			forget_place(t, i);
}

static void forget_bytes(struct transfer *t, int32_t address, unsigned bytes)
{
	for (unsigned i = 0; i < FLOW_N_SLOTS; i++) {
		int32_t slot = -8 * (int32_t)(i + 1);

		if (slot < address + (int32_t)bytes && address < slot + 8)
			forget_place(t, FLOW_SLOTS + i);
	}
}

/* Something is written to memory that is no value which is followed. */
static void write_memory(struct transfer *t, const struct insn_effect *e)
{
	value base;

	if (e->memory == MEMORY_NONE || e->memory == MEMORY_FIXED)
		return;
	base = t->state.at[e->base];
	if (is_address(base) && e->memory == MEMORY_BASED && e->bytes &&
	    e->value == (int16_t)e->value) {
		forget_bytes(t, address_of(base) + (int32_t)e->value, e->bytes);
	} else if (is_address(base)) {
		for (unsigned i = FLOW_SLOTS; i < FLOW_PLACES; i++)
			forget_place(t, i);
	} else if (t->flow->stack_escapes) {
		forget_variables(t);
	}
}

/* The slot that the instruction's memory is; 0: it is none. */
static unsigned memory_slot(const struct transfer *t, const struct insn_effect *e)
{
	value base;

	if (e->memory != MEMORY_BASED || e->bytes != 8 || e->value != (int16_t)e->value)
		return 0;
	base = t->state.at[e->base];
	return is_address(base) ? slot_of(address_of(base) + (int32_t)e->value) : 0;
}

static void note_escape(struct transfer *t, value v)
{
	t->escapes |= is_address(v);
}

static void transfer_store(struct transfer *t, const struct insn_effect *e)
{
	unsigned slot = memory_slot(t, e);
	value v = t->state.at[e->from];

	note_escape(t, v);
	write_memory(t, e);
	if (slot && !is_address(v) &&
	    value_flow_slot_distance(slot) <= value_flow_sp_distance(&t->state))
		t->state.at[slot] = v;
}

static void transfer_load(struct transfer *t, const struct insn_effect *e)
{
	unsigned slot = memory_slot(t, e);

	if (slot)
		t->state.at[e->to] = t->state.at[slot];
	else
		forget_place(t, e->to);
}

static void transfer_add(struct transfer *t, const struct insn_effect *e)
{
	value from = t->state.at[e->from];
	int64_t sum = e->value;

	if (is_address(from) && sum == (int16_t)sum) {
		sum += address_of(from);
		if (sum == (int16_t)sum)
			t->state.at[e->to] = VALUE_SP | (value)(sum + VALUE_SP_BIAS);
		else
			forget_place(t, e->to);
	} else if (sum != 0 || is_address(from)) {
		forget_place(t, e->to);
	} else {
		t->state.at[e->to] = from;
	}
	if (e->to == INSN_RSP)
		forget_below_sp(t);
}

static void move_sp(struct transfer *t, int32_t by)
{
	const struct insn_effect step = { .to = INSN_RSP, .from = INSN_RSP, .value = by };

	transfer_add(t, &step);
}

static void transfer_push(struct transfer *t, const struct insn_effect *e)
{
	value v = e->from == INSN_NO_REG ? VALUE_UNKNOWN : t->state.at[e->from];
	unsigned slot;

	note_escape(t, v);
	move_sp(t, -8);
	if (!is_address(t->state.at[INSN_RSP]))
		return;
	slot = slot_of(address_of(t->state.at[INSN_RSP]));
	if (!slot)
		return;
	if (v == VALUE_UNKNOWN || is_address(v))
		forget_place(t, slot);
	else
		t->state.at[slot] = v;
}

static void pop(struct transfer *t, const struct insn_effect *e)
{
	value sp = t->state.at[INSN_RSP];
	unsigned slot = is_address(sp) ? slot_of(address_of(sp)) : 0;

	if (slot)
		t->state.at[e->to] = t->state.at[slot];
	else
		forget_place(t, e->to);
	if (e->to != INSN_RSP)
		move_sp(t, 8);
}

static void transfer_product(struct transfer *t, const struct insn_effect *e)
{
	value a = t->state.at[e->to], b = t->state.at[e->from];

	if (is_of_entry(a) && is_of_entry(b))
		t->state.at[e->to] = value_product(a - VALUE_ENTRY, b - VALUE_ENTRY);
	else
		forget_place(t, e->to);
}

static void call(struct transfer *t, const struct insn_effect *e)
{
	value returned = e->to == INSN_NO_REG ? VALUE_UNKNOWN : t->state.at[e->from];

	for (unsigned i = 0; i < INSN_REGS; i++)
		if (CALLER_SAVED >> i & 1) {
			note_escape(t, t->state.at[i]);
			forget_place(t, i);
		}
	forget_below_sp(t);
	/* Of these the callee's arguments may be some, which are its own. */
	forget_variables(t);
	if (returned != VALUE_UNKNOWN)
		t->state.at[e->to] = returned;
}

static void transfer_effect(struct transfer *t, const struct insn_effect *e)
{
	value tested = e->tested == INSN_NO_REG ? VALUE_UNKNOWN : t->state.at[e->tested];

	for (unsigned i = 0; i < INSN_REGS; i++)
		if (e->reads >> i & 1)
			note_escape(t, t->state.at[i]);
	switch (e->kind) {
	case EFFECT_COPY:
		t->state.at[e->to] = t->state.at[e->from];
		break;
	case EFFECT_LOAD:
		transfer_load(t, e);
		break;
	case EFFECT_STORE:
		transfer_store(t, e);
		break;
	case EFFECT_ZERO:
		t->state.at[e->to] = VALUE_NULL;
		break;
	case EFFECT_ADD:
		transfer_add(t, e);
		break;
	case EFFECT_PUSH:
		transfer_push(t, e);
		break;
	case EFFECT_POP:
		pop(t, e);
		break;
	case EFFECT_CALL:
		call(t, e);
		break;
	case EFFECT_PRODUCT:
		transfer_product(t, e);
		break;
	case EFFECT_SYSTEM_CALL:
		forget_variables(t);
		break;
	case EFFECT_LEAVE:
		t->state.at[INSN_RSP] = t->state.at[INSN_RBP];
		pop(t, e);
		break;
	case EFFECT_WRITES:
		write_memory(t, e);
		break;
	case EFFECT_UNKNOWN: /* what is known behind it is not asked */
		break;
	}
	for (unsigned i = 0; i < INSN_REGS; i++)
		if (e->writes >> i & 1)
			forget_place(t, i);
	if (tested != VALUE_UNKNOWN)
		t->state.at[FLOW_FLAG] = tested;
	else if (e->sets_flags || e->kind == EFFECT_CALL)
		forget_place(t, FLOW_FLAG);
	if (e->kind == EFFECT_COPY && e->to == INSN_RSP)
		forget_below_sp(t);
}

/* What the node makes of what it finds. Older values that it made itself are no longer the same. */
static void transfer(struct value_flow *flow, uint16_t node, bool *escapes)
{
	struct transfer t = { .flow = flow, .node = node, .state = flow->in[node] };

	for (unsigned i = 0; i < FLOW_PLACES; i++) {
		value v = t.state.at[i];

		if ((v & VALUE_KIND) == VALUE_MADE && VALUE_NODE(v) == node)
			forget_place(&t, i);
	}
	transfer_effect(&t, &flow->graph->nodes[node].effect);
	flow->out[node] = t.state;
	*escapes |= t.escapes;
}

/* True: what is known at the node has changed. */
static bool meet(struct flow_state *at, uint16_t node, const struct flow_state *from)
{
	bool changed = false;

	for (unsigned i = 0; i < FLOW_PLACES; i++) {
		value now = at->at[i], new = from->at[i], met = met_at(node, i);

		/* What met here before, and has moved elsewhere since, is what met another time. */
		if ((new &VALUE_KIND) == VALUE_MET && VALUE_NODE(new) == node)
			new = met;
		if (now == new || now == met)
			continue;
		at->at[i] = now == VALUE_UNKNOWN ? new : met;
		changed = true;
	}
	return changed;
}

/* The same at a node that one other leads to: values stay what they are. */
static bool take_over(struct flow_state *at, const struct flow_state *from)
{
	bool changed = memcmp(at, from, sizeof(*at)) != 0;

	*at = *from;
	return changed;
}

struct queue {
	uint16_t *nodes;
	bool *waits;
	uint8_t *n_before; /* of each node, how many lead to it: 0, 1, or more */
	size_t n;
};

static void note_before(struct queue *q, uint16_t to)
{
	if (to != GRAPH_NONE && q->n_before[to] < 2)
		q->n_before[to]++;
}

static void count_before(const struct code_graph *graph, struct queue *q)
{
	q->n_before[0] = 2; /* and the call */
	for (size_t i = 0; i < graph->n; i++) {
		note_before(q, graph->nodes[i].next);
		note_before(q, graph->nodes[i].target);
	}
}

static void queue_add(struct queue *q, uint16_t node)
{
	if (q->waits[node])
		return;
	q->waits[node] = true;
	q->nodes[q->n++] = node;
}

static void go_on(struct value_flow *flow, struct queue *q, uint16_t node, uint16_t to)
{
	const struct code_graph *graph = flow->graph;
	unsigned frame;

	if (to == GRAPH_NONE)
		return;
	if (q->n_before[to] == 1 ? !take_over(&flow->in[to], &flow->out[node]) :
				   !meet(&flow->in[to], to, &flow->out[node]))
		return;
	queue_add(q, to);
	frame = graph->nodes[to].frame;
	if (!frame || graph->frames[frame - 1].entry != to)
		return;
	/* Calls in it ask what registers are its caller's: has_saved_register(). */
	for (size_t i = to; i < graph->n && graph->nodes[i].frame == frame; i++)
		if (flow->in[i].at[INSN_RSP] != VALUE_UNKNOWN)
			queue_add(q, (uint16_t)i);
}

static void begin_flow(struct value_flow *flow, struct queue *q)
{
	struct flow_state *entry = &flow->in[0];

	memset(flow->in, 0, flow->graph->n * sizeof(*flow->in));
	memset(flow->out, 0, flow->graph->n * sizeof(*flow->out));
	for (unsigned i = 0; i < FLOW_PLACES; i++)
		entry->at[i] = i < INSN_REGS ? VALUE_ENTRY + i : met_at(0, i);
	entry->at[INSN_RSP] = VALUE_SP | VALUE_SP_BIAS;
	queue_add(q, 0);
}

/* Until nothing changes, or somebody may point into the stack who was not known before. */
static void run_flow(struct value_flow *flow, struct queue *q, uint32_t *steps_left)
{
	bool escapes = false;

	begin_flow(flow, q);
	while (q->n && !flow->why_not) {
		uint16_t node = q->nodes[--q->n];
		const struct code_node *n = &flow->graph->nodes[node];

		q->waits[node] = false;
		if (*steps_left == 0)
			flow->why_not = why_large;
		else
			--*steps_left;
		transfer(flow, node, &escapes);
		if (escapes && !flow->stack_escapes) {
			flow->stack_escapes = true;
			for (size_t i = 0; i < q->n; i++)
				q->waits[q->nodes[i]] = false;
			q->n = 0;
			begin_flow(flow, q);
			continue;
		}
		go_on(flow, q, node, n->next);
		go_on(flow, q, node, n->target);
	}
}

int value_flow_new(const struct code_graph *graph, uint32_t *steps_left,
		   struct value_flow *ret_flow)
{
	struct queue q = { .nodes = calloc(graph->n, sizeof(*q.nodes)),
			   .waits = calloc(graph->n, sizeof(*q.waits)),
			   .n_before = calloc(graph->n, sizeof(*q.n_before)) };
	struct value_flow *flow = ret_flow;
	int r = 0;

	*flow = (struct value_flow){ .graph = graph,
				     .in = calloc(graph->n, sizeof(*flow->in)),
				     .out = calloc(graph->n, sizeof(*flow->out)) };
	if (q.nodes && q.waits && q.n_before && flow->in && flow->out) {
		count_before(graph, &q);
		run_flow(flow, &q, steps_left);
	} else {
		r = -ENOMEM;
	}
	free(q.nodes);
	free(q.waits);
	free(q.n_before);
	return r;
}

void value_flow_done(struct value_flow *flow)
{
	free(flow->in);
	free(flow->out);
	*flow = (struct value_flow){ 0 };
}
