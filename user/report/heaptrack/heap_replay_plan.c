/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/heaptrack/heap_replay_plan.h"

#include <errno.h>

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* a * b / c, which is at most a; 0 by 0. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t c)
{
	return c ? (uint64_t)((unsigned __int128)a * b / c) : 0;
}

/* Frees the newest pieces first. What is left of one freed in part is a piece of its own. */
static int free_pieces(struct plan *plan, uint64_t bytes, size_t stage)
{
	for (size_t i = plan->site.len; i > 0 && bytes > 0;) {
		struct piece *piece = &plan->site.data[--i];
		struct piece rest = *piece;

		if (piece->death != PIECE_STAYS)
			continue;
		piece->death = stage;
		if (piece->bytes > bytes) {
			rest.bytes -= bytes;
			piece->bytes = bytes;
			return vec_push(&plan->site, rest);
		}
		bytes -= piece->bytes;
	}
	return 0;
}

static size_t n_staying(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->site.len; i++)
		n += plan->site.data[i].death == PIECE_STAYS;
	return n;
}

/* More pieces stay than there are blocks at the end: these are all of them new then. */
static int renew(struct plan *plan, const struct replay_site *site, size_t index, size_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->site.len; i++) {
		struct piece piece = plan->site.data[i];

		if (piece.birth == end)
			continue;
		if (piece.death == PIECE_STAYS)
			piece.death = end;
		plan->site.data[n++] = piece;
	}
	plan->site.len = n;
	return vec_push(&plan->site,
			(struct piece){ index, end, PIECE_STAYS, site->live_bytes, 1, false });
}

/* The pieces whose sums are what the site holds at each stage. */
static int make_pieces(struct plan *plan, const struct stages *stages,
		       const struct replay_site *site, size_t index, bool samples)
{
	uint64_t before = 0;
	int r = 0;

	plan->site.len = 0;
	for (size_t i = 0; r == 0 && i < stages->list.len; i++) {
		uint64_t live = stages_live(stages, site, samples, i);

		if (live < before)
			r = free_pieces(plan, before - live, i);
		else if (live > before)
			r = vec_push(&plan->site, (struct piece){ index, i, PIECE_STAYS,
								  live - before, 1, false });
		before = live;
	}
	if (r == 0 && site->live_blocks > 0 && n_staying(plan) > site->live_blocks)
		r = renew(plan, site, index, stages->list.len - 1);
	return r;
}

/* A block that makes the peak and is freed at once. */
static bool make_temporary(struct plan *plan, const struct stages *stages)
{
	for (size_t i = 0; !plan->has_temporary && i < plan->site.len; i++) {
		struct piece *piece = &plan->site.data[i];

		if (piece->birth != stages->peak || piece->death != stages->peak + 1)
			continue;
		piece->temporary = plan->has_temporary = true;
		return true;
	}
	return false;
}

/*
 * `spare` blocks more than one each: those that stay have as many as there are at the end, others
 * as the mean size says. Blocks from before the trace are no calls, so that there can be too few.
 */
static void share_blocks(struct plan *plan, const struct replay_site *site, uint64_t spare)
{
	uint64_t more = smaller(less(site->live_blocks, n_staying(plan)), spare);
	uint64_t mean = site->allocs ? site->bytes / site->allocs : 0, given = 0, bytes = 0;

	spare -= more;
	for (size_t i = 0; i < plan->site.len; i++) {
		struct piece *piece = &plan->site.data[i];
		uint64_t wanted;

		if (piece->death == PIECE_STAYS) {
			bytes += piece->bytes;
			wanted = share(more, bytes, site->live_bytes) - given;
			given += wanted;
		} else {
			wanted = smaller(less(mean ? piece->bytes / mean : 0, 1), spare);
			spare -= wanted;
		}
		piece->blocks = 1 + wanted;
	}
}

static int add_site_to_plan(struct plan *plan, const struct replay_site *site, size_t index,
			    uint64_t temporary)
{
	uint64_t blocks = 0, bytes = 0;
	struct passing passing;
	int r = vec_reserve(&plan->pieces, plan->pieces.len + plan->site.len);

	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->site.len; i++) {
		blocks += plan->site.data[i].blocks;
		bytes += plan->site.data[i].bytes;
		plan->pieces.data[plan->pieces.len++] = plan->site.data[i];
	}
	passing = (struct passing){
		.site = index,
		.temporary = temporary,
		.others = less(less(site->allocs, temporary), blocks),
		.bytes = less(site->bytes, bytes),
	};
	return passing.temporary || passing.others ? vec_push(&plan->passing, passing) : 0;
}

/*
 * Calls that were temporary are in no piece. Where the others are too few for what samples saw, a
 * sample saw a temporary block, and the site does without samples; where they still are, the peak
 * had one.
 */
int plan_add(struct plan *plan, const struct stages *stages, const struct replay_site *site,
	     size_t index)
{
	uint64_t temporary = site->temporary, needed, left;
	int r = make_pieces(plan, stages, site, index, true);

	if (r == 0 && plan->site.len > less(site->allocs, temporary))
		r = make_pieces(plan, stages, site, index, false);
	if (r < 0)
		return r;
	needed = plan->site.len;
	left = less(site->allocs, needed);
	if (temporary > left) {
		uint64_t missing = temporary - left;

		missing -= make_temporary(plan, stages);
		plan->faults.missing_temporary += missing;
		temporary = left;
	}
	plan->faults.extra_allocs += less(needed, site->allocs);
	share_blocks(plan, site, left - temporary);
	return add_site_to_plan(plan, site, index, temporary);
}

void plan_done(struct plan *plan)
{
	vec_done(&plan->pieces);
	vec_done(&plan->passing);
	vec_done(&plan->site);
}
