/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a bucket of a histogram is called, as bpftrace has it: "[16, 32)", "[1K, 2K)", "(..., 0)".
 */
#ifndef MEMTRACED_REPORT_TEXT_BUCKET_LABEL_H
#define MEMTRACED_REPORT_TEXT_BUCKET_LABEL_H

#include "base/strbuf.h"
#include "trace/record/record_counts.h"

void bucket_label(struct strbuf *out, const struct record_histogram *asked, int64_t lo, int64_t hi);

#endif
