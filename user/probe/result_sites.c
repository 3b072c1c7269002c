/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/result_sites.h"

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "probe/allocators.h"
#include "probe/code_graph.h"
#include "probe/ended_calls.h"
#include "probe/sites.h"
#include "probe/value_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What will be returned is not known yet: it is made later, or differs by the way that is taken. */
#define VALUE_NOT_YET 0xffffffffU

/* What is known at a node. */
struct node_facts {
	value returned;	 /* VALUE_UNKNOWN: no way leads to a return */
	bool is_live;	 /* a way leads to a return, or out of the function */
	bool has_called; /* all ways to it have passed a call */
	bool is_after;	 /* the call has been counted before */
	bool can_end;	 /* a site that sees the result, or all, whichever way is taken */
	struct result_site site;
};

struct prover {
	const struct allocator_function *function;
	struct insn_decoder *decoder;
	const struct sites_code *code;
	const struct sites *walked;
	const struct plan_emulation *emulation;
	bool from_entry; /* calls begin at the entry site */
	struct code_graph graph;
	struct value_flow flow;
	struct node_facts *facts;
	uint32_t *steps_left;
	const char *why;
};

static void prover_done(struct prover *p)
{
	free(p->facts);
	value_flow_done(&p->flow);
	code_graph_done(&p->graph);
}

void result_sites_done(struct result_sites *sites)
{
	vec_done(&sites->list);
	vec_done(&sites->exits);
}

/* Before all nodes are looked at (once more); false: that is too much work. */
static bool spend(struct prover *p)
{
	if (*p->steps_left < p->graph.n) {
		p->why = why_large;
		return false;
	}
	*p->steps_left -= (uint32_t)p->graph.n;
	return true;
}

static bool is_reached(const struct prover *p, uint16_t node)
{
	return p->flow.in[node].at[INSN_RSP] != VALUE_UNKNOWN;
}

/* What other code, or the kernel, is asked for. */
static bool is_call(const struct code_node *node)
{
	return node->flow == INSN_CALL || node->effect.kind == EFFECT_SYSTEM_CALL;
}

static bool is_return(const struct prover *p, uint16_t node)
{
	return p->graph.nodes[node].flow == INSN_RETURN;
}

static bool is_live(const struct prover *p, uint16_t node)
{
	return node != GRAPH_NONE && p->facts[node].is_live;
}

static void find_live(struct prover *p)
{
	bool changed = true;

	while (changed && spend(p)) {
		changed = false;
		for (size_t i = p->graph.n; i-- > 0;) {
			const struct code_node *node = &p->graph.nodes[i];

			if (p->facts[i].is_live || !is_reached(p, i))
				continue;
			p->facts[i].is_live = is_return(p, i) || node->leaves ||
					      is_live(p, node->next) || is_live(p, node->target);
			changed |= p->facts[i].is_live;
		}
	}
}

/* What the way from one node to the next one makes of what will be returned. */
static value returned_by(const struct prover *p, uint16_t node, uint16_t to)
{
	value v;

	if (!is_live(p, to))
		return VALUE_UNKNOWN;
	v = p->facts[to].returned;
	if ((v & VALUE_KIND) == VALUE_MET && v != VALUE_NOT_YET && VALUE_NODE(v) == to)
		return p->flow.out[node].at[VALUE_PLACE(v)];
	return v;
}

/* By either of two ways: NULL may be what the jump has just found out of the value. */
static value returned_by_both(const struct prover *p, uint16_t node)
{
	const struct code_node *n = &p->graph.nodes[node];
	value next = returned_by(p, node, n->next), target = returned_by(p, node, n->target);
	value tested = p->flow.out[node].at[FLOW_FLAG];

	if (next == VALUE_UNKNOWN || next == target)
		return target;
	if (target == VALUE_UNKNOWN)
		return next;
	if (n->effect.condition == INSN_CONDITION_ZERO && target == VALUE_NULL && next == tested)
		return next;
	if (n->effect.condition == INSN_CONDITION_NOT_ZERO && next == VALUE_NULL &&
	    target == tested)
		return target;
	return VALUE_NOT_YET;
}

static value returned_at(const struct prover *p, uint16_t node)
{
	value v;

	if (p->graph.nodes[node].leaves)
		return VALUE_NOT_YET;
	if (is_return(p, node))
		return p->flow.in[node].at[INSN_RAX];
	v = returned_by_both(p, node);
	if ((v & VALUE_KIND) == VALUE_MADE && VALUE_NODE(v) == node)
		return VALUE_NOT_YET;
	return v;
}

/* Backwards from the returns; what has been found once and is found otherwise is not known. */
static void find_returned(struct prover *p)
{
	bool changed = true;

	while (changed && spend(p)) {
		changed = false;
		for (size_t i = p->graph.n; i-- > 0;) {
			value before = p->facts[i].returned, v;

			if (!p->facts[i].is_live || before == VALUE_NOT_YET)
				continue;
			v = returned_at(p, i);
			if (v == before)
				continue;
			p->facts[i].returned = before == VALUE_UNKNOWN ? v : VALUE_NOT_YET;
			changed = true;
		}
	}
}

/* Whether each way there has passed a call, or begins at one: true until a way has not. */
static void find_called(struct prover *p)
{
	bool changed = true;

	for (size_t i = p->from_entry ? 0 : 1; i < p->graph.n; i++)
		p->facts[i].has_called = true;
	while (changed && spend(p)) {
		changed = false;
		for (size_t i = 0; i < p->graph.n; i++) {
			const struct code_node *node = &p->graph.nodes[i];
			const uint16_t to[] = { node->next, node->target };

			if (!is_reached(p, i) || p->facts[i].has_called || is_call(node))
				continue;
			for (int k = 0; k < 2; k++) {
				if (to[k] == GRAPH_NONE || !p->facts[to[k]].has_called)
					continue;
				p->facts[to[k]].has_called = false;
				changed = true;
			}
		}
	}
}

/* Of each register, by its number, in struct pt_regs (arch/x86/include/asm/ptrace.h). */
static uint16_t pt_regs_offset(uint16_t reg)
{
	static const uint16_t offsets[INSN_REGS] = { 80, 88, 96, 40, 152, 32, 104, 112,
						     72, 64, 56, 48, 24,  16, 8,   0 };

	return offsets[reg];
}

/* Where a value stands; ABI_USDT_NONE: nowhere. */
static struct abi_usdt_arg place_of(const struct flow_state *state, value v)
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

static uint8_t size_register(const struct prover *p)
{
	return insn_argument_register(p->function->args & 0xf);
}

/* What a probe could see at the node; false: not where the stack begins, or no probe is there. */
static bool see(const struct prover *p, uint16_t node, struct result_site *site)
{
	const struct code_node *n = &p->graph.nodes[node];
	const struct flow_state *state = &p->flow.in[node];
	int32_t distance = value_flow_sp_distance(state);

	if (!n->is_own || n->is_refused || distance < 0)
		return false;
	*site = (struct result_site){
		.addr = n->addr,
		.see = { .size = place_of(state, VALUE_ENTRY + size_register(p)),
			 .fp = place_of(state, VALUE_ENTRY + INSN_RBP),
			 .sp_distance = (uint32_t)distance,
			 .condition = ABI_RESULT_ALWAYS },
	};
	return site->see.fp.place != ABI_USDT_NONE;
}

/* Does a probe there see the end of a call that will return that value? */
static bool sees_end(const struct prover *p, uint16_t node, value returned,
		     struct result_site *site)
{
	const struct code_node *n = &p->graph.nodes[node];
	bool sized, has_called = p->facts[node].has_called;

	/* Nothing is to be called once a call has been counted. */
	if (returned == VALUE_NOT_YET || returned == VALUE_UNKNOWN || is_call(n) ||
	    is_return(p, node) || !see(p, node, site))
		return false;
	site->see.result = place_of(&p->flow.in[node], returned);
	site->see.kind = has_called ? ABI_RESULT_ENDS : ABI_RESULT_WHOLE;
	site->is_rare = !n->is_emulated;
	sized = has_called || site->see.size.place != ABI_USDT_NONE;
	return site->see.result.place != ABI_USDT_NONE && sized &&
	       (!site->is_rare || returned == VALUE_NULL);
}

static bool has_counted(const struct prover *p, uint16_t node)
{
	return is_live(p, node) && p->facts[node].is_after;
}

static bool set_after(struct prover *p, uint16_t node)
{
	if (!is_live(p, node) || p->facts[node].is_after)
		return false;
	p->facts[node].is_after = true;
	return true;
}

/* Does a probe on the jump see the end of calls that go on at `to`, though not of others? */
static bool sees_end_by_way(const struct prover *p, uint16_t node, uint16_t to,
			    struct result_site *site)
{
	const struct code_node *n = &p->graph.nodes[node];

	if (n->effect.condition == INSN_NO_CONDITION || !n->is_emulated ||
	    !sees_end(p, node, returned_by(p, node, to), site))
		return false;
	site->see.condition = n->effect.condition ^ (to != n->target);
	return true;
}

/* Is a node that leads to what is behind the sites one, so that it need not be behind itself? */
static bool is_last_before(const struct prover *p, uint16_t node, struct result_site *ret_site)
{
	const struct code_node *n = &p->graph.nodes[node];
	bool next = has_counted(p, n->next), target = has_counted(p, n->target);

	if (p->facts[node].can_end) {
		*ret_site = p->facts[node].site;
		return true;
	}
	return next != target && sees_end_by_way(p, node, next ? n->next : n->target, ret_site);
}

/*
 * Which nodes are behind the sites: the fewest that the rules allow, from the returns backwards. A
 * node is behind on all ways to it or on none, and only what sees the end of a call leads from one
 * to the other.
 */
static void cut(struct prover *p)
{
	struct result_site site;
	bool changed = true;

	for (size_t i = 0; i < p->graph.n; i++)
		if (is_return(p, i))
			set_after(p, i);
	while (changed && spend(p)) {
		changed = false;
		for (size_t i = p->graph.n; i-- > 0;) {
			const struct code_node *node = &p->graph.nodes[i];

			if (!p->facts[i].is_live)
				continue;
			if (!p->facts[i].is_after && !has_counted(p, node->next) &&
			    !has_counted(p, node->target))
				continue;
			if (!p->facts[i].is_after && !is_last_before(p, i, &site))
				changed |= set_after(p, i);
			if (!p->facts[i].is_after && !p->facts[i].can_end)
				continue; /* the other way is not behind */
			changed |= set_after(p, node->next);
			changed |= set_after(p, node->target);
		}
	}
}

static bool is_site(const struct prover *p, uint16_t node, struct result_site *ret_site)
{
	const struct code_node *n = &p->graph.nodes[node];

	return !p->facts[node].is_after && (has_counted(p, n->next) || has_counted(p, n->target)) &&
	       is_last_before(p, node, ret_site);
}

/* sp and fp are where they were at the entry; the size still is an argument, or has been seen. */
static bool leaves_as_it_came(const struct prover *p, uint16_t node, struct result_site *site)
{
	const struct code_node *n = &p->graph.nodes[node];
	const struct flow_state *state = &p->flow.in[node];

	if (value_flow_sp_distance(state) != 0 || !n->is_own || n->is_refused ||
	    state->at[INSN_RBP] != VALUE_ENTRY + INSN_RBP)
		return false;
	*site = (struct result_site){
		.addr = n->addr,
		.see = { .kind = ABI_RESULT_LEAVES, .condition = ABI_RESULT_ALWAYS },
		.is_rare = !n->is_emulated,
	};
	if (p->from_entry)
		return true;
	for (uint16_t i = 1; i <= INSN_ARGUMENTS && !site->args; i++)
		if (state->at[insn_argument_register(i)] == (value)VALUE_ENTRY + size_register(p))
			site->args = ABI_SIZE_ARG(i);
	return site->args != 0;
}

/* A call that nothing stands for yet begins before other code is called. */
static int add_call(struct prover *p, uint16_t node, struct result_sites *sites)
{
	const struct code_node *n = &p->graph.nodes[node];
	struct result_site site;

	if (p->facts[node].is_after) {
		p->why = why_no_site;
		return 0;
	}
	if (p->facts[node].has_called)
		return 0;
	if (!n->is_emulated || !see(p, node, &site) || site.see.size.place == ABI_USDT_NONE) {
		p->why = why_call;
		return 0;
	}
	site.see.kind = ABI_RESULT_BEGINS;
	return vec_push(&sites->list, site);
}

static bool is_in_graph(const struct prover *p, uint64_t addr)
{
	for (size_t i = 0; i < p->graph.n; i++)
		if (p->graph.nodes[i].addr == addr)
			return true;
	return false;
}

/*
 * Each `ret` of the code that is left for, which is the function's no more: one that is the
 * function's, too, would be seen where nothing begins.
 */
static int add_exits(struct prover *p, uint64_t from, struct result_sites *sites)
{
	_cleanup_(sites_done) struct sites left_for = { 0 };
	int r = sites_find(p->decoder, p->code, p->function, from, p->emulation, &left_for);

	for (size_t i = 0; i < left_for.exits.len && r == 0; i++) {
		if (is_in_graph(p, left_for.exits.data[i]))
			p->why = why_leaves;
		r = vec_push(&sites->exits, left_for.exits.data[i]);
	}
	if (left_for.why_no_exits)
		p->why = left_for.why_no_exits;
	return r;
}

static int add_leave(struct prover *p, uint16_t node, struct result_sites *sites)
{
	struct result_site site;
	int r;

	if (p->facts[node].is_after)
		p->why = why_no_site;
	else if (!leaves_as_it_came(p, node, &site))
		p->why = why_leaves;
	if (p->why)
		return 0;
	r = vec_push(&sites->list, site);
	return r || !p->function->may_throw ? r : add_exits(p, p->graph.nodes[node].addr, sites);
}

/* The entry site is passed once, before all else. */
static int add_entry(struct prover *p, struct result_sites *sites)
{
	struct result_site site;
	size_t entry = 0;

	while (entry < p->graph.n && p->graph.nodes[entry].addr != p->walked->entry_site)
		entry++;
	for (size_t i = 0; i < p->graph.n && !p->why; i++)
		if (p->graph.nodes[i].target == 0)
			p->why = why_call;
	if (!p->why && (entry == p->graph.n || !see(p, (uint16_t)entry, &site) ||
			site.see.size.place == ABI_USDT_NONE))
		p->why = why_call;
	if (p->why)
		return 0;
	site.see.kind = ABI_RESULT_BEGINS;
	return vec_push(&sites->list, site);
}

/* Is a call that ends there cheaper than by entry and return, or exits? */
static bool is_gain(const struct prover *p, const struct result_site *site)
{
	bool by_exits = p->function->may_throw && !p->emulation->ret;

	return (site->see.kind == ABI_RESULT_WHOLE || by_exits) && !site->is_rare &&
	       site->see.result.place != ABI_USDT_CONSTANT;
}

static int add_sites(struct prover *p, struct result_sites *sites)
{
	int r = p->from_entry ? add_entry(p, sites) : 0;
	bool gains = false;

	for (size_t i = 0; i < p->graph.n && r == 0 && !p->why; i++) {
		const struct code_node *node = &p->graph.nodes[i];
		struct result_site site;

		if (!p->facts[i].is_live)
			continue;
		if (node->effect.kind == EFFECT_UNKNOWN)
			p->why = why_effect;
		else if (value_flow_sp_distance(&p->flow.in[i]) < 0 ||
			 (is_return(p, i) && value_flow_sp_distance(&p->flow.in[i]) != 0))
			p->why = why_stack;
		else if (is_call(node))
			r = add_call(p, i, sites);
		else if (node->leaves)
			r = add_leave(p, i, sites);
		if (r == 0 && !p->why && is_site(p, i, &site)) {
			gains |= is_gain(p, &site);
			r = vec_push(&sites->list, site);
		}
	}
	if (p->facts[0].is_after && !p->why)
		p->why = why_no_site;
	if (!gains && !p->why)
		p->why = why_no_gain;
	return r;
}

DEFINE_COMPARE(by_address, struct result_site, addr)

static bool has_two_at_one(const struct result_sites *sites)
{
	for (size_t i = 1; i < sites->list.len; i++)
		if (sites->list.data[i].addr == sites->list.data[i - 1].addr)
			return true;
	return false;
}

static int prove(struct prover *p, struct result_sites *sites)
{
	memset(p->facts, 0, p->graph.n * sizeof(*p->facts));
	sites->list.len = 0;
	sites->exits.len = 0;
	p->why = NULL;
	find_live(p);
	find_returned(p);
	find_called(p);
	for (size_t i = 0; i < p->graph.n; i++)
		p->facts[i].can_end = p->facts[i].is_live &&
				      sees_end(p, i, p->facts[i].returned, &p->facts[i].site);
	cut(p);
	return add_sites(p, sites);
}

static int prove_either(struct prover *p, struct result_sites *sites)
{
	const char *why;
	int r = ended_calls_find(&p->graph, p->steps_left, &p->flow);

	p->facts = calloc(p->graph.n, sizeof(*p->facts));
	if (r < 0 || !p->facts)
		return -ENOMEM;
	p->why = p->flow.why_not;
	if (p->why)
		return 0;
	r = prove(p, sites);
	if (r < 0 || !p->why || !p->function->may_throw || !p->walked->entry_emulated)
		return r;
	why = p->why;
	p->from_entry = true;
	r = prove(p, sites);
	if (p->why)
		p->why = why;
	return r;
}

int result_sites_find(struct insn_decoder *decoder, const struct sites_code *code,
		      const struct allocator_function *function, uint64_t entry,
		      const struct sites *walked, const struct plan_emulation *emulation,
		      uint32_t *steps_left, struct result_sites *ret_sites)
{
	_cleanup_(prover_done) struct prover p = {
		.function = function,
		.decoder = decoder,
		.code = code,
		.walked = walked,
		.emulation = emulation,
		.steps_left = steps_left,
	};
	_cleanup_(result_sites_done) struct result_sites sites = { 0 };
	unsigned size = function->args & 0xf;
	int r;

	if (size == 0 || size > INSN_ARGUMENTS || function->args >> 4) {
		*ret_sites = (struct result_sites){ .why_none = why_product };
		return 0;
	}
	r = code_graph_new(decoder, code, entry, emulation, steps_left, &p.graph, &p.why);
	if (r == 0 && !p.why)
		r = prove_either(&p, &sites);
	if (r < 0)
		return r;
	vec_sort(&sites.list, by_address);
	if (!p.why && has_two_at_one(&sites))
		p.why = why_no_site;
	sites.why_none = p.why;
	if (p.why)
		sites.list.len = sites.exits.len = 0;
	*ret_sites = sites;
	sites = (struct result_sites){ 0 };
	return 0;
}
