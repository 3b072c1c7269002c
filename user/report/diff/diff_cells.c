/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/saturate.h"
#include "config/units.h"
#include "report/diff/diff_table.h"

#include <inttypes.h>

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

void diff_cell(struct table *t, const char *mark, int64_t value, enum diff_unit unit, bool sign)
{
	_cleanup_strbuf_ struct strbuf cell = { 0 };
	size_t have;

	diff_number(&cell, mark, value, unit, sign);
	have = text_columns(strbuf_str(&cell));
	strbuf_addf(&t->out, "  %*s%s", have < DIFF_CELL ? (int)(DIFF_CELL - have) : 0, "",
		    strbuf_str(&cell));
	if (strbuf_error(&cell) < 0)
		t->out.error = strbuf_error(&cell);
}

void diff_column_heads(struct table *t, size_t label)
{
	strbuf_addf(&t->out, "  %*s  %*s  %*s  %*s\n", (int)label, "", DIFF_CELL, "BEFORE",
		    DIFF_CELL, "AFTER", DIFF_CELL, "CHANGE");
}

void diff_margin_cells(struct table *t, const uint64_t ci95[DIFF_SIDES], uint64_t of_change,
		       bool is_count)
{
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		if (ci95[side])
			table_margin_cell(t, ci95[side], is_count, DIFF_CELL + 2);
		else
			strbuf_addf(&t->out, "%*s", DIFF_CELL + 2, "");
	table_margin_cell(t, of_change, is_count, DIFF_CELL + 2);
}

void diff_percent(struct table *t, const char *mark, int64_t before, int64_t change)
{
	if (before > 0 && change != 0)
		strbuf_addf(&t->out, "  %s%+.1f %%", mark, 100.0 * (double)change / (double)before);
}
