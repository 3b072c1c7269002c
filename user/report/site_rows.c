/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site_rows.h"

#include "base/clock.h"
#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "config/units.h"
#include "report/text/table_out.h"
#include "report/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What frames of stacks need to be read. */
#define LEAST_FRAME 20
#define MARGIN_COLUMNS 11
#define PID_COLUMNS 9
/* What names of sites need to be read. */
#define LEAST_NAME 22

enum kind { BYTES, COUNT, VERDICT, SHARE };

static const struct {
	const char *name;
	int columns;
	enum kind kind;
} columns_of[SITE_COLUMNS] = {
	[SITE_LIVE] = { "LIVE", 11, BYTES },	       [SITE_BLOCKS] = { "BLOCKS", 9, COUNT },
	[SITE_YOUNG] = { "NEW", 11, BYTES },	       [SITE_RATE] = { "/S", 9, COUNT },
	[SITE_ALLOCS] = { "ALLOCS", 9, COUNT },	       [SITE_PEAK] = { "PEAK", 11, BYTES },
	[SITE_VERDICT] = { "VERDICT", 9, VERDICT },    [SITE_GROWN] = { "GROWN", 11, BYTES },
	[SITE_TEMPORARY] = { "TEMPORARY", 11, COUNT }, [SITE_SHARE] = { "SHARE", 8, SHARE },
};

static bool has(const char *text, const char *word)
{
	return text && strcasestr(text, word);
}

/* As it is in JSON, or as rows show it. */
static bool has_function(const struct view_frame *frame, const char *word)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	if (has(frame->function, word))
		return true;
	if (!frame->function || !strchr(frame->function, '<'))
		return false;
	view_frame_short_name(frame, false, &name);
	return has(strbuf_str(&name), word);
}

static bool matches(const struct view_site *site, const char *filter)
{
	struct view_frames it = { .stack = &site->stack };
	struct view_frame frame;

	if (!*filter)
		return true;
	while (view_frames_next(&it, &frame))
		if (has_function(&frame, filter) || has(frame.file, filter) ||
		    has(frame.place->object, filter))
			return true;
	return false;
}

static int compare_keys(const struct site_row *a, const struct site_row *b)
{
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int by_key(const void *item_a, const void *item_b)
{
	return compare_keys(*(const struct site_row *const *)item_a,
			    *(const struct site_row *const *)item_b);
}

/* Allocations since the state before, by the second. */
static void set_rates(struct site_rows *rows, struct site_row **sorted, size_t n,
		      const struct site_rows *before)
{
	double seconds = (double)(rows->now_ns - before->now_ns) / SECOND_NS;

	for (size_t i = 0; i < rows->n_rows; i++) {
		struct site_row *row = &rows->rows[i];
		struct site_row **was =
			n ? bsearch(&row, sorted, n, sizeof(struct site_row *), by_key) : NULL;
		uint64_t allocs = row->allocs - (was ? (*was)->allocs : 0);

		row->values[SITE_RATE] = saturate_i64((double)allocs / seconds);
	}
}

static int find_rates(struct site_rows *rows, const struct site_rows *before)
{
	_cleanup_free_ struct site_row **sorted = NULL;

	if (!before || rows->now_ns <= before->now_ns)
		return 0;
	sorted = calloc(before->n_rows + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < before->n_rows; i++)
		sorted[i] = &before->rows[i];
	qsort(sorted, before->n_rows, sizeof(struct site_row *), by_key);
	set_rates(rows, sorted, before->n_rows, before);
	return 0;
}

typedef VEC(struct site_row) row_vec;

static int64_t verdict_of(const struct view_site *site)
{
	return site->has_growth ? (int64_t)site->growth.verdict + 1 : 0;
}

static struct site_row row_of(const struct view_process *process, const struct view_site *site)
{
	return (struct site_row){
		.image = process->image->slot,
		.id = site->id,
		.pid = process->image->pid,
		.n_pids = 1,
		.exact = process->exact,
		.allocs = site->allocs,
		.estimate = site->estimate,
		.values = { [SITE_LIVE] = site->live_bytes,
			    [SITE_BLOCKS] = site->live_blocks,
			    [SITE_YOUNG] = site->young_bytes,
			    [SITE_ALLOCS] = (int64_t)site->allocs,
			    [SITE_PEAK] = site->peak_bytes,
			    [SITE_VERDICT] = verdict_of(site),
			    [SITE_GROWN] = site->growth_bytes,
			    [SITE_TEMPORARY] = (int64_t)view_site_temporary(site) },
	};
}

/* `key` (may be NULL) is what names of the same function and line have in common. 0 or -ENOMEM. */
static int name_site(const struct view_site *site, bool full, bool with_class,
		     struct site_row *ret_row, struct strbuf *key)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, where = { 0 }, clean = { 0 };
	struct view_frame frame = { 0 };

	if (view_stack_name(&site->stack, &frame)) {
		table_frame_name(&frame, full, &name);
		table_frame_where(&frame, true, &where);
	} else {
		strbuf_adds(&name, "(no stack)");
	}
	if (with_class && site->class == VIEW_MMAP) {
		if (!frame.file) /* its class tells more than its object */
			strbuf_reset(&where);
		strbuf_addf(&where, "%s[mmap]", where.len > 0 ? " " : "");
	}
	if (key)
		strbuf_addf(key, "%s\n%s", strbuf_str(&name), strbuf_str(&where));
	escape_text(&clean, strbuf_str(&where));
	if (strbuf_error(&name) < 0 || strbuf_error(&where) < 0 || strbuf_error(&clean) < 0)
		return -ENOMEM;
	/* Of the path of an object, the end tells most. */
	ret_row->name =
		strdup(frame.function ? strbuf_str(&name) : text_base_name(strbuf_str(&name)));
	ret_row->where = strdup(strbuf_str(&clean));
	return ret_row->name && ret_row->where ? 0 : -ENOMEM;
}

static void row_done(struct site_row *row)
{
	free(row->name);
	free(row->where);
}

static int add_row(row_vec *rows, const struct view_process *process, const struct view_site *site,
		   bool full)
{
	struct site_row row = row_of(process, site);
	int r = name_site(site, full, true, &row, NULL);

	if (r == 0)
		r = vec_push(rows, row);
	if (r < 0)
		row_done(&row);
	return r;
}

static void finish(struct site_rows *rows, row_vec *made, const struct view *view)
{
	rows->rows = made->data;
	rows->n_rows = made->len;
	rows->now_ns = view_now_ns(view);
	rows->full_names = view_opts(view)->full_names;
	rows->has_estimates = view_has_estimates(view_model(view));
	for (size_t i = 0; i < rows->n_rows; i++)
		rows->has_verdicts |= rows->rows[i].values[SITE_VERDICT] > 0;
}

int site_rows_make(const struct view *view, const char *filter, const struct site_rows *before,
		   struct site_rows *ret_rows)
{
	struct site_rows made = { 0 };
	row_vec rows = { 0 };
	int r = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		if (process->is_past)
			continue;
		made.n_sites += process->n_sites;
		for (size_t k = 0; k < process->n_sites && r == 0; k++)
			if (matches(&process->sites[k], filter))
				r = add_row(&rows, process, &process->sites[k],
					    view_opts(view)->full_names);
	}
	finish(&made, &rows, view);
	if (r == 0)
		r = find_rates(&made, before);
	if (r < 0) {
		site_rows_done(&made);
		return r;
	}
	*ret_rows = made;
	return 0;
}

void site_rows_done(struct site_rows *rows)
{
	for (size_t i = 0; i < rows->n_rows; i++)
		row_done(&rows->rows[i]);
	free(rows->rows);
	*rows = (struct site_rows){ 0 };
}

static int compare_values(const struct site_row *a, const struct site_row *b,
			  enum site_column column)
{
	return (a->values[column] < b->values[column]) - (a->values[column] > b->values[column]);
}

/* As view_site_urgency. */
static int urgency(const struct site_row *row)
{
	int64_t verdict = row->values[SITE_VERDICT] - 1;

	return verdict < GROWTH_GROWING ? 0 : (int)verdict;
}

static int by_column(const void *item_a, const void *item_b, void *userdata)
{
	const struct site_row *a = item_a, *b = item_b;
	enum site_column column = *(const enum site_column *)userdata;
	int r = column == SITE_GROWN ? urgency(b) - urgency(a) : 0;

	if (r == 0)
		r = compare_values(a, b, column);
	if (r == 0)
		r = compare_values(a, b, SITE_LIVE);
	return r ? r : compare_keys(a, b);
}

void site_rows_sort(struct site_rows *rows, enum site_column column)
{
	if (rows->n_rows)
		qsort_r(rows->rows, rows->n_rows, sizeof(rows->rows[0]), by_column, &column);
}

static const enum site_column column_of_sort[] = {
	[SORT_BYTES] = SITE_LIVE, [SORT_COUNT] = SITE_BLOCKS,	     [SORT_GROWTH] = SITE_GROWN,
	[SORT_PEAK] = SITE_PEAK,  [SORT_TEMPORARY] = SITE_TEMPORARY,
};

enum site_column site_column_of(enum option_sort sort)
{
	return column_of_sort[sort];
}

/* The verdict is the worst of them. */
static void add_to_row(struct site_row *sum, const struct site_row *row)
{
	int64_t verdict = sum->values[SITE_VERDICT];

	if (verdict < row->values[SITE_VERDICT])
		verdict = row->values[SITE_VERDICT];
	for (size_t i = 0; i < SITE_COLUMNS; i++)
		sum->values[i] = saturate_add(sum->values[i], row->values[i]);
	sum->values[SITE_VERDICT] = verdict;
	sum->allocs += row->allocs;
	sum->exact &= row->exact;
	sum->n_pids += row->pid != sum->pid;
	sum->pid = row->pid;
}

struct summing {
	struct interns *names; /* of the rows, by their numbers */
	row_vec rows;
	struct strbuf key;
};

static int sum_site(struct summing *s, const struct view_process *process,
		    const struct view_site *all, enum option_sort sort, bool full)
{
	const struct view_site summed = view_site_in_sums(process, all), *site = &summed;
	struct site_row row = row_of(process, site);
	size_t index;
	int r;

	if (!site_is_ranked(site, sort))
		return 0;
	strbuf_reset(&s->key);
	row.estimate = (struct view_estimate){ 0 };
	r = name_site(site, full, false, &row, &s->key);
	if (r == 0)
		r = strbuf_error(&s->key);
	if (r == 0)
		r = interns_add_string(s->names, strbuf_str(&s->key), &index);
	if (r == 0)
		add_to_row(&s->rows.data[index], &row);
	if (r == 1)
		r = vec_push(&s->rows, row) < 0 ? -ENOMEM : 1;
	if (r < 1)
		row_done(&row);
	if (r < 0)
		return r;
	view_estimate_add_image(&s->rows.data[index].estimate, &site->estimate, process->image);
	return 0;
}

static void set_shares(struct site_rows *rows, enum site_column column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < rows->n_rows; i++)
		sum = saturate_add(sum, rows->rows[i].values[column]);
	for (size_t i = 0; i < rows->n_rows && sum > 0; i++)
		rows->rows[i].values[SITE_SHARE] =
			llround(1000.0 * (double)rows->rows[i].values[column] / (double)sum);
}
int site_rows_sum(const struct view *view, struct site_rows *ret_rows)
{
	const struct report_opts *opts = view_opts(view);
	enum site_column column = site_column_of(opts->sort);
	struct site_rows made = { 0 };
	struct summing s = { 0 };
	int r = interns_new(&s.names);

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t k = 0; k < process->n_sites && r == 0; k++)
			if (process->sites[k].class == view_class_shown(view))
				r = sum_site(&s, process, &process->sites[k], opts->sort,
					     opts->full_names);
		made.n_sites += process->n_sites;
	}
	finish(&made, &s.rows, view);
	interns_free(s.names);
	strbuf_done(&s.key);
	if (r < 0) {
		site_rows_done(&made);
		return r;
	}
	set_shares(&made, column);
	site_rows_sort(&made, column);
	*ret_rows = made;
	return 0;
}

static size_t columns_before_name(const struct site_layout *layout)
{
	size_t columns = 2 + (layout->with_pids ? PID_COLUMNS : 0);

	for (size_t i = 0; i < layout->n_shown; i++) {
		columns += (size_t)columns_of[layout->shown[i]].columns;
		if (layout->shown[i] == SITE_LIVE && layout->estimated)
			columns += MARGIN_COLUMNS;
	}
	return columns;
}

static void take_out(struct site_layout *layout, size_t index)
{
	layout->n_shown--;
	for (size_t i = index; i < layout->n_shown; i++)
		layout->shown[i] = layout->shown[i + 1];
}

void site_layout_fit(struct site_layout *layout, const struct site_rows *rows)
{
	layout->estimated = rows->has_estimates;
	layout->full_names = rows->full_names;
	for (size_t i = layout->n_shown; i-- > 0;) {
		enum site_column column = layout->shown[i];
		bool lacks = (column == SITE_VERDICT && !rows->has_verdicts) ||
			     (column == SITE_YOUNG && !layout->marked);

		if (lacks && column != layout->sort)
			take_out(layout, i);
	}
	for (size_t i = layout->n_shown; i-- > 0 && layout->n_shown > 1;)
		if (layout->shown[i] != layout->sort &&
		    columns_before_name(layout) + LEAST_NAME > layout->columns)
			take_out(layout, i);
}

/* What comes behind the numbers gets the room that is left; a narrow window cuts the line. */
static void add_name(struct strbuf *out, struct strbuf *numbers, const char *name,
		     const char *where, const struct site_layout *layout)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	size_t taken = text_columns(strbuf_str(numbers));

	strbuf_adds(&line, strbuf_str(numbers));
	text_fit_place(&line, name, where, layout->full_names,
		       layout->columns > taken + 3 ? layout->columns - taken : 3);
	text_clip(out, strbuf_str(&line), layout->columns);
	if (numbers->error < 0 || strbuf_error(&line) < 0)
		out->error = -ENOMEM;
}

void site_rows_head(struct strbuf *out, const struct site_layout *layout)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	for (size_t i = 0; i < layout->n_shown; i++) {
		enum site_column column = layout->shown[i];

		table_cell(&line, column == layout->sort ? "*" : "", columns_of[column].name,
			   (size_t)columns_of[column].columns);
		if (column == SITE_LIVE && layout->estimated)
			table_cell(&line, "", "95%", MARGIN_COLUMNS);
	}
	if (layout->with_pids)
		table_cell(&line, "", "PID", PID_COLUMNS);
	strbuf_adds(&line, "  ");
	add_name(out, &line, "SITE", "", layout);
}

static void add_cell(struct strbuf *line, const struct site_row *row, enum site_column column,
		     const struct site_layout *layout)
{
	int64_t value = row->values[column];
	char text[FORMAT_UNIT_LEN] = "-";
	bool known = true;

	switch (columns_of[column].kind) {
	case BYTES:
		known = column != SITE_YOUNG || layout->marked;
		if (known)
			format_size(value, text);
		break;
	case COUNT:
		format_count(value, text);
		break;
	case SHARE:
		snprintf(text, sizeof(text), "%.1f%%", (double)value / 10);
		break;
	case VERDICT:
		known = false;
		if (value > 0)
			snprintf(text, sizeof(text), "%s",
				 growth_verdict_name((enum growth_verdict)(value - 1)));
		break;
	}
	table_cell(line, known && !row->exact ? "~" : "", text, (size_t)columns_of[column].columns);
}

/* "±1.2 MiB", with a question mark where samples are few. */
static void add_margin(struct strbuf *line, const struct view_estimate *estimate)
{
	char size[FORMAT_UNIT_LEN], cell[FORMAT_UNIT_LEN + 1] = "";

	if (estimate->interval)
		snprintf(cell, sizeof(cell), "%s%s",
			 format_size((int64_t)estimate->ci95_bytes, size),
			 view_has_few_samples(estimate) ? "?" : "");
	table_cell(line, estimate->interval ? "±" : "", cell, MARGIN_COLUMNS);
}

void site_row_line(struct strbuf *out, const struct site_row *row, const struct site_layout *layout)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char pids[24];

	for (size_t i = 0; i < layout->n_shown; i++) {
		add_cell(&line, row, layout->shown[i], layout);
		if (layout->shown[i] == SITE_LIVE && layout->estimated)
			add_margin(&line, &row->estimate);
	}
	if (row->n_pids == 1)
		snprintf(pids, sizeof(pids), "%" PRIu32, row->pid);
	else
		snprintf(pids, sizeof(pids), "%zu pids", row->n_pids);
	if (layout->with_pids)
		table_cell(&line, "", pids, PID_COLUMNS);
	strbuf_adds(&line, "  ");
	add_name(out, &line, row->name, row->where, layout);
}

static const struct view_site *find_site(const struct view *view, uint32_t image, uint64_t id)
{
	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t k = 0; k < process->n_sites && process->image->slot == image; k++)
			if (process->sites[k].id == id)
				return &process->sites[k];
	}
	return NULL;
}

static void add_estimate(struct strbuf *out, const struct view_site *site)
{
	const struct view_estimate *estimate = &site->estimate;
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(out, "live: ~%s", format_size(site->live_bytes, size));
	table_margin(out, estimate, estimate->ci95_bytes);
	strbuf_addf(out, " in ~%" PRId64, site->live_blocks);
	table_count_margin(out, estimate, estimate->ci95_blocks);
	strbuf_adds(out, " blocks");
	table_few_samples(out, estimate);
	strbuf_addf(out, "\nat the peak: ~%s", format_size(site->peak_bytes, size));
	table_margin(out, estimate, estimate->ci95_peak_bytes);
	strbuf_addf(out, "\nallocated: ~%s", format_size((int64_t)site->bytes, size));
	table_margin(out, estimate, estimate->ci95_allocated_bytes);
	strbuf_addf(out, " in ~%" PRIu64, site->allocs);
	table_count_margin(out, estimate, estimate->ci95_allocs);
	strbuf_addf(out, " allocations; one sample in %s, ± is 95 %%\n\n",
		    format_size((int64_t)estimate->interval, size));
}

bool site_stack_lines(const struct view *view, uint32_t image, uint64_t id, size_t columns,
		      struct strbuf *out)
{
	const struct view_site *site = find_site(view, image, id);
	struct view_frames it = { .stack = site ? &site->stack : NULL };
	struct view_frame frame;

	if (!site)
		return false;
	if (site->estimate.interval)
		add_estimate(out, site);
	while (view_frames_next(&it, &frame)) {
		table_frame(out, &frame, view_opts(view)->full_names, true,
			    columns > LEAST_FRAME ? columns : LEAST_FRAME);
		strbuf_addch(out, '\n');
	}
	if (site->stack.lost)
		strbuf_adds(out, "(the stack was lost)\n");
	else if (site->stack.truncated)
		strbuf_adds(out, "(truncated)\n");
	return true;
}
