/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap errors of a process as JSON: DESIGN.md section 12, and what docs/memtraced.8 adds.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_ERRORS_H
#define MEMTRACED_REPORT_JSON_JSON_ERRORS_H

#include "report/json/json_out.h"
#include "report/view/view_site.h"

/* Writes the array. */
void json_errors(struct json_out *out, const struct view_process *process);

#endif
