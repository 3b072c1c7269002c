/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_counts.h"

#include "base/hashmap.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "report/report_opts.h"
#include "report/view/view_estimate.h"
#include "report/view/view_resolve.h"

#include <errno.h>
#include <string.h>

static int compare_u64_down(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_groups(const void *item_a, const void *item_b)
{
	const struct view_group *a = item_a, *b = item_b;

	if (a->count != b->count)
		return compare_u64_down(a->count, b->count);
	return strcmp(a->counts->key ? a->counts->key : "", b->counts->key ? b->counts->key : "");
}

static int add_histogram(const struct model_histogram *from, struct view_histogram *histogram)
{
	histogram->asked = &from->asked;
	histogram->groups = calloc(from->groups.len + 1, sizeof(histogram->groups[0]));
	if (!histogram->groups)
		return -ENOMEM;
	for (size_t i = 0; i < from->groups.len; i++) {
		const struct record_hist_counts *counts = &from->groups.data[i];
		struct view_group *group = &histogram->groups[histogram->n_groups++];

		group->counts = counts;
		for (size_t j = 0; j < counts->n_buckets; j++)
			group->count = saturate_add_u64(group->count, counts->buckets[j].count);
	}
	qsort(histogram->groups, histogram->n_groups, sizeof(histogram->groups[0]), compare_groups);
	return 0;
}

static uint64_t event_stack_hash(const void *item)
{
	const struct view_event_stack *stack = item;

	return hash_u64(view_stack_hash(&stack->stack) ^ hash_u64(stack->image->id.n));
}

static bool event_stack_equal(const void *item_a, const void *item_b)
{
	const struct view_event_stack *a = item_a, *b = item_b;

	return a->image == b->image && view_stack_equal(&a->stack, &b->stack);
}

static void event_stack_free(struct view_event_stack *stack)
{
	if (!stack)
		return;
	view_stack_done(&stack->stack);
	free(stack);
}
DEFINE_CLEANUP(struct view_event_stack, event_stack_free)

static void event_stack_free_item(void *item)
{
	event_stack_free(item);
}

static const struct hashmap_ops event_stack_ops = {
	.hash = event_stack_hash,
	.equal = event_stack_equal,
	.free_item = event_stack_free_item,
};

static void merge_stacks(struct view_event_stack *into, const struct view_event_stack *stack)
{
	into->count = saturate_add_u64(into->count, stack->count);
	into->ns = saturate_add_u64(into->ns, stack->ns);
	into->weight = saturate_add_u64(into->weight, stack->weight);
	into->variance += stack->variance;
	if (stack->first_ns < into->first_ns)
		into->first_ns = stack->first_ns;
	if (stack->last_ns > into->last_ns)
		into->last_ns = stack->last_ns;
	into->stack.truncated |= stack->stack.truncated;
}

/* Older recordings have no weights: each sample stands for the period. */
static void weigh(const struct record_event *asked, const struct record_event_count *count,
		  struct view_event_stack *stack)
{
	double period = asked->period;

	stack->weight = count->weight;
	if (stack->weight == 0 &&
	    __builtin_mul_overflow(count->count, (uint64_t)asked->period, &stack->weight))
		stack->weight = UINT64_MAX;
	stack->variance = asked->adapts ? (double)count->variance :
					  (double)stack->weight * (period > 1 ? period - 1 : 0);
}

static int add_count(const struct view_resolver *resolver, const struct record_event *asked,
		     const struct record_event_count *count, struct hashmap *merged)
{
	_cleanup_(event_stack_free_p) struct view_event_stack *stack = calloc(1, sizeof(*stack));
	struct view_event_stack *same;
	int r;

	if (!stack)
		return -ENOMEM;
	stack->image = view_resolve_process(resolver, count->image);
	stack->count = count->count;
	stack->first_ns = count->first_ns;
	stack->last_ns = count->last_ns;
	stack->ns = count->ns;
	weigh(asked, count, stack);
	r = view_resolve_event(resolver, stack->image, count->stack, count->kernel_stack,
			       &stack->stack);
	if (r < 0)
		return r;
	/* Events are counted at each depth. */
	stack->image = view_same_program(resolver->model, stack->image);
	same = hashmap_find(merged, stack);
	if (same) {
		merge_stacks(same, stack);
		return 0;
	}
	r = hashmap_insert(merged, stack);
	if (r == 0)
		TAKE_PTR(stack);
	return r;
}

static int compare_addresses(const struct view_stack *a, const struct view_stack *b)
{
	size_t n = a->n_places < b->n_places ? a->n_places : b->n_places;

	for (size_t i = 0; i < n; i++) {
		const struct view_place *place_a = view_stack_place(a, i);
		const struct view_place *place_b = view_stack_place(b, i);

		if (place_a->addr != place_b->addr)
			return place_a->addr < place_b->addr ? -1 : 1;
	}
	return (a->n_places > b->n_places) - (a->n_places < b->n_places);
}

/* What does not depend on addresses decides between equal counts, as far as it can. */
static int compare_stacks(const void *item_a, const void *item_b)
{
	const struct view_event_stack *a = item_a, *b = item_b;
	uint64_t id_a, id_b;

	if (a->ns != b->ns) /* 0 where the event is not timed */
		return compare_u64_down(a->ns, b->ns);
	if (a->weight != b->weight) /* 0 where samples have none */
		return compare_u64_down(a->weight, b->weight);
	if (a->count != b->count)
		return compare_u64_down(a->count, b->count);
	if (!image_is(a->image->id, b->image->id))
		return a->image->id.n < b->image->id.n ? -1 : 1;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	id_a = view_stack_id(&a->stack, 0);
	id_b = view_stack_id(&b->stack, 0);
	if (id_a != id_b)
		return id_a < id_b ? -1 : 1;
	return compare_addresses(&a->stack, &b->stack);
}

/* The stacks become the event's. */
static int hand_over(struct hashmap *merged, struct view_event *event)
{
	struct view_event_stack *stack;
	size_t pos = 0;

	event->stacks = calloc(merged->len + 1, sizeof(event->stacks[0]));
	if (!event->stacks)
		return -ENOMEM;
	while ((stack = hashmap_next(merged, &pos))) {
		if (stack->count == 0)
			continue;
		event->count = saturate_add_u64(event->count, stack->count);
		event->ns = saturate_add_u64(event->ns, stack->ns);
		event->weight = saturate_add_u64(event->weight, stack->weight);
		event->stacks[event->n_stacks++] = *stack;
		stack->stack.places = NULL;
		stack->stack.pieces = NULL;
	}
	qsort(event->stacks, event->n_stacks, sizeof(event->stacks[0]), compare_stacks);
	/* In their order: a sum of these depends on it. */
	for (size_t i = 0; i < event->n_stacks; i++)
		event->variance += event->stacks[i].variance;
	return 0;
}

/* Is it the image that is asked for, or one before it? Chains of images have no loops. */
static bool is_shown(const struct model *model, const struct report_opts *opts, image_t asked)
{
	image_t at = opts->image;
	const struct model_process *image;

	if (!opts->one_image)
		return true;
	while (!image_is(at, asked) && !opts->alone && (image = model_find_process(model, at)))
		at = image->prev_id;
	return image_is(at, asked);
}

static int add_event(const struct view_resolver *resolver, const struct model_event *from,
		     const struct report_opts *opts, struct view_event *event)
{
	_cleanup_(hashmap_done) struct hashmap merged = { .ops = &event_stack_ops };
	int r = 0;

	event->asked = &from->asked;
	event->interval = from->asked.period;
	for (size_t i = 0; r == 0 && i < from->counts.len; i++) {
		if (from->asked.adapts && from->counts.data[i].interval > event->interval)
			event->interval = from->counts.data[i].interval;
		if (is_shown(resolver->model, opts, from->counts.data[i].image))
			r = add_count(resolver, &from->asked, &from->counts.data[i], &merged);
	}
	return r < 0 ? r : hand_over(&merged, event);
}

static bool has_margin(const struct view_event *event)
{
	return event->asked->page_bytes && event->interval > 1;
}

uint64_t view_event_ci95(const struct view_event *event)
{
	if (!has_margin(event))
		return 0;
	return view_estimate_ci95(event->interval, saturate_i64((double)event->weight),
				  event->variance);
}

uint64_t view_event_stack_ci95(const struct view_event *event, const struct view_event_stack *stack)
{
	double beyond = stack->weight ? stack->variance / (double)stack->weight : 0;

	if (!has_margin(event))
		return 0;
	/* Each further fault is like those that were seen. */
	return view_estimate_ci95(saturate_u64(beyond), saturate_i64((double)stack->weight),
				  stack->variance);
}

int view_counts_init(const struct model *model, struct symbols *symbols,
		     const struct report_opts *opts, struct view_counts *ret_counts)
{
	const struct view_resolver resolver = { model, symbols };
	size_t n_histograms = model_histograms(model)->list.len,
	       n_events = model_events(model)->list.len;
	int r = 0;

	*ret_counts = (struct view_counts){
		.histograms = calloc(n_histograms + 1, sizeof(ret_counts->histograms[0])),
		.events = calloc(n_events + 1, sizeof(ret_counts->events[0])),
	};
	if (!ret_counts->histograms || !ret_counts->events)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n_histograms; i++)
		r = add_histogram(model_histograms(model)->list.data[i],
				  &ret_counts->histograms[ret_counts->n_histograms++]);
	for (size_t i = 0; r == 0 && i < n_events; i++)
		r = add_event(&resolver, model_events(model)->list.data[i], opts,
			      &ret_counts->events[ret_counts->n_events++]);
	return r;
}

void view_counts_done(struct view_counts *counts)
{
	for (size_t i = 0; i < counts->n_histograms; i++)
		free(counts->histograms[i].groups);
	for (size_t i = 0; i < counts->n_events; i++) {
		struct view_event *event = &counts->events[i];

		for (size_t j = 0; j < event->n_stacks; j++)
			view_stack_done(&event->stacks[j].stack);
		free(event->stacks);
	}
	free(counts->histograms);
	free(counts->events);
	*counts = (struct view_counts){ 0 };
}
