/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the table report, which share one output: table_histograms.c, table_events.c,
 * table_syscalls.c, table.c (what ran), table_sites.c (the sites of a process), table_frees.c
 * (where their blocks are freed), table_resident.c
 * (what of it is in memory), table_coverage.c (how much of it is certain); and
 * diff_table.c, where two runs are compared.
 */
#ifndef MEMTRACED_REPORT_TEXT_TABLE_H
#define MEMTRACED_REPORT_TEXT_TABLE_H

#include "base/strbuf.h"
#include "report/text/text.h"
#include "report/view/view.h"

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

/* "dd (pid 4242)" */
void table_process(struct strbuf *out, const struct model_process *image);

/* A line broken to the width of the report, all but its first part indented. */
void table_wrap(struct table *t, size_t indent, const char *text);

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

void table_histograms(struct table *t);
void table_events(struct table *t);
void table_syscalls(struct table *t);
/* The frames of a stack, innermost first, and what is not known of it. */
void table_stack(struct table *t, const struct view_stack *stack);
void table_sites(struct table *t, const struct view_process *process, enum view_class class);
/* Where its blocks are freed; nothing where that is not known. */
void table_frees(struct table *t, const struct view_process *process, const struct view_site *site);
/* Nothing where there was no check. */
void table_leaks(struct table *t, const struct view_process *process);
/* Nothing where there are none. */
void table_errors(struct table *t, const struct view_process *process);
/* Nothing where there was none. */
void table_fault(struct table *t, const struct view_process *process);
void table_death(struct table *t, const struct view_process *process);
/* What --group-by sums, of all processes. 0 or -ENOMEM. */
int table_groups(struct table *t);
void table_resident(struct table *t, const struct view_process *process);
void table_coverage(struct table *t);

#endif
