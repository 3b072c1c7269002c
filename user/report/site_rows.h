/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites as rows of a line each, of the live view and of the summary that begins the table: which
 * are shown, in what order, as lines of a given width. They hold copies, so that they outlast the
 * view that they were made from. Pure functions.
 */
#ifndef MEMTRACED_REPORT_SITE_ROWS_H
#define MEMTRACED_REPORT_SITE_ROWS_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/view/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rows are sorted by; the largest come first. The live view offers those before SITE_GROWN. */
enum site_column {
	SITE_LIVE,
	SITE_BLOCKS,
	SITE_YOUNG, /* bytes allocated since the mark that still live */
	SITE_RATE,  /* allocations a second */
	SITE_ALLOCS,
	SITE_PEAK,
	SITE_VERDICT, /* 1 and more: enum growth_verdict and 1; 0: not known */
	SITE_GROWN,   /* bytes, since the last report */
	SITE_TEMPORARY,
	SITE_SHARE, /* of the sum that rows are of, in thousandths */
	SITE_COLUMNS
};

/* All sites of a function and line, of all processes. */
struct site_row {
	char *key; /* tells rows apart, also those of another view */
	uint32_t pid;
	size_t n_pids, n_stacks; /* that the row is a sum of */
	bool exact;
	int64_t values[SITE_COLUMNS];
	uint64_t allocs;
	struct view_estimate estimate;
	char *name;  /* where it allocates: the function, */
	char *where; /* and its line, or its object; clean */
};

struct site_rows {
	struct site_row *rows;
	size_t n_rows;
	size_t n_all; /* before the filter */
	bool has_estimates, has_verdicts;
	bool full_names; /* were asked for */
	uint64_t now_ns;
};

/*
 * The sites in which a frame has `filter` in its function, object or file, in either case ("":
 * all), but of processes that are past (view_process). `before` (may be NULL) gives the rates.
 * 0 or -ENOMEM.
 */
int site_rows_make(const struct view *view, const char *filter, const struct site_rows *before,
		   struct site_rows *ret_rows);
/* The sites of view_class_shown() that --sort ranks, sorted, with their share. 0 or -ENOMEM. */
int site_rows_sum(const struct view *view, struct site_rows *ret_rows);
void site_rows_done(struct site_rows *rows);

/* The column that --sort ranks by. */
enum site_column site_column_of(enum option_sort sort);

/* By what has grown: leaks come first, then what grows. */
void site_rows_sort(struct site_rows *rows, enum site_column column);

/* Is there anything of it to show when sites are sorted so? */
static inline bool site_is_ranked(const struct view_site *site, enum option_sort sort)
{
	return view_site_weight(site, sort) > 0 ||
	       (sort == SORT_GROWTH && view_site_urgency(site) > 0);
}

struct site_layout {
	enum site_column shown[SITE_COLUMNS]; /* what matters most first */
	size_t n_shown;
	enum site_column sort; /* its head has a star; SITE_COLUMNS: none has */
	bool with_pids;	       /* there are several processes */
	bool marked;	       /* else nothing is young yet */
	bool estimated;	       /* there is a column of what live bytes can be off */
	bool full_names;
	size_t columns; /* of a line at most */
};

/*
 * Sets `estimated` and `full_names`. Takes out columns of what rows lack, then the last ones but
 * the sorted one, until names of sites can be read.
 */
void site_layout_fit(struct site_layout *layout, const struct site_rows *rows);

/* The heads of the columns. */
void site_rows_head(struct strbuf *out, const struct site_layout *layout);
void site_row_line(struct strbuf *out, const struct site_row *row,
		   const struct site_layout *layout);

/*
 * The stacks of a row that site_rows_make() made, as lines that end with a newline, frames in so
 * many columns: what holds most comes first, and in each what allocates. Before a stack comes what
 * it holds, where there are several, and what that can be off, where it is estimated. Returns how
 * many there are (0: the row is in the view no more) or -ENOMEM.
 */
int site_row_stacks(const struct view *view, const char *key, const char *filter, size_t columns,
		    struct strbuf *out);

#endif
