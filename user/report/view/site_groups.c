/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/site_groups.h"

#include "analyze/reach.h"
#include "base/clock.h"
#include "base/saturate.h"
#include "config/units.h"
#include "report/view/view.h"

#include <string.h>

#define UNKNOWN "(not known)"

static void add_caller(struct strbuf *name, const struct view_site *site,
		       const struct report_opts *opts)
{
	enum group_by by = opts->group_by;
	struct view_frame frame;

	if (!view_stack_name(&site->stack, &frame))
		strbuf_adds(name, "(no stack)");
	else if (by == GROUP_BY_FUNCTION)
		view_frame_short_name(&frame, opts->full_names, name);
	else if (by == GROUP_BY_LINE)
		view_frame_line_name(&frame, opts->full_names, name);
	else if (by == GROUP_BY_FILE)
		strbuf_adds(name, frame.file ? frame.file : UNKNOWN);
	else
		strbuf_adds(name, frame.place->object ? frame.place->object : UNKNOWN);
}

/* The power of two that the mean of its allocations is not below. */
static void add_size(struct strbuf *name, const struct view_site *site)
{
	uint64_t mean = view_site_mean_size(site), power = 1;
	char from[FORMAT_UNIT_LEN], to[FORMAT_UNIT_LEN];

	if (mean == VIEW_UNKNOWN) {
		strbuf_adds(name, UNKNOWN);
		return;
	}
	while (power <= mean / 2)
		power *= 2;
	format_size(mean ? (int64_t)power : 0, from);
	format_size(mean ? (int64_t)(2 * power) : 1, to);
	strbuf_addf(name, "%s to %s", from, to);
}

static void add_age(struct strbuf *name, uint64_t age_ns)
{
	static const struct {
		uint64_t below_ns;
		const char *name;
	} ages[] = {
		{ SECOND_NS, "younger than 1 s" },     { 10 * SECOND_NS, "1 s to 10 s" },
		{ 60 * SECOND_NS, "10 s to 1 min" },   { 600 * SECOND_NS, "1 min to 10 min" },
		{ 3600 * SECOND_NS, "10 min to 1 h" }, { 86400 * SECOND_NS, "1 h to 1 d" },
		{ VIEW_UNKNOWN, "older than 1 d" },
	};

	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		if (age_ns < ages[i].below_ns) {
			strbuf_adds(name, ages[i].name);
			return;
		}
	}
	strbuf_adds(name, "(none live, or not known)");
}

void site_group_name(struct strbuf *name, const struct view_process *process,
		     const struct view_site *site, const struct report_opts *opts)
{
	switch (opts->group_by) {
	case GROUP_BY_PROCESS:
		view_process_name(process->image, name);
		break;
	case GROUP_BY_CLASS:
		strbuf_adds(name, site->class == VIEW_MMAP ? "mmap" : "heap");
		break;
	case GROUP_BY_GROWTH:
		strbuf_adds(name,
			    site->has_growth ? growth_verdict_name(site->growth.verdict) : UNKNOWN);
		break;
	case GROUP_BY_LEAK:
		strbuf_adds(name,
			    site->leak < REACH_CLASSES ? reach_class_name(site->leak) : UNKNOWN);
		break;
	case GROUP_BY_SIZE:
		add_size(name, site);
		break;
	case GROUP_BY_AGE:
		add_age(name, site->oldest_ns);
		break;
	default:
		add_caller(name, site, opts);
		break;
	}
}

struct site_sums site_sums_of(const struct view_site *site)
{
	return (struct site_sums){
		.live_bytes = site->live_bytes,
		.live_blocks = site->live_blocks,
		.peak_bytes = site->peak_bytes,
		.allocs = site->allocs,
		.bytes = site->bytes,
		.temporary = view_site_temporary(site),
		.estimate = site->estimate,
	};
}

void site_sums_add(struct site_sums *to, const struct site_sums *from)
{
	to->live_bytes = saturate_add(to->live_bytes, from->live_bytes);
	to->live_blocks = saturate_add(to->live_blocks, from->live_blocks);
	to->peak_bytes = saturate_add(to->peak_bytes, from->peak_bytes);
	to->allocs = saturate_add_u64(to->allocs, from->allocs);
	to->bytes = saturate_add_u64(to->bytes, from->bytes);
	to->temporary = saturate_add_u64(to->temporary, from->temporary);
	view_estimate_add(&to->estimate, &from->estimate);
}

int64_t site_sums_value(const struct site_sums *sums, enum option_sort sort)
{
	switch (sort) {
	case SORT_COUNT:
		return sums->live_blocks;
	case SORT_PEAK:
		return sums->peak_bytes;
	case SORT_TEMPORARY:
		return saturate_signed(sums->temporary);
	default:
		return sums->live_bytes;
	}
}

int site_groups_get(struct site_groups *groups, const struct strbuf *name,
		    struct site_group **ret_group)
{
	size_t index = 0;
	int r = strbuf_error(name);

	if (r == 0)
		r = interns_add_string(&groups->names, strbuf_str(name), &index);
	if (r == 1)
		r = vec_push(&groups->list,
			     (struct site_group){ .name = interns_get(&groups->names, index),
						  .exact = true });
	if (r == 0)
		*ret_group = &groups->list.data[index];
	return r;
}

/* Samples of forked images are their parents' as well. */
static void add_site(struct site_group *group, const struct view_process *process,
		     const struct view_site *all)
{
	const struct view_site site = view_site_in_sums(process, all);
	struct site_sums sums = site_sums_of(&site), *to = &group->sides[0];

	sums.estimate.interval = 0; /* added below */
	site_sums_add(to, &sums);
	view_estimate_add_image(&to->estimate, &site.estimate, process->image);
	group->n_sites++;
	group->exact &= process->exact;
}

static int compare_site_groups(const void *item_a, const void *item_b, void *userdata)
{
	const struct site_group *a = item_a, *b = item_b;
	enum option_sort sort = *(const enum option_sort *)userdata;
	int64_t weight_a = site_sums_value(&a->sides[0], sort);
	int64_t weight_b = site_sums_value(&b->sides[0], sort);

	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	if (a->sides[0].bytes != b->sides[0].bytes)
		return a->sides[0].bytes > b->sides[0].bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

int site_groups_make(const struct view *view, struct site_groups *ret_groups)
{
	const struct report_opts *opts = view_opts(view);
	_cleanup_strbuf_ struct strbuf name = { 0 };
	enum option_sort sort = opts->sort;
	int r = 0;

	*ret_groups = (struct site_groups){ 0 };
	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; r == 0 && j < process->n_sites; j++) {
			const struct view_site *site = &process->sites[j];
			struct site_group *group;

			if (opts->group_by != GROUP_BY_CLASS &&
			    site->class != view_class_shown(view))
				continue;
			strbuf_reset(&name);
			site_group_name(&name, process, site, opts);
			r = site_groups_get(ret_groups, &name, &group);
			if (r == 0)
				add_site(group, process, site);
		}
	}
	if (ret_groups->list.len > 0)
		qsort_r(ret_groups->list.data, ret_groups->list.len, sizeof(struct site_group),
			compare_site_groups, &sort);
	return r;
}

void site_groups_done(struct site_groups *groups)
{
	vec_done(&groups->list);
	interns_done(&groups->names);
}

struct grouping {
	enum group_by by;
	bool full;
	struct event_groups *groups;
	struct strbuf name;
};

/* That of the name in `g`. */
static int find_group(struct grouping *g, struct event_group **ret_group)
{
	struct event_groups *groups = g->groups;
	size_t index;
	int r = strbuf_error(&g->name);

	if (r == 0)
		r = interns_add_string(&groups->names, strbuf_str(&g->name), &index);
	if (r == 1)
		r = vec_push(&groups->list,
			     (struct event_group){ .name = interns_get(&groups->names, index) });
	if (r == 0)
		*ret_group = &groups->list.data[index];
	return r;
}

/* `index` is the stack's; a recursive function is in it once. */
static int add_to_group(struct grouping *g, size_t index, uint64_t value, bool is_self)
{
	struct event_group *group = NULL;
	int r = find_group(g, &group);

	if (!group)
		return r;
	if (is_self)
		group->self = saturate_add_u64(group->self, value);
	if (group->last != index + 1)
		group->total = saturate_add_u64(group->total, value);
	group->last = index + 1;
	return 0;
}

static void name_frame(const struct grouping *g, struct strbuf *name,
		       const struct view_frame *frame)
{
	const char *text = g->by == GROUP_BY_FILE ? frame->file : frame->place->object;

	if (g->by == GROUP_BY_FUNCTION)
		view_frame_short_name(frame, g->full, name);
	else if (g->by == GROUP_BY_LINE)
		view_frame_line_name(frame, g->full, name);
	else
		strbuf_adds(name, text ? text : "(not known)");
}

static int add_stack(struct grouping *g, const struct view_event *event, size_t index)
{
	const struct view_event_stack *stack = &event->stacks[index];
	uint64_t value = view_event_value(event, stack);
	struct view_frames it = { &stack->stack, stack->stack.name.place, stack->stack.name.frame };
	struct view_frame frame;
	bool is_self = true;
	int r = 0;

	while (r == 0 && g->by != GROUP_BY_PROCESS && view_frames_next(&it, &frame)) {
		strbuf_reset(&g->name);
		name_frame(g, &g->name, &frame);
		r = add_to_group(g, index, value, is_self);
		is_self = false;
	}
	if (r < 0 || !is_self)
		return r;
	strbuf_reset(&g->name);
	if (g->by == GROUP_BY_PROCESS)
		view_process_name(stack->image, &g->name);
	else
		strbuf_adds(&g->name, "(no stack)");
	return add_to_group(g, index, value, true);
}

static int compare_event_groups(const void *item_a, const void *item_b)
{
	const struct event_group *a = item_a, *b = item_b;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

int event_groups_make(const struct view_event *event, enum group_by by, bool full,
		      struct event_groups *ret_groups)
{
	struct grouping g = { .by = by, .full = full, .groups = ret_groups };
	int r = 0;

	*ret_groups = (struct event_groups){ 0 };
	for (size_t i = 0; r == 0 && i < event->n_stacks; i++)
		r = add_stack(&g, event, i);
	vec_sort(&ret_groups->list, compare_event_groups);
	strbuf_done(&g.name);
	return r;
}

void event_groups_done(struct event_groups *groups)
{
	vec_done(&groups->list);
	interns_done(&groups->names);
}
