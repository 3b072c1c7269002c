/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_jobs.h"

#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/*
 * Would numbers of the two say the same? The same event in the same unit, at the same rate where it
 * is sampled by a clock; the same quantity in the same buckets.
 */
static bool events_match(const struct record_event *a, const struct record_event *b)
{
	return same_text(a->name, b->name) && a->timed == b->timed && a->period_ns == b->period_ns;
}

static bool histograms_match(const struct record_histogram *a, const struct record_histogram *b)
{
	return same_text(a->spec, b->spec) && same_text(a->unit, b->unit) &&
	       same_text(a->by, b->by) && a->linear == b->linear && a->step == b->step;
}

static uint64_t change_of(const struct diff_stack *stack)
{
	uint64_t before = stack->values[DIFF_BEFORE], after = stack->values[DIFF_AFTER];

	return before < after ? after - before : before - after;
}

static int compare_stacks(const void *item_a, const void *item_b)
{
	const struct diff_stack *a = item_a, *b = item_b;
	uint64_t x = change_of(a), y = change_of(b);

	return x != y ? (x < y) - (x > y) : strcmp(a->key, b->key);
}

struct matching {
	struct diff_keys *keys;
	struct diff_event *event;
	VEC(struct diff_stack) stacks; /* of the event's keys, by their numbers */
	struct strbuf text;
};

static int add_stack(struct matching *m, unsigned int side, const struct view_event_stack *from)
{
	struct diff_stack *to;
	size_t index;
	int r;

	strbuf_reset(&m->text);
	diff_keys_program(m->keys, side, from->image, &m->text);
	strbuf_addch(&m->text, '\n');
	r = diff_keys_stack(m->keys, side, from->image, &from->stack, &m->text);
	if (r == 0)
		r = interns_add_string(&m->event->keys, strbuf_str(&m->text), &index);
	if (r == 1)
		r = vec_push(&m->stacks,
			     (struct diff_stack){ .image = from->image,
						  .stack = &from->stack,
						  .shown_side = side,
						  .key = interns_get(&m->event->keys, index) });
	if (r < 0)
		return r;
	to = &m->stacks.data[index];
	to->seen[side] = true;
	to->counts[side] = saturate_add_u64(to->counts[side], from->count);
	to->values[side] =
		saturate_add_u64(to->values[side], view_event_value(m->event->sides[side], from));
	return 0;
}

/* The later run first: what it has is shown. */
static int match_stacks(struct diff_keys *keys, struct diff_event *event)
{
	static const unsigned int order[] = { DIFF_AFTER, DIFF_BEFORE };
	struct matching m = { .keys = keys, .event = event };
	int r = 0;

	for (size_t i = 0; r == 0 && i < DIFF_SIDES; i++) {
		const struct view_event *side = event->sides[order[i]];

		for (size_t j = 0; r == 0 && j < side->n_stacks; j++)
			r = add_stack(&m, order[i], &side->stacks[j]);
	}
	event->stacks = m.stacks.data;
	event->n_stacks = m.stacks.len;
	if (r == 0 && event->n_stacks > 0)
		qsort(event->stacks, event->n_stacks, sizeof(event->stacks[0]), compare_stacks);
	strbuf_done(&m.text);
	return r;
}

/* The first of the later run's that is it and has no other yet; else it stands alone. */
static int match_events(const struct view *const views[DIFF_SIDES], struct diff_keys *keys,
			struct diff_jobs *jobs)
{
	size_t n[] = { view_n_events(views[DIFF_BEFORE]), view_n_events(views[DIFF_AFTER]) };
	int r = 0;

	jobs->events = calloc(n[DIFF_BEFORE] + n[DIFF_AFTER] + 1, sizeof(jobs->events[0]));
	if (!jobs->events)
		return -ENOMEM;
	for (size_t i = 0; i < n[DIFF_AFTER]; i++)
		jobs->events[jobs->n_events++].sides[DIFF_AFTER] = view_event(views[DIFF_AFTER], i);
	for (size_t i = 0; i < n[DIFF_BEFORE]; i++) {
		const struct view_event *event = view_event(views[DIFF_BEFORE], i);
		size_t j = 0;

		while (j < n[DIFF_AFTER] &&
		       (jobs->events[j].sides[DIFF_BEFORE] ||
			!events_match(jobs->events[j].sides[DIFF_AFTER]->asked, event->asked)))
			j++;
		if (j == n[DIFF_AFTER])
			j = jobs->n_events++;
		jobs->events[j].sides[DIFF_BEFORE] = event;
	}
	for (size_t i = 0; r == 0 && i < jobs->n_events; i++)
		if (diff_event_in_both(&jobs->events[i]))
			r = match_stacks(keys, &jobs->events[i]);
	return r;
}

static int match_groups(struct diff_histogram *histogram)
{
	const struct view_histogram *before = histogram->sides[DIFF_BEFORE];
	const struct view_histogram *after = histogram->sides[DIFF_AFTER];

	histogram->groups =
		calloc(before->n_groups + after->n_groups + 1, sizeof(histogram->groups[0]));
	if (!histogram->groups)
		return -ENOMEM;
	for (size_t i = 0; i < after->n_groups; i++)
		histogram->groups[histogram->n_groups++].sides[DIFF_AFTER] = &after->groups[i];
	for (size_t i = 0; i < before->n_groups; i++) {
		size_t j = 0;

		while (j < after->n_groups &&
		       !same_text(after->groups[j].counts->key, before->groups[i].counts->key))
			j++;
		if (j == after->n_groups)
			j = histogram->n_groups++;
		histogram->groups[j].sides[DIFF_BEFORE] = &before->groups[i];
	}
	return 0;
}

static int match_histograms(const struct view *const views[DIFF_SIDES], struct diff_jobs *jobs)
{
	size_t n[] = { view_n_histograms(views[DIFF_BEFORE]),
		       view_n_histograms(views[DIFF_AFTER]) };
	int r = 0;

	jobs->histograms = calloc(n[DIFF_BEFORE] + n[DIFF_AFTER] + 1, sizeof(jobs->histograms[0]));
	if (!jobs->histograms)
		return -ENOMEM;
	for (size_t i = 0; i < n[DIFF_AFTER]; i++)
		jobs->histograms[jobs->n_histograms++].sides[DIFF_AFTER] =
			view_histogram(views[DIFF_AFTER], i);
	for (size_t i = 0; i < n[DIFF_BEFORE]; i++) {
		const struct view_histogram *histogram = view_histogram(views[DIFF_BEFORE], i);
		size_t j = 0;

		while (j < n[DIFF_AFTER] &&
		       (jobs->histograms[j].sides[DIFF_BEFORE] ||
			!histograms_match(jobs->histograms[j].sides[DIFF_AFTER]->asked,
					  histogram->asked)))
			j++;
		if (j == n[DIFF_AFTER])
			j = jobs->n_histograms++;
		jobs->histograms[j].sides[DIFF_BEFORE] = histogram;
	}
	for (size_t i = 0; r == 0 && i < jobs->n_histograms; i++)
		if (diff_histogram_in_both(&jobs->histograms[i]))
			r = match_groups(&jobs->histograms[i]);
	return r;
}

int diff_jobs_init(const struct view *const views[DIFF_SIDES], struct diff_keys *keys,
		   struct diff_jobs *ret_jobs)
{
	int r = match_events(views, keys, ret_jobs);

	return r ? r : match_histograms(views, ret_jobs);
}

void diff_jobs_done(struct diff_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n_events; i++) {
		free(jobs->events[i].stacks);
		interns_done(&jobs->events[i].keys);
	}
	for (size_t i = 0; i < jobs->n_histograms; i++)
		free(jobs->histograms[i].groups);
	free(jobs->events);
	free(jobs->histograms);
}
