/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds of why a process was killed: the fault, with its stacks. Plain data, owned by
 * the view, which alone makes it.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_FAULT_H
#define MEMTRACED_REPORT_VIEW_VIEW_FAULT_H

#include "model/image.h"
#include "report/view/view_resolve.h"

struct view_fault {
	const struct record_fault *values; /* NULL: there was none */
	struct view_stack stack;
	bool has_allocated, has_freed; /* of the block that is near it is known where */
	struct view_stack allocated, freed;
};

/* 0 or -ENOMEM; it has to be released in both cases. */
int view_fault_init(const struct view_resolver *resolver, const struct model_process *image,
		    struct view_fault *ret_fault);
void view_fault_done(struct view_fault *fault);

#endif
