/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/result_prover.h"

#include "probe/result_seen.h"
#include "probe/sites.h"

#include <stdlib.h>
#include <string.h>

/* What will be returned is not known yet: it is made later, or differs by the way that is taken. */
#define VALUE_NOT_YET 0xffffffffU

void prover_done(struct prover *p)
{
	free(p->facts);
	value_flow_done(&p->flow);
	code_graph_done(&p->graph);
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

bool prover_is_call(const struct code_node *node)
{
	return (node->flow == INSN_CALL && !node->is_quiet) ||
	       node->effect.kind == EFFECT_SYSTEM_CALL;
}

bool prover_is_return(const struct prover *p, uint16_t node)
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
			p->facts[i].is_live = prover_is_return(p, i) || node->leaves ||
					      is_live(p, node->next) || is_live(p, node->target);
			changed |= p->facts[i].is_live;
		}
	}
}

value prover_returned_by(const struct prover *p, uint16_t node, uint16_t to)
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
	value next = prover_returned_by(p, node, n->next),
	      target = prover_returned_by(p, node, n->target);
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
	if (prover_is_return(p, node))
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

static uint8_t passed_at(const struct code_node *node)
{
	if (prover_is_call(node))
		return PASSED_CALL | PASSED_COUNTED;
	return node->flow == INSN_CALL || node->frame ? PASSED_CALL : 0;
}

/* Not more than the way from the node has passed; true: that is less than the others have. */
static bool limit_passed(struct prover *p, uint16_t to, uint8_t passed)
{
	uint8_t before;

	if (to == GRAPH_NONE)
		return false;
	before = p->facts[to].passed;
	p->facts[to].passed &= passed;
	return p->facts[to].passed != before;
}

static void find_passed(struct prover *p)
{
	bool changed = true;

	for (size_t i = 0; i < p->graph.n; i++)
		p->facts[i].passed = PASSED_CALL | PASSED_COUNTED;
	if (!p->from_entry)
		p->facts[0].passed = 0;
	while (changed && spend(p)) {
		changed = false;
		for (size_t i = 0; i < p->graph.n; i++) {
			const struct code_node *node = &p->graph.nodes[i];
			uint8_t passed = p->facts[i].passed | passed_at(node);

			if (!is_reached(p, i))
				continue;
			changed |= limit_passed(p, node->next, passed);
			changed |= limit_passed(p, node->target, passed);
		}
	}
}

static bool has_called(const struct prover *p, uint16_t node)
{
	return p->facts[node].passed & PASSED_COUNTED;
}

/*
 * A product that is too large is told by NULL before anything is called: the numbers must be there
 * then, as what is in a register is another size.
 */
static bool may_have_overflowed(const struct prover *p, uint16_t node, value returned,
				const struct abi_result_site *see)
{
	return see->is_product && see->factor.place == ABI_USDT_NONE && returned == VALUE_NULL &&
	       !(p->facts[node].passed & PASSED_CALL);
}

bool prover_see(const struct prover *p, uint16_t node, struct result_site *site)
{
	const struct code_node *n = &p->graph.nodes[node];

	if (!n->is_own || n->is_refused || value_flow_sp_distance(&p->flow.in[node]) < 0)
		return false;
	if (n->frame &&
	    value_flow_sp_distance(&p->flow.in[p->graph.frames[n->frame - 1].entry]) < 0)
		return false;
	*site = (struct result_site){ .addr = n->addr };
	result_see(&p->flow, p->function, node, &site->see);
	return site->see.fp.place != ABI_USDT_NONE;
}

/* Does a probe there see the end of a call that will return that value? */
static bool sees_end(const struct prover *p, uint16_t node, value returned,
		     struct result_site *site)
{
	const struct code_node *n = &p->graph.nodes[node];
	bool sized, called = has_called(p, node);

	/* Nothing is to be called once a call has been counted. */
	if (returned == VALUE_NOT_YET || returned == VALUE_UNKNOWN || prover_is_call(n) ||
	    prover_is_return(p, node) || !prover_see(p, node, site))
		return false;
	site->see.result = result_place(&p->flow.in[node], returned);
	if (may_have_overflowed(p, node, returned, &site->see))
		return false;
	site->see.kind = called ? ABI_RESULT_ENDS : ABI_RESULT_WHOLE;
	site->is_rare = !n->is_emulated;
	sized = called || site->see.size.place != ABI_USDT_NONE;
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
	    !sees_end(p, node, prover_returned_by(p, node, to), site))
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
		if (prover_is_return(p, i))
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

bool prover_is_site(const struct prover *p, uint16_t node, struct result_site *ret_site)
{
	const struct code_node *n = &p->graph.nodes[node];

	return !p->facts[node].is_after && (has_counted(p, n->next) || has_counted(p, n->target)) &&
	       is_last_before(p, node, ret_site);
}

void prover_find(struct prover *p)
{
	memset(p->facts, 0, p->graph.n * sizeof(*p->facts));
	p->why = NULL;
	find_live(p);
	find_returned(p);
	find_passed(p);
	for (size_t i = 0; i < p->graph.n; i++)
		p->facts[i].can_end = p->facts[i].is_live &&
				      sees_end(p, i, p->facts[i].returned, &p->facts[i].site);
	cut(p);
}
