/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_groups.h"

#include "base/interns.h"
#include "base/vec.h"
#include "report/diff/diff_names.h"
#include "report/view/site_groups.h"

#include <errno.h>
#include <string.h>

struct grouping {
	struct interns *names;
	VEC(struct diff_group) groups; /* of the names, by their numbers */
	struct strbuf name, raw;
};

/* What a build adds to a name makes no other group. */
static int name_of(struct grouping *g, const struct diff *diff, const struct diff_member *member)
{
	enum group_by by = diff_opts(diff)->group_by;

	strbuf_reset(&g->name);
	strbuf_reset(&g->raw);
	site_group_name(&g->raw, member->process, member->site, by);
	if (by == GROUP_BY_PROCESS)
		strbuf_adds(&g->name, diff_program(diff, member->program)->name);
	else if (by == GROUP_BY_FUNCTION)
		diff_function_name(strbuf_str(&g->raw), &g->name);
	else if (by == GROUP_BY_OBJECT)
		diff_object_name(strbuf_str(&g->raw), &g->name);
	else
		strbuf_adds(&g->name, strbuf_str(&g->raw));
	return strbuf_error(&g->raw) < 0 ? strbuf_error(&g->raw) : strbuf_error(&g->name);
}

static int new_group(struct grouping *g)
{
	struct diff_group group = { .name = strdup(strbuf_str(&g->name)), .exact = true };
	int r = group.name ? vec_push(&g->groups, group) : -ENOMEM;

	if (r < 0)
		free(group.name);
	return r;
}

static int add_member(struct grouping *g, const struct diff *diff, const struct diff_member *member)
{
	struct diff_values values = diff_site_values(member->site);
	size_t index;
	int r = name_of(g, diff, member);

	if (r == 0)
		r = interns_add_string(g->names, strbuf_str(&g->name), &index);
	if (r == 1)
		r = new_group(g);
	if (r < 0)
		return r;
	diff_add_values(&g->groups.data[index].sides[member->side], &values);
	g->groups.data[index].exact &= member->process->exact;
	return 0;
}

static int compare(const void *item_a, const void *item_b, void *userdata)
{
	const struct diff_group *a = item_a, *b = item_b;
	enum option_sort sort = *(const enum option_sort *)userdata;
	int order = diff_compare_changes(a->sides, b->sides, sort);

	return order ? order : strcmp(a->name, b->name);
}

/* As of sites, where one run has no sample of any. */
static void estimate_missing(struct diff_group *group)
{
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct diff_values *other = &group->sides[DIFF_SIDES - 1 - side];

		if (group->sides[side].estimate.interval == 0 && group->sides[side].allocs == 0)
			group->sides[side].estimate = view_estimate_of_none(
				other->estimate.interval, other->allocs, other->bytes);
	}
}

int diff_groups_make(const struct diff *diff, struct diff_groups *ret_groups)
{
	enum option_sort sort = diff_opts(diff)->sort;
	struct grouping g = { 0 };
	int r = interns_new(&g.names);

	for (size_t i = 0; r == 0 && i < diff_n_members(diff); i++)
		r = add_member(&g, diff, diff_member(diff, i));
	vec_foreach(&g.groups, group)
		estimate_missing(group);
	if (g.groups.len > 0)
		qsort_r(g.groups.data, g.groups.len, sizeof(g.groups.data[0]), compare, &sort);
	*ret_groups = (struct diff_groups){ g.groups.data, g.groups.len };
	interns_free(g.names);
	strbuf_done(&g.name);
	strbuf_done(&g.raw);
	return r;
}

void diff_groups_done(struct diff_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		free(groups->groups[i].name);
	free(groups->groups);
}
