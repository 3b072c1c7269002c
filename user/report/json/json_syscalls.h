/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the JSON report that is about system calls: an array of processes. Used by json.c
 * alone.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_SYSCALLS_H
#define MEMTRACED_REPORT_JSON_JSON_SYSCALLS_H

#include "report/json/json_out.h"
#include "report/view/view.h"

void json_syscalls(struct json_out *out, const struct view *view);

#endif
