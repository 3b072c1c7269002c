/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of a process in the table, where their blocks are freed, and sums by --group-by. */
#include "base/saturate.h"
#include "config/units.h"
#include "report/samples.h"
#include "report/site_rows.h"
#include "report/text/table.h"
#include "report/text/table_out.h"
#include "report/view/site_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* Places of a site that are shown. */
#define PLACES 3

static void add_lifetimes(struct strbuf *line, const struct view_free *place)
{
	uint64_t mean = view_frees_mean_ns(place->total_ns, place->count, place->unknown);
	size_t median = view_free_median(place);
	char text[FORMAT_UNIT_LEN], to[FORMAT_UNIT_LEN];

	if (mean == VIEW_UNKNOWN)
		return;
	strbuf_addf(line, ", after %s on average", format_duration(mean, text));
	if (median == 0)
		strbuf_addf(line, " (median below %s)",
			    format_duration(view_lifetime_from_ns(1), to));
	else if (median + 1 < RECORD_LIFETIMES)
		strbuf_addf(line, " (median %s to %s)",
			    format_duration(view_lifetime_from_ns(median), text),
			    format_duration(view_lifetime_from_ns(median + 1), to));
}

static void place_part(struct table *t, const struct view_frees *frees,
		       const struct view_free *place, bool exact)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	uint64_t known = place->count - place->unknown;
	char number[TABLE_NUMBER_LEN], all[TABLE_NUMBER_LEN], size[TABLE_NUMBER_LEN];

	strbuf_addf(&line, "    freed: %s of %s block%s, %s",
		    table_count(place->count, exact, number), table_count(frees->count, exact, all),
		    table_plural(frees->count), table_size((int64_t)place->bytes, exact, size));
	add_lifetimes(&line, place);
	if (place->count > place->unknown)
		strbuf_addf(&line, "; %.1f%% by another thread",
			    100.0 * (double)place->others / (double)known);
	if (place->unknown > 0)
		strbuf_addf(&line, "; of %" PRIu64 " it is not known when they were allocated",
			    place->unknown);
	table_wrap(t, 8, &line);
	table_stack(t, &place->stack);
}

/* Where its blocks are freed; nothing where that is not known. */
static void frees_part(struct table *t, const struct view_process *process,
		       const struct view_site *site)
{
	const struct view_frees *frees = &site->frees;
	char number[TABLE_NUMBER_LEN];
	uint64_t rest = 0;

	for (size_t i = 0; i < frees->n; i++) {
		if (i < PLACES)
			place_part(t, frees, &frees->list[i], process->exact);
		else
			rest += frees->list[i].count;
	}
	if (frees->n > PLACES)
		strbuf_addf(&t->out, "    … %zu more place%s, %s block%s\n", frees->n - PLACES,
			    table_plural(frees->n - PLACES),
			    table_count(rest, process->exact, number), table_plural(rest));
}

/* What is shown of a process's sites of one class. */
struct section {
	const struct view_process *process;
	enum view_class class;
	enum option_sort sort;
	int64_t weight; /* of all its sites */
};

static bool belongs(const struct section *s, const struct view_site *site)
{
	if (site->class != s->class)
		return false;
	return site_is_ranked(site, s->sort) || site->frees.n > 0;
}

const char *table_quantity_name(enum option_sort sort)
{
	switch (sort) {
	case SORT_BYTES:
		return "live";
	case SORT_COUNT:
		return "live blocks";
	case SORT_GROWTH:
		return "grown since the last report";
	case SORT_PEAK:
		return "at the peak";
	case SORT_TEMPORARY:
		return "temporary";
	}
	return "";
}

/*
 * What has grown is the difference of two states that have blocks in common, so less is unknown of
 * it than of what is live, which is said beside it. Samples do not tell what is temporary.
 */
void table_quantity_margin(struct strbuf *out, const struct view_estimate *estimate,
			   enum option_sort sort)
{
	if (sort == SORT_BYTES)
		table_margin(out, estimate, estimate->ci95_bytes);
	else if (sort == SORT_COUNT)
		table_count_margin(out, estimate, estimate->ci95_blocks);
	else if (sort == SORT_PEAK)
		table_margin(out, estimate, estimate->ci95_peak_bytes);
}

/* In the first report what has grown is what is live. */
static const char *quantity_name(const struct section *s)
{
	if (s->sort == SORT_GROWTH && s->process->image->n_cuts <= 1)
		return "grown since the start";
	return table_quantity_name(s->sort);
}

/* Counts of blocks and calls are no bytes. */
static void add_value(struct strbuf *out, const struct section *s, int64_t value,
		      const struct view_estimate *estimate)
{
	char size[TABLE_NUMBER_LEN];

	if (s->sort == SORT_COUNT || s->sort == SORT_TEMPORARY)
		strbuf_addf(out, "%s%" PRId64, s->process->exact ? "" : "~", value);
	else
		strbuf_adds(out, table_size(value, s->process->exact, size));
	table_quantity_margin(out, estimate, s->sort);
	strbuf_addf(out, " %s", quantity_name(s));
}

static void add_ages(struct strbuf *out, const struct view_site *site)
{
	char newest[FORMAT_UNIT_LEN], oldest[FORMAT_UNIT_LEN];

	if (site->oldest_ns == VIEW_UNKNOWN || site->newest_ns == VIEW_UNKNOWN)
		return;
	format_duration(site->newest_ns, newest);
	format_duration(site->oldest_ns, oldest);
	if (strcmp(newest, oldest) == 0)
		strbuf_addf(out, ", %s old", oldest);
	else
		strbuf_addf(out, ", %s to %s old", newest, oldest);
}

/* "leak, ~1.2 MiB/h"; nothing of what is steady or not known. */
static void add_growth(struct strbuf *out, const char *before, const struct view_site *site,
		       const char *after)
{
	char rate[TABLE_NUMBER_LEN];

	if (!site->has_growth || site->growth.verdict == GROWTH_STEADY)
		return;
	strbuf_addf(out, "%s%s", before, growth_verdict_name(site->growth.verdict));
	if (site->growth.verdict != GROWTH_CACHE)
		strbuf_addf(out, ", %s", table_rate(site->growth.bytes_per_s, rate));
	strbuf_adds(out, after);
}

static void site_head(struct table *t, const struct section *s, const struct view_site *site,
		      size_t rank)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	int64_t weight = view_site_weight(site, s->sort);
	bool exact = s->process->exact;
	char size[TABLE_NUMBER_LEN], mark[8];

	snprintf(mark, sizeof(mark), "%s", exact ? "" : "~");
	strbuf_addf(&line, "  #%zu  ", rank);
	if (s->sort == SORT_GROWTH)
		add_growth(&line, "", site, "; ");
	add_value(&line, s, weight, &site->estimate);
	if (s->weight > 0)
		strbuf_addf(&line, ", %s%.1f%%", mark, 100.0 * (double)weight / (double)s->weight);
	if (s->sort != SORT_BYTES) {
		strbuf_addf(&line, "; %s live", table_size(site->live_bytes, exact, size));
		table_margin(&line, &site->estimate, site->estimate.ci95_bytes);
	}
	strbuf_addf(&line, " in %s%" PRId64, mark, site->live_blocks);
	table_count_margin(&line, &site->estimate, site->estimate.ci95_blocks);
	strbuf_addf(&line, " %s%s", site->class == VIEW_MMAP ? "region" : "block",
		    table_plural(site->estimate.ci95_blocks ? 0 : (uint64_t)site->live_blocks));
	table_few_samples(&line, &site->estimate);
	add_ages(&line, site);
	if (s->sort != SORT_PEAK) {
		strbuf_addf(&line, ", %s", table_size(site->peak_bytes, exact, size));
		table_margin(&line, &site->estimate, site->estimate.ci95_peak_bytes);
		strbuf_adds(&line, " at the peak");
	}
	if (s->sort != SORT_GROWTH)
		add_growth(&line, "; ", site, "");
	table_title(t, 8, &line);
}

/* Where they held most of the peak, as of a program that frees all in the end, that is told. */
static void zero_line(struct table *t, const struct section *s, bool is_more, size_t n,
		      int64_t peak)
{
	bool was_most = s->class == VIEW_HEAP && (s->sort == SORT_BYTES || s->sort == SORT_COUNT) &&
			peak > s->process->totals.peak_bytes / 2;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_addf(&line, "  … %zu %ssite%s with nothing %s%s", n, is_more ? "more " : "",
		    table_plural(n), quantity_name(s),
		    was_most ? "; --sort=peak shows what they held at the peak" : "");
	table_wrap(t, 4, &line);
}

static void rest_lines(struct table *t, const struct section *s, size_t n_shown, size_t n_hidden,
		       int64_t hidden_weight, const struct view_estimate *hidden, size_t n_zero,
		       int64_t zero_peak)
{
	_cleanup_strbuf_ struct strbuf value = { 0 }, line = { 0 };

	if (n_hidden > 0) {
		add_value(&value, s, hidden_weight, hidden);
		strbuf_addf(&line, "  … %zu more site%s, %s; --top 0 shows all", n_hidden,
			    table_plural(n_hidden), strbuf_str(&value));
		table_wrap(t, 4, &line);
	}
	/* Without a title of its own, a line of regions would be read as one of the heap. */
	if (n_zero > 0 && (n_shown > 0 || s->class == VIEW_HEAP))
		zero_line(t, s, n_shown > 0, n_zero, zero_peak);
	if (strbuf_error(&value) < 0 || strbuf_error(&line) < 0)
		t->out.error = -ENOMEM;
}

void table_sites(struct table *t, const struct view_process *process, enum view_class class)
{
	const struct report_opts *opts = view_opts(t->view);
	struct section s = { .process = process, .class = class, .sort = opts->sort };
	size_t rank = 0, n_hidden = 0, n_zero = 0;
	struct view_estimate hidden = { 0 };
	int64_t hidden_weight = 0, zero_peak = 0;

	/* Temporary blocks are a matter of the heap: regions are ranked by size then. */
	if (class == VIEW_MMAP && s.sort == SORT_TEMPORARY)
		s.sort = SORT_BYTES;
	for (size_t i = 0; i < process->n_sites; i++)
		if (belongs(&s, &process->sites[i]))
			s.weight = saturate_add(s.weight,
						view_site_weight(&process->sites[i], s.sort));
	for (size_t i = 0; i < process->n_sites; i++) {
		const struct view_site *site = &process->sites[i];

		if (!belongs(&s, site)) {
			if (site->class == class) {
				n_zero++;
				zero_peak = saturate_add(zero_peak, site->peak_bytes);
			}
			continue;
		}
		if (opts->top > 0 && rank >= opts->top) {
			n_hidden++;
			hidden_weight = saturate_add(hidden_weight, view_site_weight(site, s.sort));
			view_estimate_add(&hidden, &site->estimate);
			continue;
		}
		strbuf_addch(&t->out, '\n');
		if (rank == 0 && class == VIEW_MMAP)
			strbuf_adds(&t->out, "  mapped regions\n");
		site_head(t, &s, site, ++rank);
		table_site_stack(t, &site->stack);
		frees_part(t, process, site);
	}
	rest_lines(t, &s, rank, n_hidden, hidden_weight, &hidden, n_zero, zero_peak);
}

/* What names of groups need to be read. */
#define LEAST_NAME 16

#define COLUMN(head, columns, is_count, member, margin, mark)                                      \
	{                                                                                          \
		head, columns, is_count, offsetof(struct site_group, sides[0].member),             \
			offsetof(struct site_group, sides[0].estimate.margin), mark                \
	}

static const struct table_column group_columns[] = {
	COLUMN("LIVE", 9, false, live_bytes, ci95_bytes, TABLE_NEAR),
	COLUMN("BLOCKS", 8, true, live_blocks, ci95_blocks, TABLE_NEAR),
	COLUMN("AT PEAK", 10, false, peak_bytes, ci95_peak_bytes, TABLE_NEAR),
	COLUMN("ALLOCATED", 10, false, bytes, ci95_allocated_bytes, TABLE_AT_LEAST),
	COLUMN("ALLOCS", 8, true, allocs, ci95_allocs, TABLE_AT_LEAST),
	{ "SITES", 7, true, offsetof(struct site_group, n_sites), 0, TABLE_EXACT },
};

static size_t fitting_columns(const struct table *t, size_t *ret_used)
{
	return table_fit(t, group_columns, sizeof(group_columns) / sizeof(group_columns[0]),
			 LEAST_NAME, ret_used);
}

static void group_line(struct table *t, const struct site_group *group)
{
	size_t used, n = fitting_columns(t, &used), columns = table_rest(t, used);
	const char *name = group->name;

	/* Of a path, the end tells more than the beginning. */
	if (*name == '/' && text_columns(name) > columns)
		name = text_base_name(name);
	table_number_cells(t, group_columns, n, group, group->exact);
	strbuf_adds(&t->out, "  ");
	if (view_opts(t->view)->group_by == GROUP_BY_FUNCTION)
		text_fit_function(&t->out, name, columns);
	else
		text_fit(&t->out, name, columns);
	strbuf_addch(&t->out, '\n');
	if (group->sides[0].estimate.interval)
		table_margin_cells(t, group_columns, n, group);
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
	size_t n_shown = table_shown(t, groups.list.len), used,
	       n_columns = fitting_columns(t, &used);

	if (r == 0) {
		table_heads(t, group_columns, n_columns,
			    group_by_name(view_opts(t->view)->group_by));
		if (has_other_class(t->view))
			table_line(t, 2, "  of the heap; --where 'class = mmap' shows mappings");
	}
	if (r == 0 && view_n_programs(t->view) > 1)
		table_line(t, 4, "  AT PEAK: " SAMPLE_PEAKS_DIFFER);
	for (size_t i = 0; r == 0 && i < n_shown; i++)
		group_line(t, &groups.list.data[i]);
	if (r == 0)
		table_more(t, 2, groups.list.len, n_shown, "");
	strbuf_addch(&t->out, '\n');
	site_groups_done(&groups);
	return r;
}
