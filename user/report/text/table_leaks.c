/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the latest leak check of a process has found, in a line; its text has the rest.
 */
#include "analyze/reach.h"
#include "report/leak/leak_result.h"
#include "report/text/table.h"

#include <inttypes.h>

static void add_sum(struct strbuf *line, const char *name, const struct loss_sum *sum, bool exact)
{
	char size[TABLE_NUMBER_LEN];

	strbuf_addf(line, "%s %s in %" PRIu64 " block%s", name,
		    table_size((int64_t)sum->bytes, exact, size), sum->blocks,
		    table_plural(sum->blocks));
}

void table_leaks(struct table *t, const struct view_process *process)
{
	const struct leak_result *leaks = process->leaks;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	const struct loss_totals *totals;

	if (!leaks)
		return;
	totals = loss_records_totals(leaks->records);
	strbuf_adds(&line, "  leaks: ");
	for (int class = 0; class < REACH_CLASSES; class ++) {
		strbuf_adds(&line, class > 0 ? ", " : "");
		add_sum(&line, reach_class_name((enum reach_class) class), &totals->classes[class],
			process->exact);
	}
	if (totals->suppressed.blocks > 0) {
		strbuf_adds(&line, "; ");
		add_sum(&line, "suppressed", &totals->suppressed, process->exact);
	}
	if (leaks->stats.end != REACH_COMPLETE)
		strbuf_adds(&line, "; partial, since --max-stop was over");
	table_wrap(t, 9, strbuf_str(&line));
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}
