/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_fault.h"

int view_fault_init(const struct view_resolver *resolver, const struct model_process *image,
		    struct view_fault *ret_fault)
{
	const struct record_fault *v = &image->fault;
	int r;

	*ret_fault = (struct view_fault){ 0 };
	if (!image->has_fault)
		return 0;
	ret_fault->values = v;
	ret_fault->has_allocated = v->block && (v->block_fn || v->block_stack);
	ret_fault->has_freed = v->block && v->freed && (v->freed_fn || v->freed_stack);
	r = view_resolve_event(resolver, image, v->stack, 0, &ret_fault->stack);
	if (r == 0 && ret_fault->has_allocated)
		r = view_resolve_site(resolver, image, v->block_fn, v->block_stack,
				      &ret_fault->allocated);
	if (r == 0 && ret_fault->has_freed)
		r = view_resolve_site(resolver, image, v->freed_fn, v->freed_stack,
				      &ret_fault->freed);
	return r;
}

void view_fault_done(struct view_fault *fault)
{
	view_stack_done(&fault->stack);
	view_stack_done(&fault->allocated);
	view_stack_done(&fault->freed);
}
