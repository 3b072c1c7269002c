/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of diffs: one table, one file per format. A writer reads a diff and writes one whole
 * report to a stream; it neither flushes nor closes it.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_WRITERS_H
#define MEMTRACED_REPORT_DIFF_DIFF_WRITERS_H

#include "base/strbuf.h"
#include "report/diff/diff.h"

#include <stdio.h>

struct diff_format {
	const char *name;
	bool binary;	  /* nothing for a terminal */
	bool one_job;	  /* holds the stacks of one job: diff_choose_job */
	bool allocations; /* and of no other */
	/* 0, -ENOMEM, or -EIO when the stream took not all. */
	int (*write)(const struct diff *diff, FILE *file);
};

const struct diff_format *diff_formats(size_t *ret_n);

/* NULL when there is none of that name. */
const struct diff_format *diff_format_find(const char *name);

/* What to say of a name that is no format of diffs. */
void diff_format_unknown(const char *name, struct strbuf *error);

int diff_table_write(const struct diff *diff, FILE *file);
int diff_json_write(const struct diff *diff, FILE *file);
int diff_folded_write(const struct diff *diff, FILE *file);
int diff_flamegraph_write(const struct diff *diff, FILE *file);
int diff_pprof_write(const struct diff *diff, FILE *file);

#endif
