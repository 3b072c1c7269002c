/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/result_sites.h"

#include "base/cleanup.h"
#include "probe/allocators.h"
#include "probe/callee_facts.h"
#include "probe/ended_calls.h"
#include "probe/result_prover.h"
#include "probe/result_seen.h"
#include "probe/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* glibc's calloc has five. */
#define MAX_SAME_VALUES 32

void result_sites_done(struct result_sites *sites)
{
	vec_done(&sites->list);
	vec_done(&sites->exits);
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
	site->args = result_arguments(state, p->function);
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
	if (p->facts[node].passed & PASSED_COUNTED)
		return 0;
	if (!n->is_emulated || !prover_see(p, node, &site) ||
	    site.see.size.place == ABI_USDT_NONE) {
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
	int r = sites_find(p->callees->decoder, p->callees->code, p->function, from,
			   p->callees->emulation, &left_for);

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
	if (!p->why && (entry == p->graph.n || !prover_see(p, (uint16_t)entry, &site) ||
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
	bool by_exits = p->function->may_throw && !p->callees->emulation->ret;

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
			 (prover_is_return(p, i) && value_flow_sp_distance(&p->flow.in[i]) != 0))
			p->why = why_stack;
		else if (prover_is_call(node))
			r = add_call(p, i, sites);
		else if (node->leaves)
			r = add_leave(p, i, sites);
		if (r == 0 && !p->why && prover_is_site(p, i, &site)) {
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

static int by_place(const void *item_a, const void *item_b)
{
	const struct result_site *a = item_a, *b = item_b;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (a->see.link > b->see.link) - (a->see.link < b->see.link);
}

/* Code that is called from several places has a site for each of them. */
static bool has_two_at_one(const struct result_sites *sites)
{
	for (size_t i = 1; i < sites->list.len; i++)
		if (by_place(&sites->list.data[i], &sites->list.data[i - 1]) == 0)
			return true;
	return false;
}

static int prove(struct prover *p, struct result_sites *sites)
{
	sites->list.len = 0;
	sites->exits.len = 0;
	prover_find(p);
	return add_sites(p, sites);
}

static int find_values(struct prover *p)
{
	int r;

	value_flow_done(&p->flow);
	free(p->facts);
	r = ended_calls_find(&p->graph, p->steps_left, &p->flow);
	p->facts = calloc(p->graph.n, sizeof(*p->facts));
	p->why = p->flow.why_not;
	return r < 0 || !p->facts ? -ENOMEM : 0;
}

/* A value, and what it is a part of where ways meet. */
struct same_values {
	value list[MAX_SAME_VALUES];
	unsigned n;
};

static bool has_value(const struct same_values *same, value v)
{
	for (unsigned i = 0; i < same->n; i++)
		if (same->list[i] == v)
			return true;
	return false;
}

/* One of the values has been added that register `reg` has where the way from `node` leads. */
static bool add_met(const struct prover *p, uint16_t node, uint16_t to, unsigned reg,
		    struct same_values *same)
{
	value met;

	if (to == GRAPH_NONE || !has_value(same, p->flow.out[node].at[reg]))
		return false;
	met = p->flow.in[to].at[reg];
	if (has_value(same, met) || same->n == MAX_SAME_VALUES)
		return false;
	same->list[same->n++] = met;
	return true;
}

static void add_all_met(const struct prover *p, struct same_values *same)
{
	bool added = true;

	while (added) {
		added = false;
		for (uint16_t i = 0; i < p->graph.n; i++)
			for (unsigned reg = 0; reg < INSN_REGS && p->facts[i].is_live; reg++) {
				added |= add_met(p, i, p->graph.nodes[i].next, reg, same);
				added |= add_met(p, i, p->graph.nodes[i].target, reg, same);
			}
	}
}

/* Is what the call returns what will be returned, on some way? */
static bool returns_result_of(const struct prover *p, uint16_t call)
{
	struct same_values same = { .list = { VALUE_MADE | (value)call << 6 | INSN_RAX }, .n = 1 };

	add_all_met(p, &same);
	for (uint16_t i = 0; i < p->graph.n; i++)
		if (p->facts[i].is_live &&
		    (has_value(&same, prover_returned_by(p, i, p->graph.nodes[i].next)) ||
		     has_value(&same, prover_returned_by(p, i, p->graph.nodes[i].target))))
			return true;
	return false;
}

static int inline_call(struct prover *p, uint16_t call)
{
	const struct code_graph *callee;
	int r = callee_facts_graph(p->callees, p->graph.nodes[call].callee, &callee);

	if (callee)
		(void)code_graph_inline(&p->graph, call, callee); /* else it stays a call */
	return r;
}

static bool is_to_inline(const struct prover *p, uint16_t call)
{
	const struct code_node *node = &p->graph.nodes[call];

	return p->facts[call].is_live && node->flow == INSN_CALL && node->callee &&
	       node->callee != p->graph.nodes[0].addr &&
	       result_argument_with(&p->flow.in[call], result_size_value(p->function)) &&
	       returns_result_of(p, call);
}

/* By address: what is rare is behind. */
static uint16_t next_to_inline(const struct prover *p, uint64_t behind)
{
	uint16_t found = GRAPH_NONE;

	for (size_t i = 0; i < p->graph.n; i++)
		if (p->graph.nodes[i].addr > behind && is_to_inline(p, (uint16_t)i) &&
		    (found == GRAPH_NONE || p->graph.nodes[i].addr < p->graph.nodes[found].addr))
			found = (uint16_t)i;
	return found;
}

/*
 * What is told the size and makes the block, as glibc's _int_malloc, may call nothing on most of
 * its ways: its code is walked as a part of the function.
 */
static int inline_calls(struct prover *p)
{
	uint16_t calls[GRAPH_MAX_FRAMES];
	unsigned n = 0;
	int r = 0;

	while (n < GRAPH_MAX_FRAMES) {
		calls[n] = next_to_inline(p, n ? p->graph.nodes[calls[n - 1]].addr : 0);
		if (calls[n] == GRAPH_NONE)
			break;
		n++;
	}
	for (unsigned i = 0; i < n && r == 0; i++)
		r = inline_call(p, calls[i]);
	return r;
}

static bool has_begins(const struct result_sites *sites)
{
	for (size_t i = 0; i < sites->list.len; i++)
		if (sites->list.data[i].see.kind == ABI_RESULT_BEGINS)
			return true;
	return false;
}

/*
 * A call that begins before other code is called takes two traps. By what is known of that code it
 * may take one.
 */
static int prove_by_callees(struct prover *p, struct result_sites *sites)
{
	_cleanup_(result_sites_done) struct result_sites better = { 0 };
	const char *why = p->why;
	int r;

	if (p->callees->is_off || (!why && !has_begins(sites)))
		return 0;
	p->steps_left = &p->callees->steps_left;
	r = callee_facts_apply(p->callees, &p->graph);
	if (r == 0)
		r = inline_calls(p);
	if (r == 0)
		r = find_values(p);
	if (r == 0 && !p->why)
		r = prove(p, &better);
	if (r < 0 || p->why) {
		p->why = why;
		return r;
	}
	result_sites_done(sites);
	*sites = better;
	better = (struct result_sites){ 0 };
	return 0;
}

static int prove_either(struct prover *p, struct result_sites *sites)
{
	const char *why;
	int r = find_values(p);

	if (r < 0 || p->why)
		return r;
	r = prove(p, sites);
	if (r == 0 && !p->function->may_throw)
		return prove_by_callees(p, sites);
	if (r < 0 || !p->why || !p->function->may_throw || !p->walked->entry_emulated)
		return r;
	why = p->why;
	p->from_entry = true;
	r = prove(p, sites);
	if (p->why)
		p->why = why;
	return r;
}

const char *result_sites_why_not(const struct allocator_function *function)
{
	static const char *const aligned[] = { "memalign", "aligned_alloc", "valloc" };

	if (!result_size_value(function))
		return why_size;
	for (size_t i = 0; i < sizeof(aligned) / sizeof(*aligned); i++)
		if (strstr(function->name, aligned[i]))
			return why_aligned;
	return NULL;
}

int result_sites_find(struct callee_facts *callees, const struct allocator_function *function,
		      uint64_t entry, const struct sites *walked, uint32_t *steps_left,
		      struct result_sites *ret_sites)
{
	_cleanup_(prover_done) struct prover p = {
		.function = function,
		.walked = walked,
		.callees = callees,
		.steps_left = steps_left,
	};
	_cleanup_(result_sites_done) struct result_sites sites = { 0 };
	int r;

	r = code_graph_new(callees->decoder, callees->code, entry, callees->emulation, steps_left,
			   &p.graph, &p.why);
	if (r == 0 && !p.why) {
		code_graph_find_own(&p.graph, callees->code);
		r = prove_either(&p, &sites);
	}
	if (r < 0)
		return r;
	vec_sort(&sites.list, by_place);
	if (!p.why && has_two_at_one(&sites))
		p.why = why_no_site;
	sites.why_none = p.why;
	if (p.why)
		sites.list.len = sites.exits.len = 0;
	*ret_sites = sites;
	sites = (struct result_sites){ 0 };
	return 0;
}
