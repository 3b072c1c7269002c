/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/site_groups.h"

#include "analyze/reach.h"
#include "base/clock.h"
#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "config/units.h"

#include <errno.h>
#include <stdlib.h>
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

static void add_site(struct site_group *group, const struct view_process *process,
		     const struct view_site *all)
{
	const struct view_site summed = view_site_in_sums(process, all), *site = &summed;

	group->n_sites++;
	group->live_bytes = saturate_add(group->live_bytes, site->live_bytes);
	group->live_blocks = saturate_add(group->live_blocks, site->live_blocks);
	group->peak_bytes = saturate_add(group->peak_bytes, site->peak_bytes);
	group->bytes += site->bytes;
	group->allocs += site->allocs;
	if (site->temporary != VIEW_UNKNOWN)
		group->temporary += site->temporary;
	group->exact &= process->exact;
	view_estimate_add_image(&group->estimate, &site->estimate, process->image);
}

static int64_t weight_of(const struct site_group *group, enum option_sort sort)
{
	switch (sort) {
	case SORT_COUNT:
		return group->live_blocks;
	case SORT_PEAK:
		return group->peak_bytes;
	case SORT_TEMPORARY:
		return (int64_t)group->temporary;
	default:
		return group->live_bytes;
	}
}

static int compare(const void *item_a, const void *item_b, void *userdata)
{
	const struct site_group *a = item_a, *b = item_b;
	enum option_sort sort = *(const enum option_sort *)userdata;
	int64_t weight_a = weight_of(a, sort), weight_b = weight_of(b, sort);

	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

struct grouping {
	struct interns *names;
	VEC(struct site_group) groups; /* of the names, by their numbers */
	struct strbuf name;
};

static int group_site(struct grouping *g, const struct view_process *process,
		      const struct view_site *site, const struct report_opts *opts)
{
	struct site_group group = { .exact = true };
	size_t index;
	int r;

	strbuf_reset(&g->name);
	site_group_name(&g->name, process, site, opts);
	r = strbuf_error(&g->name);
	if (r == 0)
		r = interns_add_string(g->names, strbuf_str(&g->name), &index);
	if (r == 1) {
		r = -ENOMEM;
		group.name = strdup(strbuf_str(&g->name));
		if (group.name)
			r = vec_push(&g->groups, group);
		if (r < 0)
			free(group.name);
	}
	if (r == 0)
		add_site(&g->groups.data[index], process, site);
	return r;
}

int site_groups_make(const struct view *view, struct site_groups *ret_groups)
{
	const struct report_opts *opts = view_opts(view);
	enum option_sort sort = opts->sort;
	struct grouping g = { 0 };
	int r = interns_new(&g.names);

	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; r == 0 && j < process->n_sites; j++)
			if (opts->group_by == GROUP_BY_CLASS ||
			    process->sites[j].class == view_class_shown(view))
				r = group_site(&g, process, &process->sites[j], opts);
	}
	if (g.groups.len > 0)
		qsort_r(g.groups.data, g.groups.len, sizeof(g.groups.data[0]), compare, &sort);
	*ret_groups = (struct site_groups){ g.groups.data, g.groups.len };
	interns_free(g.names);
	strbuf_done(&g.name);
	return r;
}

void site_groups_done(struct site_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		free(groups->groups[i].name);
	free(groups->groups);
}
