/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of Prometheus' text format 0.0.4 or of OpenMetrics 1.0: a family, then its samples, whose
 * labels come before their value. Errors stick until the end. For writers.
 */
#ifndef MEMTRACED_REPORT_METRICS_OUT_H
#define MEMTRACED_REPORT_METRICS_OUT_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

struct metrics_family {
	const char *name; /* without "_total" */
	enum metrics_type type;
	const char *unit; /* "": none, else the name ends in it */
	const char *help; /* plain text without backslashes and line ends */
};

struct metrics_out {
	FILE *file;
	bool is_openmetrics;
	/* owned by the functions below, 0 at the start */
	struct metrics_family family;
	struct strbuf labels;
	int error;
};

/* Begins a family, whose strings must outlive its samples; each may begin once. */
void metrics_out_family(struct metrics_out *out, const struct metrics_family *family);
/* The same of a counter, and of a gauge. */
void metrics_out_counter(struct metrics_out *out, const char *name, const char *unit,
			 const char *help);
void metrics_out_gauge(struct metrics_out *out, const char *name, const char *unit,
		       const char *help);

/* A label of the next sample. The value is any text of a target's; "": as if it were not there. */
void metrics_out_label(struct metrics_out *out, const char *name, const char *value);

/* A sample of the family, with the suffix that its type has ("_bucket"); ends its labels. */
void metrics_out_u64(struct metrics_out *out, const char *suffix, uint64_t value);
void metrics_out_i64(struct metrics_out *out, const char *suffix, int64_t value);
/* In seconds. */
void metrics_out_ns(struct metrics_out *out, const char *suffix, uint64_t value);

/* A sample with one label. */
void metrics_out_labelled(struct metrics_out *out, const char *label, const char *text,
			  uint64_t value);

/* Keeps an error of the caller's for the end. */
void metrics_out_fail(struct metrics_out *out, int error);

/* Ends the text and frees what was held: 0, -ENOMEM, or -EIO. */
int metrics_out_end(struct metrics_out *out);

#endif
