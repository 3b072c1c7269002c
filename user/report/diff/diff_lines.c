/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers before and after, side by side, as all parts of a diff's table have them. */
#include "base/saturate.h"
#include "config/units.h"
#include "report/diff/diff_table.h"

#include <inttypes.h>
#include <string.h>

void diff_number(struct strbuf *out, const char *mark, int64_t value, enum diff_unit unit,
		 bool sign)
{
	uint64_t size = magnitude(value);
	char text[FORMAT_UNIT_LEN];

	strbuf_addf(out, "%s%s", mark, sign && value > 0 ? "+" : "");
	if (unit == DIFF_BYTES)
		strbuf_adds(out, format_size(value, text));
	else if (unit == DIFF_COUNT)
		strbuf_addf(out, "%" PRId64, value);
	else
		strbuf_addf(out, "%s%s", value < 0 ? "-" : "", format_duration(size, text));
}

void diff_cell(struct table *t, const char *mark, int64_t value, enum diff_unit unit, bool sign,
	       size_t columns)
{
	_cleanup_strbuf_ struct strbuf cell = { 0 };

	diff_number(&cell, mark, value, unit, sign);
	strbuf_addch(&t->out, ' ');
	table_cell(&t->out, "", strbuf_str(&cell), columns - 1);
	strbuf_pass_error(&t->out, &cell);
}

#define CELLS 3

/* The first of before, after and change that there is room for; *ret_used: of the line. */
static size_t first_cell(const struct table *t, size_t label_columns, size_t *ret_used)
{
	size_t used = 2 + label_columns, n = 1;

	while (n < CELLS && used + (n + 1) * DIFF_CELL <= view_opts(t->view)->width)
		n++;
	*ret_used = used + n * DIFF_CELL;
	return CELLS - n;
}

void diff_column_heads(struct table *t, size_t label_columns)
{
	static const char *const heads[CELLS] = { "BEFORE", "AFTER", "CHANGE" };
	size_t used;

	strbuf_addf(&t->out, "  %*s", (int)label_columns, "");
	for (size_t i = first_cell(t, label_columns, &used); i < CELLS; i++)
		table_cell(&t->out, "", heads[i], DIFF_CELL);
	strbuf_addch(&t->out, '\n');
}

static void add_share(struct table *t, const struct diff_line *line, int64_t change, size_t used)
{
	char share[40];

	if (line->before <= 0 || change == 0)
		return;
	snprintf(share, sizeof(share), "  %s%+.1f %%", line->change_mark,
		 100.0 * (double)change / (double)line->before);
	if (used + text_columns(share) <= view_opts(t->view)->width)
		strbuf_adds(&t->out, share);
}

void diff_line(struct table *t, const struct diff_line *line)
{
	const int64_t change = saturate_subtract(line->after, line->before);
	const int64_t values[CELLS] = { line->before, line->after, change };
	const char *const marks[CELLS] = { line->marks[DIFF_BEFORE], line->marks[DIFF_AFTER],
					   line->change_mark };
	size_t used;

	strbuf_addf(&t->out, "  %-*s", (int)line->label_columns, line->label);
	for (size_t i = first_cell(t, line->label_columns, &used); i < CELLS; i++)
		diff_cell(t, marks[i], values[i], line->unit, i == CELLS - 1, DIFF_CELL);
	add_share(t, line, change, used);
	strbuf_addch(&t->out, '\n');
}

void diff_margins_line(struct table *t, const struct diff_line *line,
		       const uint64_t ci95[DIFF_SIDES], uint64_t of_change)
{
	static const char insignificant[] = "  not significant";
	const uint64_t margins[CELLS] = { ci95[DIFF_BEFORE], ci95[DIFF_AFTER], of_change };
	size_t used;

	strbuf_addf(&t->out, "  %*s", (int)line->label_columns, "");
	for (size_t i = first_cell(t, line->label_columns, &used); i < CELLS; i++)
		if (margins[i])
			table_margin_cell(t, margins[i], line->unit == DIFF_COUNT, DIFF_CELL);
		else
			strbuf_addf(&t->out, "%*s", DIFF_CELL, "");
	if (!diff_significant(saturate_subtract(line->after, line->before), of_change)) {
		if (used + strlen(insignificant) > view_opts(t->view)->width)
			strbuf_addf(&t->out, "\n%*s", (int)line->label_columns, "");
		strbuf_adds(&t->out, insignificant);
	}
	strbuf_addch(&t->out, '\n');
}
