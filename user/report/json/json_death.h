/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who killed a process, as JSON: "death" of a process.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_DEATH_H
#define MEMTRACED_REPORT_JSON_JSON_DEATH_H

#include "report/json/json_out.h"
#include "report/view/view_site.h"

/* An object, or null. */
void json_death(struct json_out *out, const struct view_process *process);

#endif
