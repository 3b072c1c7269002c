/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "estimate" of JSON: how far figures can be off, null where they are no estimates. Frees and
 * what the process has shown are known of processes alone.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_ESTIMATE_H
#define MEMTRACED_REPORT_JSON_JSON_ESTIMATE_H

#include "report/json/json_out.h"
#include "report/view/view_estimate.h"

void json_add_estimate(struct json_out *out, struct json_object *json,
		       const struct view_estimate *estimate, bool of_process);

#endif
