/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site_rows.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "config/units.h"
#include "report/text/table_out.h"
#include "report/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Names are cut when they are shown; those of templates can have kilobytes. */
#define NAME_COLUMNS 200
/* Of its function, so that there is room for the line of its source. */
#define FUNCTION_COLUMNS 48
#define MARGIN_COLUMNS 11

static const struct {
	const char *name;
	int columns;
	bool is_count;
} columns_of[SITE_COLUMNS] = {
	[SITE_LIVE] = { "LIVE", 11, false },   [SITE_BLOCKS] = { "BLOCKS", 8, true },
	[SITE_YOUNG] = { "NEW", 11, false },   [SITE_RATE] = { "/S", 8, true },
	[SITE_ALLOCS] = { "ALLOCS", 8, true }, [SITE_PEAK] = { "PEAK", 11, false },
};

/* The function in at most so many columns, unless its full name is asked for. */
static void frame_text(const struct view_frame *frame, bool full, size_t columns,
		       struct strbuf *out)
{
	const struct view_place *place = frame->place;

	if (frame->function) {
		_cleanup_strbuf_ struct strbuf name = { 0 };

		view_frame_short_name(frame, full, &name);
		if (full)
			escape_text(out, strbuf_str(&name));
		else
			text_fit_function(out, strbuf_str(&name), columns);
		if (strbuf_error(&name) < 0)
			out->error = strbuf_error(&name);
	} else if (place->object) {
		escape_text(out, place->object);
		strbuf_addf(out, "+0x%" PRIx64, place->offset);
	} else {
		strbuf_addf(out, "0x%" PRIx64, place->addr);
	}
	if (frame->file) {
		strbuf_adds(out, "  ");
		escape_text(out, text_base_name(frame->file));
		if (frame->line)
			strbuf_addf(out, ":%" PRIu32, frame->line);
	} else if (frame->function && place->object) {
		strbuf_adds(out, "  (");
		escape_text(out, text_base_name(place->object));
		strbuf_addch(out, ')');
	}
	if (frame->is_inline)
		strbuf_adds(out, " [inlined]");
}

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

static char *name_of(const struct view_site *site, bool full)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, whole = { 0 };
	struct view_frame frame;
	bool found = view_stack_name(&site->stack, &frame);

	if (found)
		frame_text(&frame, full, FUNCTION_COLUMNS, &whole);
	text_fit(&name, found ? strbuf_str(&whole) : "(no stack)", NAME_COLUMNS);
	if (site->class == VIEW_MMAP)
		strbuf_adds(&name, " [mmap]");
	if (strbuf_error(&whole) < 0 || strbuf_error(&name) < 0)
		return NULL;
	return strdup(strbuf_str(&name));
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

static int add_row(row_vec *rows, const struct view_process *process, const struct view_site *site,
		   bool full)
{
	struct site_row row = {
		.image = process->image->slot,
		.id = site->id,
		.pid = process->image->pid,
		.exact = process->exact,
		.allocs = site->allocs,
		.estimate = site->estimate,
		.values = { [SITE_LIVE] = site->live_bytes,
			    [SITE_BLOCKS] = site->live_blocks,
			    [SITE_YOUNG] = site->young_bytes,
			    [SITE_ALLOCS] = (int64_t)site->allocs,
			    [SITE_PEAK] = site->peak_bytes },
	};
	int r = vec_reserve(rows, rows->len + 1);

	if (r < 0)
		return r;
	row.name = name_of(site, full);
	if (!row.name)
		return -ENOMEM;
	rows->data[rows->len++] = row;
	return 0;
}

int site_rows_make(const struct view *view, const char *filter, const struct site_rows *before,
		   struct site_rows *ret_rows)
{
	struct site_rows made = { .now_ns = view_now_ns(view) };
	row_vec rows = { 0 };
	int r = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		made.n_sites += process->n_sites;
		for (size_t k = 0; k < process->n_sites && r == 0; k++)
			if (matches(&process->sites[k], filter))
				r = add_row(&rows, process, &process->sites[k],
					    view_opts(view)->full_names);
	}
	made.rows = rows.data;
	made.n_rows = rows.len;
	made.has_estimates = view_has_estimates(view_model(view));
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
		free(rows->rows[i].name);
	free(rows->rows);
	*rows = (struct site_rows){ 0 };
}

static int by_column(const void *item_a, const void *item_b, void *userdata)
{
	const struct site_row *a = item_a, *b = item_b;
	enum site_column column = *(const enum site_column *)userdata;

	if (a->values[column] != b->values[column])
		return a->values[column] > b->values[column] ? -1 : 1;
	if (a->values[SITE_LIVE] != b->values[SITE_LIVE])
		return a->values[SITE_LIVE] > b->values[SITE_LIVE] ? -1 : 1;
	return compare_keys(a, b);
}

void site_rows_sort(struct site_rows *rows, enum site_column column)
{
	if (rows->n_rows)
		qsort_r(rows->rows, rows->n_rows, sizeof(rows->rows[0]), by_column, &column);
}

/* What comes behind the numbers gets the room that is left; a narrow window cuts the line. */
static void add_name(struct strbuf *out, struct strbuf *numbers, const char *name,
		     const struct site_layout *layout)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	size_t taken = text_columns(strbuf_str(numbers));

	strbuf_adds(&line, strbuf_str(numbers));
	text_fit(&line, name, layout->columns > taken + 3 ? layout->columns - taken : 3);
	text_clip(out, strbuf_str(&line), layout->columns);
	if (numbers->error < 0 || strbuf_error(&line) < 0)
		out->error = -ENOMEM;
}

void site_rows_head(struct strbuf *out, enum site_column sort, const struct site_layout *layout)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	for (size_t i = 0; i < SITE_COLUMNS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%s%s", i == sort ? "*" : "", columns_of[i].name);
		strbuf_addf(&line, "%*s", columns_of[i].columns, name);
		if (i == SITE_LIVE && layout->estimated)
			strbuf_addf(&line, "%*s", MARGIN_COLUMNS, "95%");
	}
	strbuf_adds(&line, layout->with_pids ? "      PID  " : "  ");
	add_name(out, &line, "SITE", layout);
}

static void add_cell(struct strbuf *line, const struct site_row *row, size_t column,
		     const struct site_layout *layout)
{
	char number[FORMAT_UNIT_LEN], cell[FORMAT_UNIT_LEN + 1];

	if (columns_of[column].is_count)
		format_count(row->values[column], number);
	else
		format_size(row->values[column], number);
	snprintf(cell, sizeof(cell), "%s%s", row->exact ? "" : "~", number);
	strbuf_addf(line, "%*s", columns_of[column].columns,
		    column == SITE_YOUNG && !layout->marked ? "-" : cell);
}

/* "±1.2 MiB", with a question mark where samples are few. */
static void add_margin(struct strbuf *line, const struct view_estimate *estimate)
{
	_cleanup_strbuf_ struct strbuf cell = { 0 };
	char size[FORMAT_UNIT_LEN];
	size_t have;

	if (estimate->interval)
		strbuf_addf(&cell, "±%s%s", format_size((int64_t)estimate->ci95_bytes, size),
			    view_has_few_samples(estimate) ? "?" : "");
	have = text_columns(strbuf_str(&cell));
	strbuf_addf(line, "%*s%s", have < MARGIN_COLUMNS ? (int)(MARGIN_COLUMNS - have) : 0, "",
		    strbuf_str(&cell));
	if (strbuf_error(&cell) < 0)
		line->error = -ENOMEM;
}

void site_row_line(struct strbuf *out, const struct site_row *row, const struct site_layout *layout)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	for (size_t i = 0; i < SITE_COLUMNS; i++) {
		add_cell(&line, row, i, layout);
		if (i == SITE_LIVE && layout->estimated)
			add_margin(&line, &row->estimate);
	}
	strbuf_adds(&line, "  ");
	if (layout->with_pids)
		strbuf_addf(&line, "%7" PRIu32 "  ", row->pid);
	add_name(out, &line, row->name, layout);
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

bool site_stack_lines(const struct view *view, uint32_t image, uint64_t id, struct strbuf *out)
{
	const struct view_site *site = find_site(view, image, id);
	struct view_frames it = { .stack = site ? &site->stack : NULL };
	struct view_frame frame;

	if (!site)
		return false;
	if (site->estimate.interval)
		add_estimate(out, site);
	while (view_frames_next(&it, &frame)) {
		frame_text(&frame, view_opts(view)->full_names, NAME_COLUMNS, out);
		strbuf_addch(out, '\n');
	}
	if (site->stack.lost)
		strbuf_adds(out, "(the stack was lost)\n");
	else if (site->stack.truncated)
		strbuf_adds(out, "(truncated)\n");
	return true;
}
