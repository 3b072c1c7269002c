/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/heaptrack/heap_replay.h"

#include "base/saturate.h"
#include "report/heaptrack/heap_replay_stages.h"

#include <errno.h>

/* --- the plan --------------------------------------------------------------------------------- */

/*
 * What each site of a made-up course of a heap does: pieces of memory that it takes at one stage
 * and drops at a later one, and what comes and goes in between.
 */

#define PIECE_STAYS SIZE_MAX

struct piece {
	size_t site;
	size_t birth, death; /* stages; death: PIECE_STAYS for ever */
	uint64_t bytes, blocks;
	bool temporary; /* taken last at the peak, and dropped first after it */
};

/* Blocks that are in no piece. */
struct passing {
	size_t site;
	uint64_t temporary, others, bytes;
};

struct plan {
	VEC(struct piece) pieces;
	VEC(struct passing) passing;
	struct replay_faults faults;
	bool has_temporary;	/* a piece is; only one can be, since nothing may come in between */
	VEC(struct piece) site; /* the pieces of the site at hand */
};

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
	uint64_t more = min_u64(saturate_subtract_u64(site->live_blocks, n_staying(plan)), spare);
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
			wanted = min_u64(saturate_subtract_u64(mean ? piece->bytes / mean : 0, 1),
					 spare);
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
		.others = saturate_subtract_u64(saturate_subtract_u64(site->allocs, temporary),
						blocks),
		.bytes = saturate_subtract_u64(site->bytes, bytes),
	};
	return passing.temporary || passing.others ? vec_push(&plan->passing, passing) : 0;
}

/*
 * Adds what the site does. Calls that were temporary are in no piece. Where the others are too few
 * for what samples saw, a sample saw a temporary block, and the site does without samples; where
 * they still are, the peak had one. 0 or -ENOMEM.
 */
static int plan_add(struct plan *plan, const struct stages *stages, const struct replay_site *site,
		    size_t index)
{
	uint64_t temporary = site->temporary, needed, left;
	int r = make_pieces(plan, stages, site, index, true);

	if (r == 0 && plan->site.len > saturate_subtract_u64(site->allocs, temporary))
		r = make_pieces(plan, stages, site, index, false);
	if (r < 0)
		return r;
	needed = plan->site.len;
	left = saturate_subtract_u64(site->allocs, needed);
	if (temporary > left) {
		uint64_t missing = temporary - left;

		missing -= make_temporary(plan, stages);
		plan->faults.missing_temporary += missing;
		temporary = left;
	}
	plan->faults.extra_allocs += saturate_subtract_u64(needed, site->allocs);
	share_blocks(plan, site, left - temporary);
	return add_site_to_plan(plan, site, index, temporary);
}

static void plan_done(struct plan *plan)
{
	vec_done(&plan->pieces);
	vec_done(&plan->passing);
	vec_done(&plan->site);
}

/* --- the replay ------------------------------------------------------------------------------- */

struct heap_replay {
	struct stages stages;
	struct plan plan;  /* its pieces by their birth */
	VEC(size_t) drops; /* pieces that are freed, by their death */
	uint64_t n_passing;
};

/* While the steps are handed over. */
struct course {
	const struct heap_replay *replay;
	replay_fn fn;
	void *userdata;
	size_t next_piece, next_drop;
	uint64_t live, taken;	 /* bytes now, and calls so far, of pieces */
	uint64_t passed;	 /* calls so far that are due of the others */
	uint64_t *done;		 /* of each of the plan's passing: calls so far */
	struct replay_step kept; /* one that is due; count 0: none */
	bool begun;
	size_t last_taken; /* site of the last step, if it took a piece; else SIZE_MAX */
};

static int compare_births(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	if (x->temporary != y->temporary)
		return x->temporary - y->temporary;
	return (x->death > y->death) - (x->death < y->death);
}

static int compare_deaths(const void *a, const void *b, void *userdata)
{
	const struct piece *pieces = userdata;
	const struct piece *x = &pieces[*(const size_t *)a], *y = &pieces[*(const size_t *)b];

	if (x->death != y->death)
		return x->death < y->death ? -1 : 1;
	if (x->temporary != y->temporary)
		return y->temporary - x->temporary;
	return (x > y) - (x < y);
}

/* What stays longest is taken last, the oldest freed first: so what is freed is not the last. */
static int sort_pieces(struct heap_replay *replay)
{
	struct plan *plan = &replay->plan;
	int r = 0;

	if (plan->pieces.len == 0)
		return 0;
	vec_sort(&plan->pieces, compare_births);
	for (size_t i = 0; r == 0 && i < plan->pieces.len; i++)
		if (plan->pieces.data[i].death != PIECE_STAYS)
			r = vec_push(&replay->drops, i);
	if (replay->drops.len > 0)
		qsort_r(replay->drops.data, replay->drops.len, sizeof(*replay->drops.data),
			compare_deaths, plan->pieces.data);
	return r;
}

int heap_replay_new(const struct replay_site *sites, size_t n, const struct view_timeline *timeline,
		    uint64_t end_ns, struct heap_replay **ret_replay)
{
	_cleanup_(heap_replay_free_p) struct heap_replay *replay = calloc(1, sizeof(*replay));
	int r = replay ? stages_init(&replay->stages, sites, n, timeline, end_ns) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = plan_add(&replay->plan, &replay->stages, &sites[i], i);
	if (r == 0)
		r = sort_pieces(replay);
	if (r < 0)
		return r;
	for (size_t i = 0; i < replay->plan.passing.len; i++)
		replay->n_passing += replay->plan.passing.data[i].temporary +
				     replay->plan.passing.data[i].others;
	*ret_replay = TAKE_PTR(replay);
	return 0;
}

void heap_replay_free(struct heap_replay *replay)
{
	if (!replay)
		return;
	stages_done(&replay->stages);
	plan_done(&replay->plan);
	vec_done(&replay->drops);
	free(replay);
}

struct replay_faults heap_replay_faults(const struct heap_replay *replay)
{
	return replay->plan.faults;
}

static int hand_over(struct course *course, const struct replay_step *step)
{
	if (step->what != REPLAY_TIME)
		course->last_taken = step->what == REPLAY_TAKE ? step->site : SIZE_MAX;
	return course->fn(step, course->userdata);
}

/* Blocks of two sizes, one byte apart; a temporary one is taken last, and the first dropped. */
static int step_piece(struct course *course, enum replay_what what, const struct piece *piece)
{
	uint64_t larger = piece->bytes % piece->blocks;
	struct replay_step step = {
		.what = what,
		.site = piece->site,
		.temporary = what == REPLAY_DROP && piece->temporary,
	};
	size_t second = step.temporary ? 0 : 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2; i++) {
		bool is_larger = i == second;

		step.size = piece->bytes / piece->blocks + is_larger;
		step.count = is_larger ? larger : piece->blocks - larger;
		if (step.count == 0)
			continue;
		r = hand_over(course, &step);
		step.temporary = false;
	}
	return r;
}

static int apply_pieces(struct course *course, size_t stage)
{
	const struct plan *plan = &course->replay->plan;
	int r = 0;

	for (; r == 0 && course->next_piece < plan->pieces.len; course->next_piece++) {
		const struct piece *piece = &plan->pieces.data[course->next_piece];

		if (piece->birth != stage)
			break;
		r = step_piece(course, REPLAY_TAKE, piece);
		course->live += piece->bytes;
		course->taken += piece->blocks;
	}
	return r;
}

static int pass_kept(struct course *course)
{
	const struct replay_step kept = course->kept;

	course->kept.count = 0;
	return kept.count > 0 ? hand_over(course, &kept) : 0;
}

static bool is_single(const struct replay_step *step)
{
	return step->what == REPLAY_PASSING && step->count == 1;
}

/* A single passing block is freed after the step that follows: another one is kept for that. */
static int pass_step(struct course *course, const struct replay_step *step)
{
	int r;

	if (is_single(step) && course->kept.count > 0 && !is_single(&course->kept))
		return hand_over(course, step);
	r = pass_kept(course);
	course->kept = *step;
	return r;
}

/*
 * The calls from `from` to `to` of those of one site, temporary ones first, each with the mean size
 * if that fits.
 */
static int pass_site(struct course *course, const struct passing *passing, uint64_t from,
		     uint64_t to, uint64_t room)
{
	uint64_t count = passing->temporary + passing->others;
	uint64_t size = passing->bytes / count, larger = passing->bytes % count;
	uint64_t n_larger = min_u64(to, larger) - min_u64(from, larger);
	uint64_t n_temporary =
		to - from -
		(share(passing->others, to, count) - share(passing->others, from, count));
	uint64_t temporary_larger = min_u64(n_temporary, n_larger);
	const uint64_t counts[] = {
		temporary_larger,
		n_temporary - temporary_larger,
		n_larger - temporary_larger,
		to - from - n_temporary - (n_larger - temporary_larger),
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < 4; i++) {
		const struct replay_step step = {
			.what = i < 2 ? REPLAY_TEMPORARY : REPLAY_PASSING,
			.site = passing->site,
			.size = min_u64(size + (i % 2 == 0), room),
			.count = counts[i],
		};

		if (step.count > 0)
			r = pass_step(course, &step);
	}
	return r;
}

/* A call of any site, so that what is freed next is not what was taken last. */
static int pass_between(struct course *course)
{
	const struct plan *plan = &course->replay->plan;
	int r;

	for (size_t i = 0; i < plan->passing.len; i++) {
		const struct passing *passing = &plan->passing.data[i];

		if (course->done[i] == passing->temporary + passing->others)
			continue;
		r = pass_site(course, passing, course->done[i], course->done[i] + 1, 0);
		course->done[i]++;
		return r < 0 ? r : pass_kept(course);
	}
	return 0;
}

static int drop_pieces(struct course *course, size_t stage)
{
	const struct heap_replay *replay = course->replay;
	int r = 0;

	for (; r == 0 && course->next_drop < replay->drops.len; course->next_drop++) {
		const struct piece *piece =
			&replay->plan.pieces.data[replay->drops.data[course->next_drop]];

		if (piece->death != stage)
			break;
		if (course->last_taken == piece->site && !piece->temporary)
			r = pass_between(course);
		if (r == 0)
			r = step_piece(course, REPLAY_DROP, piece);
		course->live -= piece->bytes;
	}
	return r;
}

/* How many calls are to be made by then; two are left for the end, where nothing may follow. */
static uint64_t passing_due(const struct course *course, size_t stage)
{
	const struct heap_replay *replay = course->replay;
	const struct stage *at = &replay->stages.list.data[stage];
	const struct plan *plan = &replay->plan;
	uint64_t taken = course->taken, due;

	if (at->kind == STAGE_END || replay->n_passing == 1)
		return replay->n_passing;
	for (size_t i = course->next_piece;
	     i < plan->pieces.len && plan->pieces.data[i].birth == stage; i++)
		taken += plan->pieces.data[i].blocks;
	due = at->allocs == UINT64_MAX ? 0 : saturate_subtract_u64(at->allocs, taken);
	due = min_u64(due, saturate_subtract_u64(replay->n_passing, 2));
	return due > course->passed ? due : course->passed;
}

/*
 * Calls of all sites evenly, until as many are made as were made by then. They come while least is
 * held, and are so small that two of them make no peak. What is held beyond, until it is freed, has
 * no size.
 */
static int replay_passing(struct course *course, size_t stage)
{
	const struct heap_replay *replay = course->replay;
	const struct plan *plan = &replay->plan;
	bool after_peak = replay->stages.peak != SIZE_MAX && stage > replay->stages.peak;
	uint64_t room =
		saturate_subtract_u64(replay->stages.at_peak, course->live + !after_peak) / 2;
	uint64_t sum = 0, due = passing_due(course, stage);
	int r = 0;

	for (size_t i = 0; r == 0 && due > course->passed && i < plan->passing.len; i++) {
		const struct passing *passing = &plan->passing.data[i];
		uint64_t before = share(sum, due, replay->n_passing), to;

		sum += passing->temporary + passing->others;
		to = share(sum, due, replay->n_passing) - before;
		to = min_u64(to, passing->temporary + passing->others);
		if (to > course->done[i])
			r = pass_site(course, passing, course->done[i], to, room);
		course->done[i] = to > course->done[i] ? to : course->done[i];
	}
	course->passed = due;
	if (is_single(&course->kept))
		course->kept.size = 0;
	return r < 0 ? r : pass_kept(course);
}

static int step_time(struct course *course, const struct stage *stage)
{
	const struct replay_step step = {
		.what = REPLAY_TIME,
		.time_ns = stage->time_ns,
		.point = stage->point,
	};

	return hand_over(course, &step);
}

/* Readers take the first number for none: a temporary block can have it. */
static int pass_first(struct course *course)
{
	const struct plan *plan = &course->replay->plan;
	uint64_t room = saturate_subtract_u64(course->replay->stages.at_peak, 1) / 2;
	int r;

	course->begun = true;
	for (size_t i = 0; i < plan->passing.len; i++) {
		if (plan->passing.data[i].temporary == 0)
			continue;
		course->done[i] = 1;
		r = pass_site(course, &plan->passing.data[i], 0, 1, room);
		return r < 0 ? r : pass_kept(course);
	}
	return 0;
}

static bool does_anything(const struct course *course, size_t stage)
{
	const struct plan *plan = &course->replay->plan;

	return passing_due(course, stage) > 0 ||
	       (plan->pieces.len > 0 && plan->pieces.data[0].birth == stage);
}

/* What was there at a sample happened before it; the peak's own time is that of its last call. */
static int walk_stage(struct course *course, size_t i)
{
	const struct stage *stage = &course->replay->stages.list.data[i];
	int r = !course->begun && does_anything(course, i) ? pass_first(course) : 0;

	if (r == 0)
		r = drop_pieces(course, i);
	if (r == 0)
		r = replay_passing(course, i);
	if (r == 0 && stage->kind == STAGE_PEAK)
		r = step_time(course, stage);
	if (r == 0)
		r = apply_pieces(course, i);
	if (r == 0 && stage->kind != STAGE_PEAK)
		r = step_time(course, stage);
	return r;
}

int heap_replay_walk(const struct heap_replay *replay, replay_fn fn, void *userdata)
{
	_cleanup_free_ uint64_t *done = calloc(replay->plan.passing.len + 1, sizeof(*done));
	struct course course = { .replay = replay,
				 .fn = fn,
				 .userdata = userdata,
				 .done = done,
				 .last_taken = SIZE_MAX };
	int r = done ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < replay->stages.list.len; i++)
		r = walk_stage(&course, i);
	return r;
}
