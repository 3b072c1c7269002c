/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites as rows of the live view: which are shown, in what order, as lines of a given width. They
 * hold copies, so that they outlast the view that they were made from. Pure functions.
 */
#ifndef MEMTRACED_REPORT_SITE_ROWS_H
#define MEMTRACED_REPORT_SITE_ROWS_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/view/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rows are sorted by; the largest come first. */
enum site_column {
	SITE_LIVE,
	SITE_BLOCKS,
	SITE_YOUNG, /* bytes allocated since the mark that still live */
	SITE_RATE,  /* allocations a second */
	SITE_ALLOCS,
	SITE_PEAK,
	SITE_COLUMNS
};

struct site_row {
	uint32_t image; /* with id: which site it is */
	uint64_t id;
	uint32_t pid;
	bool exact;
	int64_t values[SITE_COLUMNS];
	uint64_t allocs;
	struct view_estimate estimate;
	char *name; /* clean: where it allocates */
};

struct site_rows {
	struct site_row *rows;
	size_t n_rows;
	size_t n_sites; /* before the filter */
	bool has_estimates;
	uint64_t now_ns;
};

/*
 * The sites of all processes in which a frame has `filter` in its function, object or file, in
 * either case ("": all). `before` (may be NULL) gives the rates. 0 or -ENOMEM.
 */
int site_rows_make(const struct view *view, const char *filter, const struct site_rows *before,
		   struct site_rows *ret_rows);
void site_rows_done(struct site_rows *rows);

void site_rows_sort(struct site_rows *rows, enum site_column column);

struct site_layout {
	bool with_pids; /* there are several processes */
	bool marked;	/* else nothing is young yet */
	bool estimated; /* there is a column of what live bytes can be off */
	size_t columns; /* of a line at most */
};

/* The heads of the columns, the sorted one marked by a star. */
void site_rows_head(struct strbuf *out, enum site_column sort, const struct site_layout *layout);
void site_row_line(struct strbuf *out, const struct site_row *row,
		   const struct site_layout *layout);

/*
 * A site's stack as lines, each ended by a newline, of any length: what allocates first; before it
 * what its numbers can be off, where they are estimates. False: it is in the view no more.
 */
bool site_stack_lines(const struct view *view, uint32_t image, uint64_t id, struct strbuf *out);

#endif
