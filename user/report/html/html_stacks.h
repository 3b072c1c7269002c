/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as the HTML report has them: numbers of nodes, each a frame and the node of its caller, so
 * that what stacks have in common is there once. Filled while sites are written; the tables follow
 * when they are complete. For html.c.
 */
#ifndef MEMTRACED_REPORT_HTML_HTML_STACKS_H
#define MEMTRACED_REPORT_HTML_HTML_STACKS_H

#include "base/interns.h"
#include "report/json/json_out.h"
#include "report/samples.h"

/* Zero-initialised is empty. */
struct html_stacks {
	struct interns strings, frames, nodes;
	struct sample_frames list; /* of the stack at hand */
};

void html_stacks_done(struct html_stacks *stacks);

/* The node of the innermost frame; -1: the stack has none. 0 or -ENOMEM. */
int html_stacks_add(struct html_stacks *stacks, const struct view_stack *stack, int64_t *ret_node);

/*
 * Writes the members "nodes" (caller, frame, caller, frame, ...; each after its caller), "frames"
 * ([function, file, line, object, offset, flags, short name]; -1 for what is not known, or is the
 * function) and "strings". 0 or -ENOMEM.
 */
int html_stacks_put(struct html_stacks *stacks, struct json_out *out);

#endif
