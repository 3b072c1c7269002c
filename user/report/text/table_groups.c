/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/samples.h"
#include "report/text/table.h"
#include "report/text/table_estimate.h"
#include "report/view/site_groups.h"

#include <inttypes.h>

static void add_cell(struct strbuf *line, const char *mark, const char *number, size_t columns)
{
	size_t have = text_columns(mark) + text_columns(number);

	strbuf_addf(line, "%*s%s%s", have < columns ? (int)(columns - have) : 0, "", mark, number);
}

static void margins_line(struct table *t, const struct view_estimate *estimate)
{
	table_margin_cell(t, estimate->ci95_bytes, false, 9);
	table_margin_cell(t, estimate->ci95_blocks, true, 8);
	table_margin_cell(t, estimate->ci95_peak_bytes, false, 10);
	table_margin_cell(t, estimate->ci95_allocated_bytes, false, 10);
	table_margin_cell(t, estimate->ci95_allocs, true, 8);
	strbuf_addch(&t->out, '\n');
}

static void group_line(struct table *t, const struct site_group *group)
{
	const char *near = group->exact ? "" : "~", *at_least = table_at_least(t, group->exact);
	size_t columns = view_opts(t->view)->width - 54;
	const char *name = group->name;
	char number[FORMAT_UNIT_LEN];

	/* Of a path, the end tells more than the beginning. */
	if (*name == '/' && text_columns(name) > columns)
		name = text_base_name(name);
	add_cell(&t->out, near, format_size(group->live_bytes, number), 9);
	add_cell(&t->out, near, format_count(group->live_blocks, number), 8);
	add_cell(&t->out, near, format_size(group->peak_bytes, number), 10);
	add_cell(&t->out, at_least, format_size((int64_t)group->bytes, number), 10);
	add_cell(&t->out, at_least, format_count((int64_t)group->allocs, number), 8);
	add_cell(&t->out, "", format_count((int64_t)group->n_sites, number), 7);
	strbuf_adds(&t->out, "  ");
	text_fit(&t->out, name, columns);
	strbuf_addch(&t->out, '\n');
	if (group->estimate.interval)
		margins_line(t, &group->estimate);
}

/* Are there mappings that the groups are not of? */
static bool has_other_class(const struct view *view)
{
	if (view_opts(view)->group_by == GROUP_BY_CLASS || view_class_shown(view) == VIEW_MMAP)
		return false;
	for (size_t i = 0; i < view_n_processes(view); i++)
		if (view_process(view, i)->mmap.allocs > 0)
			return true;
	return false;
}

int table_groups(struct table *t)
{
	struct site_groups groups;
	int r = site_groups_make(t->view, &groups);
	size_t n_shown = table_shown(t, groups.n);

	if (r == 0) {
		table_bold(t, true);
		strbuf_addf(&t->out, "%9s%8s%10s%10s%8s%7s  %s\n", "LIVE", "BLOCKS", "AT PEAK",
			    "ALLOCATED", "ALLOCS", "SITES",
			    group_by_name(view_opts(t->view)->group_by));
		table_bold(t, false);
		if (has_other_class(t->view))
			strbuf_adds(&t->out,
				    "  of the heap; --where 'class = mmap' shows mappings\n");
	}
	if (r == 0 && view_n_processes(t->view) > 1)
		strbuf_adds(&t->out, "  AT PEAK: " SAMPLE_PEAKS_DIFFER "\n");
	for (size_t i = 0; r == 0 && i < n_shown; i++)
		group_line(t, &groups.groups[i]);
	if (r == 0 && groups.n > n_shown)
		strbuf_addf(&t->out, "  … %zu more; --top 0 shows all\n", groups.n - n_shown);
	strbuf_addch(&t->out, '\n');
	site_groups_done(&groups);
	return r;
}
