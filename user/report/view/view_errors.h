/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds of wrong uses of the heap: each error with its stacks, those with the same
 * places merged; and of the fault that killed a process. Plain data, owned by the view, which alone
 * makes it.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_ERRORS_H
#define MEMTRACED_REPORT_VIEW_VIEW_ERRORS_H

#include "model/image.h"
#include "report/view/view_resolve.h"
#include "report/view/view_stack.h"

struct view_heap_error {
	const struct record_heap_error *values; /* of its first time */
	uint64_t count;
	struct view_stack stack; /* the function that was called, then its callers */
	bool has_block;		 /* values->block is known, */
	bool has_allocated;	 /* and where it was made, */
	bool has_freed;		 /* and where it was freed before */
	struct view_stack allocated, freed;
};

struct view_errors {
	size_t n;
	struct view_heap_error *errors; /* in the order of their first time */
	uint64_t further;		/* times that are in none of them, as there were too many */
};

/* 0 or -ENOMEM; the errors have to be released in both cases. */
int view_errors_init(const struct view_resolver *resolver, const struct model_process *image,
		     struct view_errors *ret_errors);
void view_errors_done(struct view_errors *errors);

/* "double-free"; NULL: a kind that this version does not know. */
const char *view_error_name(enum record_heap_error_kind kind);

/* Is it a fault of the program? A request that there was no memory for need not be one. */
bool view_error_is_fault(const struct view_heap_error *error);

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
