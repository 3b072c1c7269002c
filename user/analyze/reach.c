/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/reach.h"

#include "analyze/scanner.h"
#include "analyze/trace_blocks.h"
#include "base/clock.h"

#include <errno.h>

/*
 * Divides lost blocks as memcheck does: in the order of addresses each one that nothing has been
 * found to lead to becomes a leader, and takes what it leads to, earlier leaders with theirs, too.
 */

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

static void push_block(struct cliques *c, uint32_t block)
{
	c->next[block] = c->head;
	c->head = block;
}

static void mark_indirect(void *ctx, uint32_t block, uint64_t word)
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
		push_block(c, block);
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

/*
 * Lost are the verdicts of REACH_DEFINITE with REACH_NO_LEADER; those that hang on another become
 * REACH_INDIRECT. `next` is room for n_blocks. False: the deadline came first, and what had not
 * been looked at is left definite.
 */
static bool cliques_divide(struct scanner *scanner, struct reach_verdict *verdicts, uint32_t *next)
{
	struct cliques c = { .scanner = scanner, .verdicts = verdicts, .next = next };
	uint32_t n = scanner->input->n_blocks;

	scanner->found = mark_indirect;
	scanner->ctx = &c;
	for (uint32_t i = 0; i < n && !c.cut; i++) {
		if (verdicts[i].class != REACH_DEFINITE)
			continue;
		c.leader = i;
		c.head = BLOCK_NONE;
		push_block(&c, i);
		while (c.head != BLOCK_NONE && !c.cut) {
			uint32_t block = c.head;

			c.head = next[block];
			look_through(&c, block);
		}
	}
	follow_leaders(verdicts, n);
	return !c.cut;
}

const char *reach_class_name(enum reach_class class)
{
	static const char *const names[REACH_CLASSES] = {
		[REACH_DEFINITE] = "definite",
		[REACH_INDIRECT] = "indirect",
		[REACH_POSSIBLE] = "possible",
		[REACH_REACHABLE] = "reachable",
	};

	return names[class];
}

const char *reach_heuristic_name(enum reach_heuristic heuristic)
{
	static const char *const names[REACH_HEURISTICS] = {
		[REACH_BY_POINTER] = "",
		[REACH_STDSTRING] = "stdstring",
		[REACH_LENGTH64] = "length64",
		[REACH_NEWARRAY] = "newarray",
		[REACH_MULTIPLE_INHERITANCE] = "multipleinheritance",
	};

	return names[heuristic];
}

void reach_opts_init(struct reach_opts *opts)
{
	*opts = (struct reach_opts){
		.heuristics = REACH_ALL_HEURISTICS,
		.alignment = 8,
		.threads = 1,
	};
}

static struct reach_verdict verdict(uint8_t mark)
{
	struct reach_verdict v = { .leader = REACH_NO_LEADER, .class = REACH_DEFINITE };

	if (mark & TRACE_DEFINITE) {
		v.class = REACH_REACHABLE;
		if (mark & TRACE_BY_START)
			return v;
		v.heuristic = REACH_STDSTRING;
		while (!(mark & TRACE_HEURISTIC(v.heuristic)))
			v.heuristic++;
	} else if (mark & (TRACE_POSSIBLE | TRACE_INSIDE)) {
		v.class = REACH_POSSIBLE;
	}
	return v;
}

static int classify(const struct reach_input *input, const struct reach_opts *opts,
		    const struct block_index *index, struct reach_verdict *verdicts,
		    struct scanner *scanner, struct reach_stats *stats)
{
	size_t room = input->n_blocks ? input->n_blocks : 1;
	_cleanup_free_ _Atomic uint8_t *marks = calloc(room, sizeof(*marks));
	_cleanup_free_ uint32_t *next = malloc(room * sizeof(*next));
	struct trace_result traced = { .marks = marks, .next = next };
	int r;

	if (!marks || !next)
		return -ENOMEM;
	r = trace_blocks(input, opts, index, &traced);
	if (r)
		return r;
	for (size_t i = 0; i < input->n_blocks; i++)
		verdicts[i] = verdict(marks[i]);
	if (traced.cut)
		stats->end = REACH_CUT_ROOTS;
	else if (!cliques_divide(scanner, verdicts, next))
		stats->end = REACH_CUT_CLIQUES;
	scanner_counts_add(&scanner->counts, &traced.counts);
	return 0;
}

static int check_and_classify(const struct reach_input *input, const struct reach_opts *opts,
			      struct reach_verdict *verdicts, struct reach_stats *stats)
{
	_cleanup_(block_index_free_p) struct block_index *index = NULL;
	struct scanner scanner;
	int r = block_index_new(input->blocks, input->n_blocks, &index);

	if (r)
		return r;
	stats->overlapping = block_index_overlapping(index);
	r = scanner_init(&scanner, input, opts, index);
	if (!r)
		r = classify(input, opts, index, verdicts, &scanner, stats);
	stats->root_bytes = scanner.counts.root_bytes;
	stats->block_bytes = scanner.counts.block_bytes;
	stats->unreadable_bytes = scanner.counts.unreadable_bytes;
	stats->glibc_words = scanner.counts.glibc_words;
	scanner_done(&scanner);
	return r;
}

int reach_classify(const struct reach_input *input, const struct reach_opts *opts,
		   struct reach_verdict *verdicts, struct reach_stats *ret_stats)
{
	struct reach_stats stats = { .end = REACH_COMPLETE };
	uint64_t began = clock_monotonic_ns();
	int r;

	if (opts->alignment != 1 && opts->alignment != 2 && opts->alignment != 4 &&
	    opts->alignment != 8)
		return -EINVAL;
	r = check_and_classify(input, opts, verdicts, &stats);
	if (r)
		return r;
	stats.ns = clock_monotonic_ns() - began;
	*ret_stats = stats;
	return 0;
}
