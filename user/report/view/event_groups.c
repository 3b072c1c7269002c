/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/event_groups.h"

#include "base/saturate.h"
#include "report/view/view.h"

#include <string.h>

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
