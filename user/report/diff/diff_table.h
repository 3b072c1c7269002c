/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What both parts of a diff's table write with (diff_lines.c), and the part about events and
 * histograms (diff_table_jobs.c).
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_TABLE_H
#define MEMTRACED_REPORT_DIFF_DIFF_TABLE_H

#include "report/diff/diff.h"
#include "report/text/table_out.h"

#define DIFF_CELL 14

enum diff_unit { DIFF_COUNT, DIFF_BYTES, DIFF_NS };

/* "-1.2 s", "~+15"; `mark` says that it is an estimate or a bound, `sign` that it is a change. */
void diff_number(struct strbuf *out, const char *mark, int64_t value, enum diff_unit unit,
		 bool sign);
/* The same at the right of its column, behind a blank. */
void diff_cell(struct table *t, const char *mark, int64_t value, enum diff_unit unit, bool sign,
	       size_t columns);

/* Before, after and change, those that fit behind a label: all, the last two, or the last. */
struct diff_line {
	const char *label;
	size_t label_columns;
	int64_t before, after;
	enum diff_unit unit;
	const char *marks[DIFF_SIDES], *change_mark; /* "~" and the like */
};

/* The line above. */
void diff_column_heads(struct table *t, size_t label_columns);
/* Behind the change its share, "+53.3 %", if there is one and room for it. */
void diff_line(struct table *t, const struct diff_line *line);
/* A line of what the numbers above can be off; the change may be less than that. */
void diff_margins_line(struct table *t, const struct diff_line *line,
		       const uint64_t ci95[DIFF_SIDES], uint64_t of_change);

void diff_table_jobs(struct table *t, const struct diff *diff);

#endif
