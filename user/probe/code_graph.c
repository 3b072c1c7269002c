/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/code_graph.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "probe/insn.h"
#include "probe/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N_PLACES (4 * GRAPH_MAX_NODES) /* a power of two */
/* How far behind its entry a function's own code is looked for. */
#define MAX_OWN_BYTES 16384

struct builder {
	struct insn_decoder *decoder;
	const struct sites_code *code;
	const struct plan_emulation *emulation;
	struct code_graph *graph;
	uint64_t entry;
	uint32_t *steps_left;
	const char *why; /* there is no graph */
	VEC(uint64_t) pending;
};

static void builder_done(struct builder *b)
{
	vec_done(&b->pending);
}

void code_graph_done(struct code_graph *graph)
{
	free(graph->nodes);
	free(graph->places);
	*graph = (struct code_graph){ 0 };
}

/* Where the node of that address is noted, or is to be. */
static uint16_t *place_of(const struct code_graph *graph, uint64_t addr)
{
	size_t at = hash_u64(addr) & (N_PLACES - 1);

	while (graph->places[at] != GRAPH_NONE && graph->nodes[graph->places[at]].addr != addr)
		at = (at + 1) & (N_PLACES - 1);
	return &graph->places[at];
}

static void give_up(struct builder *b, const char *why)
{
	if (!b->why)
		b->why = why;
}

/* The function that the instruction calls or jumps to; true: it is another one, named or not. */
static bool other_function(struct builder *b, const struct insn *insn, const char **ret_name)
{
	const struct sites_code *code = b->code;
	uint8_t bytes[2 * INSN_MAX_LEN];
	uint64_t slot;
	size_t n;

	*ret_name = NULL;
	if (insn->target_kind == INSN_TARGET_SLOT)
		*ret_name = code->slot_name(code->ctx, insn->target);
	if (insn->target_kind != INSN_TARGET_DIRECT)
		return true;
	if (insn->target == b->entry)
		return false;
	*ret_name = code->function_name(code->ctx, insn->target);
	if (*ret_name || code->starts_function(code->ctx, insn->target))
		return true;
	n = code->read(code->ctx, insn->target, bytes, sizeof(bytes));
	if (!insn_stub_slot(b->decoder, bytes, n, insn->target, &slot))
		return false;
	*ret_name = code->slot_name(code->ctx, slot);
	return true;
}

/* C's functions that return their first argument and call nothing that is counted. */
static bool fills_memory(const char *name)
{
	return strcmp(name, "memset") == 0 || strcmp(name, "memcpy") == 0 ||
	       strcmp(name, "memmove") == 0;
}

static void note_filling(struct code_node *node)
{
	node->is_quiet = true;
	node->effect.kind = EFFECT_CALL;
	node->effect.to = INSN_RAX;
	node->effect.from = insn_argument_register(1);
}

/* Fills where the instruction goes on, as addresses; 0: nowhere. */
static int note_ways(struct builder *b, const struct insn *insn, struct code_node *node)
{
	const char *name;

	switch (insn->flow) {
	case INSN_BRANCH:
		if (insn->target_kind != INSN_TARGET_DIRECT) {
			give_up(b, why_indirect);
			return 0;
		}
		return vec_push(&b->pending, insn->target);
	case INSN_JUMP:
		node->leaves = other_function(b, insn, &name);
		if (!node->leaves)
			return vec_push(&b->pending, insn->target);
		if (insn->target_kind == INSN_TARGET_DIRECT)
			node->callee = insn->target;
		if (name && (sites_is_noreturn(name) || fills_memory(name)))
			node->leaves = false;
		if (name && sites_is_noreturn(name))
			node->flow = INSN_TRAP;
		else if (name && fills_memory(name))
			note_filling(node);
		return 0;
	case INSN_CALL:
		(void)other_function(b, insn, &name); /* it is stepped over in any case */
		if (insn->target_kind == INSN_TARGET_DIRECT)
			node->callee = insn->target;
		if (name && fills_memory(name))
			note_filling(node);
		if (name && sites_is_noreturn(name))
			node->flow = INSN_TRAP;
		else if (b->code->landing_pad(b->code->ctx, insn->addr))
			give_up(b, why_landing_pad);
		return 0;
	default:
		return 0;
	}
}

/* 1: it was not there before. */
static int add_node(struct builder *b, uint64_t addr, const struct insn *insn)
{
	struct code_graph *graph = b->graph;
	uint16_t *place = place_of(graph, addr);
	struct code_node node = {
		.addr = addr,
		.len = insn->len,
		.flow = insn->flow,
		.is_emulated = !insn->is_refused && insn_is_emulated(insn, b->emulation),
		.is_refused = insn->is_refused,
		.is_nop = insn->is_nop,
		.next = GRAPH_NONE,
		.target = GRAPH_NONE,
	};
	int r;

	insn_effect(b->decoder, &node.effect);
	if (graph->n == GRAPH_MAX_NODES || *b->steps_left == 0) {
		give_up(b, why_large);
		return 0;
	}
	--*b->steps_left;
	/* The decoder decodes stubs, too: after the effect was asked for. */
	r = note_ways(b, insn, &node);
	if (r < 0)
		return r;
	*place = (uint16_t)graph->n;
	graph->nodes[graph->n++] = node;
	return 1;
}

/* As far as there is something new; see walk_path() in sites.c. */
static int build_path(struct builder *b, uint64_t addr)
{
	const struct sites_code *code = b->code;
	uint8_t bytes[INSN_MAX_LEN];
	bool after_call = false;
	struct code_node *node;
	struct insn insn;
	size_t n;
	int r;

	for (; !b->why; addr += node->len) {
		if ((after_call && code->starts_function(code->ctx, addr)) ||
		    *place_of(b->graph, addr) != GRAPH_NONE)
			return 0;
		n = code->read(code->ctx, addr, bytes, sizeof(bytes));
		if (n == 0 && after_call)
			return 0;
		if (n == 0 || insn_decode(b->decoder, bytes, n, addr, &insn) < 0) {
			give_up(b, why_unreadable);
			return 0;
		}
		r = add_node(b, addr, &insn);
		if (r <= 0)
			return r;
		node = &b->graph->nodes[b->graph->n - 1];
		after_call = node->flow == INSN_CALL || (after_call && node->is_nop);
		if (node->flow != INSN_NEXT && node->flow != INSN_BRANCH && node->flow != INSN_CALL)
			return 0;
	}
	return 0;
}

static uint16_t node_at(const struct code_graph *graph, uint64_t addr)
{
	return *place_of(graph, addr);
}

/* Where branches lead to, which the decoder says again. */
static void link_nodes(struct builder *b)
{
	struct code_graph *graph = b->graph;
	uint8_t bytes[INSN_MAX_LEN];
	struct insn insn;

	for (size_t i = 0; i < graph->n; i++) {
		struct code_node *node = &graph->nodes[i];
		size_t n = b->code->read(b->code->ctx, node->addr, bytes, sizeof(bytes));

		if (node->flow == INSN_NEXT || node->flow == INSN_BRANCH || node->flow == INSN_CALL)
			node->next = node_at(graph, node->addr + node->len);
		if ((node->flow != INSN_BRANCH && node->flow != INSN_JUMP) || node->leaves)
			continue;
		if (insn_decode(b->decoder, bytes, n, node->addr, &insn) == 0)
			node->target = node_at(graph, insn.target);
	}
}

/* By add_returns(): it is no instruction. */
static bool is_added(const struct code_node *node)
{
	return node->len == 0;
}

/* A function that jumps to one which returns its argument returns behind it. */
static bool add_returns(struct code_graph *graph)
{
	size_t n = graph->n;

	for (size_t i = 0; i < n; i++) {
		struct code_node *node = &graph->nodes[i];

		if (node->flow != INSN_JUMP || !node->is_quiet)
			continue;
		if (graph->n == GRAPH_MAX_NODES)
			return false;
		node->next = (uint16_t)graph->n;
		graph->nodes[graph->n++] = (struct code_node){
			.addr = node->addr,
			.effect = { .kind = EFFECT_WRITES,
				    .to = INSN_NO_REG,
				    .from = INSN_NO_REG,
				    .tested = INSN_NO_REG,
				    .condition = INSN_NO_CONDITION },
			.flow = INSN_RETURN,
			.is_refused = true,
			.next = GRAPH_NONE,
			.target = GRAPH_NONE,
		};
	}
	return true;
}

/* Is it reached by jumps from before `addr`, and by none from behind? */
static bool is_jumped_to_from_before(const struct code_graph *graph, uint16_t to, uint64_t addr)
{
	bool found = false;

	for (size_t i = 0; i < graph->n; i++) {
		if (graph->nodes[i].target != to)
			continue;
		if (graph->nodes[i].addr > addr)
			return false;
		found = true;
	}
	return found;
}

/*
 * A call that does not return shows by the padding behind it: compilers align what is reached by
 * jumps alone, and the heads of loops, to which something jumps back.
 */
static bool has_padding_behind(const struct code_graph *graph, const struct code_node *call)
{
	const struct code_node *node;
	uint16_t at = call->next;

	while (at != GRAPH_NONE && graph->nodes[at].is_nop)
		at = graph->nodes[at].next;
	if (at == GRAPH_NONE || at == call->next)
		return false;
	node = &graph->nodes[at];
	return node->addr % 8 == 0 && node->addr - call->addr < 24 &&
	       is_jumped_to_from_before(graph, at, call->addr);
}

void code_graph_end_call(struct code_graph *graph, uint16_t node)
{
	graph->nodes[node].flow = INSN_TRAP;
	graph->nodes[node].next = GRAPH_NONE;
}

static void end_calls(struct code_graph *graph)
{
	for (size_t i = 0; i < graph->n; i++) {
		const struct code_node *node = &graph->nodes[i];

		if (node->flow == INSN_CALL &&
		    (node->next == GRAPH_NONE || has_padding_behind(graph, node)))
			code_graph_end_call(graph, (uint16_t)i);
	}
}

int code_graph_new(struct insn_decoder *decoder, const struct sites_code *code, uint64_t entry,
		   const struct plan_emulation *emulation, uint32_t *steps_left,
		   struct code_graph *ret_graph, const char **ret_why)
{
	struct code_graph *graph = ret_graph;
	_cleanup_(builder_done) struct builder b = {
		.decoder = decoder,
		.code = code,
		.emulation = emulation,
		.graph = graph,
		.entry = entry,
		.steps_left = steps_left,
	};
	int r;

	*graph = (struct code_graph){
		.nodes = malloc(GRAPH_MAX_INLINED * sizeof(*graph->nodes)),
		.places = malloc(N_PLACES * sizeof(*graph->places)),
	};
	if (!graph->nodes || !graph->places)
		return -ENOMEM;
	memset(graph->places, 0xff, N_PLACES * sizeof(*graph->places));
	r = vec_push(&b.pending, entry);
	while (r == 0 && b.pending.len && !b.why)
		r = build_path(&b, b.pending.data[--b.pending.len]);
	if (r < 0)
		return r;
	if (!b.why) {
		link_nodes(&b);
		end_calls(graph);
		if (!add_returns(graph))
			b.why = why_large;
	}
	*ret_why = b.why;
	return 0;
}

/* No symbol and no unwind information begins between the entry and what is the function's own. */
void code_graph_find_own(struct code_graph *graph, const struct sites_code *code)
{
	uint64_t entry = graph->nodes[0].addr, last = entry, end = entry + 1;

	for (size_t i = 0; i < graph->n; i++)
		if (graph->nodes[i].addr > last && graph->nodes[i].addr - entry < MAX_OWN_BYTES)
			last = graph->nodes[i].addr;
	while (end <= last && !code->starts_function(code->ctx, end))
		end++;
	for (size_t i = 0; i < graph->n; i++) {
		struct code_node *node = &graph->nodes[i];

		node->is_own = node->addr >= entry && node->addr < end && !is_added(node);
	}
}

static void reach(uint16_t to, bool *is_reached, uint16_t *pending, size_t *n_pending)
{
	if (to == GRAPH_NONE || is_reached[to])
		return;
	is_reached[to] = true;
	pending[(*n_pending)++] = to;
}

int code_graph_reach(const struct code_graph *graph, bool **ret_is_reached)
{
	bool *is_reached = calloc(graph->n, sizeof(*is_reached));
	uint16_t *pending = calloc(graph->n, sizeof(*pending));
	size_t n = 0;

	if (is_reached && pending)
		reach(0, is_reached, pending, &n);
	while (n && is_reached && pending) {
		const struct code_node *node = &graph->nodes[pending[--n]];

		reach(node->next, is_reached, pending, &n);
		reach(node->target, is_reached, pending, &n);
	}
	free(pending);
	*ret_is_reached = is_reached;
	return is_reached && pending ? 0 : -ENOMEM;
}

/* The return address is on the stack while the callee runs, and no more when it has returned. */
static void put_in_place(struct code_graph *graph, uint16_t call, struct code_node node)
{
	const struct graph_frame *frame = &graph->frames[graph->n_frames - 1];

	node.frame = (uint8_t)graph->n_frames;
	if (node.next != GRAPH_NONE)
		node.next += frame->entry;
	if (node.target != GRAPH_NONE)
		node.target += frame->entry;
	if (node.flow == INSN_RETURN) {
		node.effect.kind = EFFECT_ADD;
		node.effect.to = node.effect.from = INSN_RSP;
		node.effect.value = 8;
		node.flow = INSN_NEXT;
		node.next = graph->nodes[call].next;
	}
	graph->nodes[graph->n++] = node;
}

bool code_graph_inline(struct code_graph *graph, uint16_t call, const struct code_graph *callee)
{
	struct code_node *at = &graph->nodes[call];

	if (graph->n_frames == GRAPH_MAX_FRAMES || graph->n + callee->n > GRAPH_MAX_INLINED)
		return false;
	for (size_t i = 0; i < callee->n; i++)
		if (callee->nodes[i].leaves)
			return false;
	graph->frames[graph->n_frames++] =
		(struct graph_frame){ .entry = (uint16_t)graph->n, .link = at->addr + at->len };
	for (size_t i = 0; i < callee->n; i++)
		put_in_place(graph, call, callee->nodes[i]);
	at->effect.kind = EFFECT_PUSH;
	at->effect.from = INSN_NO_REG;
	at->flow = INSN_NEXT;
	at->next = graph->frames[graph->n_frames - 1].entry;
	return true;
}
