/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the table report write with: one output, numbers that show whether they are
 * exact, lines as wide as the report, styles where there is a terminal.
 */
#ifndef MEMTRACED_REPORT_TEXT_TABLE_OUT_H
#define MEMTRACED_REPORT_TEXT_TABLE_OUT_H

#include "base/strbuf.h"
#include "report/text/text.h"
#include "report/view/view.h"
#include "report/view/view_estimate.h"
#include "trace/record/record_counts.h"

struct table {
	const struct view *view;
	struct strbuf out; /* an error sticks */
	bool no_lines;	   /* frames stand for several places of a function */
};

#define TABLE_NUMBER_LEN 32

/* "1.2 MiB", "~1.2 MiB" when it is not exact. */
const char *table_size(int64_t bytes, bool exact, char buf[TABLE_NUMBER_LEN]);

/* The unit of time by which it is a KiB or more, if any is: "~1.2 MiB/h". */
const char *table_rate(double bytes_per_s, char buf[TABLE_NUMBER_LEN]);

/* "12", "≥12" when it is not exact: events that were lost are missing in it. */
const char *table_count(uint64_t n, bool exact, char buf[TABLE_NUMBER_LEN]);

/* How many of n things the table shows. */
size_t table_shown(const struct table *t, size_t n);
/* "  … 3 more files; --top 0 shows all", where n_shown of n are; `what` is " file", or nothing. */
void table_more(struct table *t, size_t indent, size_t n, size_t n_shown, const char *what);

/* Right-aligned; `mark` says that the number is not exact. */
void table_cell(struct strbuf *line, const char *mark, const char *number, size_t columns);

#define TABLE_PID_LEN 16

/* "4242", "?" when it is not known. */
void table_pid(const struct model_process *image, char buf[TABLE_PID_LEN]);

/* "dd (pid 4242)" */
void table_process(struct strbuf *out, const struct model_process *image);

/* The columns that so many leave of a line, 10 at least. */
size_t table_rest(const struct table *t, size_t used);

/*
 * A line broken to the width of the report, all but its first part indented; an error of the text
 * becomes the table's. table_title: in bold.
 */
void table_wrap(struct table *t, size_t indent, const struct strbuf *text);
void table_title(struct table *t, size_t indent, const struct strbuf *text);
/* The same as table_wrap of a text that is to be made. */
__attribute__((format(printf, 3, 4))) void table_line(struct table *t, size_t indent,
						      const char *format, ...);

struct table_column {
	const char *head;
	size_t columns;
	bool is_count; /* else bytes, in tables that have both */
	/* Of table_number_cells(), offsets of numbers of 8 bytes in what the line is of: */
	size_t value, margin;
	/* Before a number of a process that lost something: "~", "≥", or none, nor a margin. */
	enum table_mark { TABLE_NEAR, TABLE_AT_LEAST, TABLE_EXACT } mark;
};

/*
 * How many columns fit into a line, the first ones first, and leave `least` of it for a name behind
 * them; *ret_used is what they take, with two blanks.
 */
size_t table_fit(const struct table *t, const struct table_column *columns, size_t n, size_t least,
		 size_t *ret_used);
/* Their numbers, from `row`; NULL: none was counted. */
void table_number_cells(struct table *t, const struct table_column *columns, size_t n,
			const void *row, bool exact);
/* The margins of these, in a line below. */
void table_margin_cells(struct table *t, const struct table_column *columns, size_t n,
			const void *row);
/* The line above them. */
void table_heads(struct table *t, const struct table_column *columns, size_t n, const char *name);

/* A frame's function, or its address where that is not known; its source line, or its object. */
void table_frame_name(const struct view_frame *frame, bool full, struct strbuf *out);
void table_frame_where(const struct view_frame *frame, bool with_line, struct strbuf *out);
/* Both, in so many columns. */
void table_frame(struct strbuf *out, const struct view_frame *frame, bool full, bool with_line,
		 size_t columns);

/*
 * The frames of a stack, innermost first, and what is not known of it. ">" marks the frame that it
 * is named by where that is not the first.
 */
void table_stack(struct table *t, const struct view_stack *stack);
/* The same of a site, which always has the mark. */
void table_site_stack(struct table *t, const struct view_stack *stack);

static inline const char *table_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static inline void table_style(struct table *t, const char *sgr)
{
	if (view_opts(t->view)->color)
		strbuf_addf(&t->out, "\x1b[%sm", sgr);
}

static inline void table_bold(struct table *t, bool on)
{
	table_style(t, on ? "1" : "0");
}

static inline void table_warn(struct table *t, bool on)
{
	table_style(t, on ? "1;33" : "0");
}

/* How far estimates can be off; nothing where there are none. */

/* " ± 1.2 MiB", " ± 12": one of the estimate's. */
void table_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95);
void table_count_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95);
/* "±1.2 MiB", "±12" in a column of that width, to stand below a number. */
void table_margin_cell(struct table *t, uint64_t ci95, bool is_count, size_t columns);
/* ", from 3 samples only", where they are few. */
void table_few_samples(struct strbuf *line, const struct view_estimate *estimate);
/* "≥" for lower bounds, "~" for estimates, "" for what is exact. */
const char *table_at_least(const struct table *t, bool exact);
/* What a process has allocated and freed, where that is an estimate. */
void table_estimated_calls(struct table *t, const struct record_totals *totals);

/* What sites are sorted by: "live", "at the peak". */
const char *table_quantity_name(enum option_sort sort);
/* What of the estimate is that quantity's margin. */
void table_quantity_margin(struct strbuf *out, const struct view_estimate *estimate,
			   enum option_sort sort);

/* A group of a histogram: "@[dd]: read,by=comm (bytes)"; the key may be NULL. */
void table_group_name(struct strbuf *out, const struct record_histogram *asked, const char *key);

/* What a bucket is called, as bpftrace has it: "[16, 32)", "[1K, 2K)", "(..., 0)". */
void bucket_label(struct strbuf *out, const struct record_histogram *asked, int64_t lo, int64_t hi);

#endif
