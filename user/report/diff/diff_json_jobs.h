/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events and histograms in the JSON of diffs. */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_JSON_JOBS_H
#define MEMTRACED_REPORT_DIFF_DIFF_JSON_JOBS_H

#include "report/diff/diff.h"
#include "report/json/json_out.h"

/* The members "histograms" and "events". */
void diff_json_jobs(struct json_out *out, const struct diff *diff);

#endif
