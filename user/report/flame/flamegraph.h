/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What flame graphs and pages call what they show.
 */
#ifndef MEMTRACED_REPORT_FLAME_FLAMEGRAPH_H
#define MEMTRACED_REPORT_FLAME_FLAMEGRAPH_H

#include "base/strbuf.h"
#include "report/view/view.h"

/* "Heap of server (pid 42) and 3 more processes" */
void flamegraph_title(const struct view *view, struct strbuf *out);

#endif
