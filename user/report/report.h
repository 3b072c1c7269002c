/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output formats: one table, one file per format. A writer reads a view and writes one whole
 * report to a stream; it neither flushes nor closes it.
 */
#ifndef MEMTRACED_REPORT_REPORT_H
#define MEMTRACED_REPORT_REPORT_H

#include "base/strbuf.h"
#include "report/view/view.h"

#include <stdio.h>

struct diff;

struct report_format {
	const char *name;
	const char *description; /* one line */
	bool at_end_only;	 /* with -i on stdout: written once, at the end */
	bool one_job;		 /* holds the stacks of one job: report_opts.job */
	bool one_quantity;	 /* one number a stack: of the heap, or of report_opts.mappings */
	bool binary;		 /* nothing for a terminal */
	bool packed;		 /* compressed in itself, whatever the file's name says */
	bool has_hints;		 /* says what helps where little or nothing was seen */
	/* 0, -ENOMEM, or -EIO when the stream took not all. NULL: it has write_process. */
	int (*write)(const struct view *view, FILE *file);
	/* Of formats that hold the allocations of one process. Else NULL. */
	int (*write_process)(const struct view *view, const struct view_process *process,
			     FILE *file);
	/* What differs between two runs ('diff'). Else NULL. */
	int (*write_diff)(const struct diff *diff, FILE *file);
	bool diff_of_allocations; /* of all of them, and of no other job */
};

const struct report_format *report_formats(size_t *ret_n);

/* NULL when there is none of that name. */
const struct report_format *report_format_find(const char *name);

/* What to say of a name that is no format: "unknown format 'jsn'; did you mean 'json'? ..." */
void report_format_unknown(const char *name, struct strbuf *error);

/* The same of those that differences of two runs are written in. */
const struct report_format *report_format_find_diff(const char *name);
void report_format_unknown_diff(const char *name, struct strbuf *error);

/* Does a difference in that format hold the stacks of one job: diff_choose_job? */
bool report_format_diff_one_job(const struct report_format *format);

/*
 * As the format's write, or write_process; `process` NULL: of the first that allocated something
 * (report/one_process.h).
 */
int report_format_write(const struct report_format *format, const struct view *view,
			const struct view_process *process, FILE *file);
/* The same of a format's name; -ENOENT for an unknown one. */
int report_write(const char *format, const struct view *view, FILE *file);

#endif
