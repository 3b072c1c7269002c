/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stack ids to stacks, for a view that is being made; and what tells stacks apart, so that those
 * with the same places can be merged. Used by the parts of the view, and by streams.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_RESOLVE_H
#define MEMTRACED_REPORT_VIEW_VIEW_RESOLVE_H

#include "model/model.h"
#include "report/view/symbols.h"
#include "report/view/view_stack.h"

struct view_resolver {
	const struct model *model;
	struct symbols *symbols;
};

/* Never NULL: of a process whose beginning was lost nothing is known. */
const struct model_process *view_resolve_process(const struct view_resolver *resolver,
						 image_t image);

/* The newest image of a process whose depth changed, which is the same program; else the image. */
const struct model_process *view_same_program(const struct model *model,
					      const struct model_process *image);

/*
 * The allocator function, then its callers. 0 or -ENOMEM; the caller has to release the stack in
 * both cases.
 */
int view_resolve_site(const struct view_resolver *resolver, const struct model_process *image,
		      uint16_t fn, uint64_t stack_id, struct view_stack *ret_stack);

/* The kernel's frames, then the process's; a kernel thread has none of the latter. As above. */
int view_resolve_event(const struct view_resolver *resolver, const struct model_process *image,
		       uint64_t stack_id, uint64_t kernel_stack_id, struct view_stack *ret_stack);

/*
 * Has the places of its outer frames in one copy with other stacks of `pieces`, which must outlive
 * it: those of a report's sites have most of them. 0 or -ENOMEM.
 */
int view_stack_share(struct view_stack *stack, struct pieces *pieces);

void view_stack_done(struct view_stack *stack);

/*
 * By places, within one process: lost stacks are no others than lost ones. Programs choose them, so
 * the hash is another one in each run.
 */
uint64_t view_stack_hash(const struct view_stack *stack);
bool view_stack_equal(const struct view_stack *a, const struct view_stack *b);

/* A hash that is the same in every run of the same binaries. */
uint64_t view_stack_id(const struct view_stack *stack, uint64_t seed);

#endif
