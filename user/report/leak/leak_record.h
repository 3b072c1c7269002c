/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results of leak checks as records, so that reports of a recording show what those of the run do:
 * sums, and what became of each place's blocks. Loss records are left out: their text is recorded.
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_RECORD_H
#define MEMTRACED_REPORT_LEAK_LEAK_RECORD_H

#include "report/leak/leak_result.h"
#include "trace/record/record.h"

/* Hands it over as a RECORD_LEAKS, after its text was written. 0, -ENOMEM, or what fn returned. */
int leak_record_emit(const struct leak_result *result, record_fn fn, void *userdata);

/* 0 or -ENOMEM; what the record has no name for is left out. */
int leak_record_read(const struct record_leaks *record, struct leak_result **ret_result);

#endif
