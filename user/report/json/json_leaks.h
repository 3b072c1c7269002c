/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What leak checks have found, for the writer of JSON.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_LEAKS_H
#define MEMTRACED_REPORT_JSON_JSON_LEAKS_H

#include "report/json/json_out.h"
#include "report/view/view_site.h"

/* "definite"; NULL for REACH_CLASSES. */
const char *json_leak_class(enum reach_class class);

/* The sums of a process's latest check, or null. */
void json_leaks(struct json_out *out, const struct view_process *process);

#endif
