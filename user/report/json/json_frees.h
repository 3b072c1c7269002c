/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What JSON says of where a site's blocks are freed. For writers.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_FREES_H
#define MEMTRACED_REPORT_JSON_JSON_FREES_H

#include "report/json/json_out.h"
#include "report/view/view_frees.h"

/* The member "frees", null of what has none: regions. Only where it was asked for. */
void json_add_frees(struct json_out *out, struct json_object *to, bool known,
		    const struct view_frees *frees);

#endif
