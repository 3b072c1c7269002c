/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_cells.h"

#include "report/text/table_out.h"

void diff_cell(struct table *t, const char *number)
{
	size_t have = text_columns(number);

	strbuf_addf(&t->out, "  %*s%s", have < DIFF_CELL ? (int)(DIFF_CELL - have) : 0, "", number);
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
