/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_cells.h"

void diff_cell(struct table *t, const char *number)
{
	size_t have = text_columns(number);

	strbuf_addf(&t->out, "  %*s%s", have < DIFF_CELL ? (int)(DIFF_CELL - have) : 0, "", number);
}

void diff_percent(struct table *t, const char *mark, int64_t before, int64_t change)
{
	if (before > 0 && change != 0)
		strbuf_addf(&t->out, "  %s%+.1f %%", mark, 100.0 * (double)change / (double)before);
}
