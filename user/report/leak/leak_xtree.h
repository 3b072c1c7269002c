/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loss records of a leak check as an execution tree, in callgrind's format with the events of
 * memcheck's --xtree-leak, for kcachegrind and callgrind_annotate --inclusive=yes.
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_XTREE_H
#define MEMTRACED_REPORT_LEAK_LEAK_XTREE_H

#include "report/leak/leak_result.h"

/* Appends the file: records that are shown and have a place. */
void leak_xtree(struct strbuf *out, const struct leak_result *result,
		const struct leak_stacks *stacks, const char *command);

#endif
