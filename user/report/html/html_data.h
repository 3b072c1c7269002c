/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the HTML report knows, as JSON for its script: the members of the stable interface, but with
 * sites as rows of numbers, series as columns and stacks in tables. For html.c.
 */
#ifndef MEMTRACED_REPORT_HTML_HTML_DATA_H
#define MEMTRACED_REPORT_HTML_HTML_DATA_H

#include "report/json/json_out.h"
#include "report/view/view.h"

/* Writes the object. 0 or -ENOMEM; errors of the output stick to it. */
int html_data_put(struct json_out *out, const struct view *view);

#endif
