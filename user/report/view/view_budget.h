/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a service's trace was allowed to cost and has cost, in words for tables and comments.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_BUDGET_H
#define MEMTRACED_REPORT_VIEW_VIEW_BUDGET_H

struct report_budget;
struct strbuf;

/* One line, without its end. */
void view_budget_words(const struct report_budget *budget, struct strbuf *out);

#endif
