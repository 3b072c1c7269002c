/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of sites as lines of a given width. */
#include "config/units.h"
#include "report/site_rows.h"
#include "report/text/table_out.h"
#include "report/text/text.h"

#include <inttypes.h>

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

static void remove_column(struct site_layout *layout, size_t index)
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
			remove_column(layout, i);
	}
	for (size_t i = layout->n_shown; i-- > 0 && layout->n_shown > 1;)
		if (layout->shown[i] != layout->sort &&
		    columns_before_name(layout) + LEAST_NAME > layout->columns)
			remove_column(layout, i);
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
