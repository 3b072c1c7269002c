/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a process was killed, as JSON: "fault" of a process.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_FAULT_H
#define MEMTRACED_REPORT_JSON_JSON_FAULT_H

#include "report/json/json_out.h"
#include "report/view/view_site.h"

/* An object, or null. */
void json_fault(struct json_out *out, const struct view_process *process);

#endif
