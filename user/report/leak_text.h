/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a leak check, in memcheck's order and words, each line with "==PID== " before it:
 * scripts and people that read memcheck's read it. What memcheck does not say, since it cannot
 * happen there, comes in lines of its own that begin with "note:".
 */
#ifndef MEMTRACED_REPORT_LEAK_TEXT_H
#define MEMTRACED_REPORT_LEAK_TEXT_H

#include "report/leak_result.h"

/* HEAP SUMMARY, loss records, LEAK SUMMARY, notes. */
void leak_text(struct strbuf *out, const struct leak_result *result,
	       const struct leak_stacks *stacks, const struct model_process *image,
	       const struct leak_options *options);

/* What one process's checks, and wrong uses of its heap, come to. */
struct leak_errors {
	uint64_t errors, contexts, suppressed, suppressed_contexts;
};

/* The suppressions that were used, and ERROR SUMMARY. */
void leak_text_end(struct strbuf *out, pid_t pid, const struct leak_errors *errors,
		   const struct suppressions *used);

#endif
