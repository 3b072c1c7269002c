/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites of results as text: what was proven, for people. */
#ifndef MEMTRACED_PROBE_RESULT_TEXT_H
#define MEMTRACED_PROBE_RESULT_TEXT_H

struct plan;
struct strbuf;

/* A line for each allocating function of the plan, and for each of its sites. */
void result_text(const struct plan *plan, const char *path, struct strbuf *out);

#endif
