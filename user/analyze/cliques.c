/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/cliques.h"

#include "base/clock.h"

#define PIECE (1ULL << 20) /* the clock is looked at for each, and for each of so many blocks: */
#define LOOKS_AT_CLOCK 64U

struct cliques {
	struct scanner *scanner;
	struct reach_verdict *verdicts;
	uint32_t *next, head; /* what of the clique is still to be looked through */
	uint32_t leader;
	unsigned int looks;
	bool cut;
};

static void push(struct cliques *c, uint32_t block)
{
	c->next[block] = c->head;
	c->head = block;
}

static void found(void *ctx, uint32_t block, uint64_t word)
{
	struct cliques *c = ctx;
	struct reach_verdict *v = &c->verdicts[block];

	(void)word; /* of lost blocks, start and inside are one */
	if (v->class != REACH_DEFINITE || block == c->leader)
		return;
	v->class = REACH_INDIRECT;
	v->leader = c->leader;
	/* An earlier leader has been looked through: what it leads to was taken then. */
	if (block > c->leader)
		push(c, block);
}

static void look_at_clock(struct cliques *c)
{
	uint64_t deadline = c->scanner->opts->deadline_ns;

	if (deadline && clock_monotonic_ns() >= deadline)
		c->cut = true;
}

static void look_through(struct cliques *c, uint32_t block)
{
	uint64_t start = c->scanner->input->blocks[block].addr;
	uint64_t end = block_index_end(c->scanner->index, block);

	if (!c->scanner->input->blocks[block].size)
		return;
	if (c->looks++ % LOOKS_AT_CLOCK == 0)
		look_at_clock(c);
	while (start < end && !c->cut) {
		uint64_t limit = end - start > PIECE ? start + PIECE : end;

		scanner_block_part(c->scanner, block, start, limit);
		start = limit;
		if (start < end)
			look_at_clock(c);
	}
}

/* The leader of a leader that was taken is the later one's, and so on: leads to the last. */
static void follow_leaders(struct reach_verdict *verdicts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t last = i, at = i;

		if (verdicts[i].class != REACH_INDIRECT)
			continue;
		while (verdicts[last].class == REACH_INDIRECT)
			last = verdicts[last].leader;
		while (verdicts[at].leader != last) {
			uint32_t following = verdicts[at].leader;

			verdicts[at].leader = last;
			at = following;
		}
	}
}

bool cliques_divide(struct scanner *scanner, struct reach_verdict *verdicts, uint32_t *next)
{
	struct cliques c = { .scanner = scanner, .verdicts = verdicts, .next = next };
	uint32_t n = scanner->input->n_blocks;

	scanner->found = found;
	scanner->ctx = &c;
	for (uint32_t i = 0; i < n && !c.cut; i++) {
		if (verdicts[i].class != REACH_DEFINITE)
			continue;
		c.leader = i;
		c.head = BLOCK_NONE;
		push(&c, i);
		while (c.head != BLOCK_NONE && !c.cut) {
			uint32_t block = c.head;

			c.head = next[block];
			look_through(&c, block);
		}
	}
	follow_leaders(verdicts, n);
	return !c.cut;
}
