/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What JSON says of a whole run: when it was, how much of it was seen, what was not. For writers.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_COVERAGE_H
#define MEMTRACED_REPORT_JSON_JSON_COVERAGE_H

#include "report/json/json_out.h"
#include "report/view/view.h"

/* Writes the first members of the report, without a brace. */
void json_head(struct json_out *out, const struct view *view);

/* The same without the version of the format: who recorded it, and when. */
void json_run(struct json_out *out, const struct view *view);

/* Writes the object. */
void json_coverage(struct json_out *out, const struct view *view);

#endif
