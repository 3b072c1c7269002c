/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_errors.h"

#include "base/saturate.h"

#include <errno.h>

const char *view_error_name(enum record_heap_error_kind kind)
{
	static const char *const names[RECORD_HEAP_ERRORS] = {
		[RECORD_INVALID_FREE] = "invalid-free",
		[RECORD_DOUBLE_FREE] = "double-free",
		[RECORD_MISMATCHED_FREE] = "mismatched-free",
		[RECORD_FOREIGN_FREE] = "foreign-free",
		[RECORD_FAILED_ALLOCATION] = "failed-allocation",
		[RECORD_SUSPICIOUS_SIZE] = "suspicious-size",
		[RECORD_REALLOC_ZERO] = "realloc-zero",
	};

	return kind < RECORD_HEAP_ERRORS ? names[kind] : NULL;
}

bool view_error_is_fault(const struct view_heap_error *error)
{
	return error->values->kind != RECORD_FAILED_ALLOCATION;
}

static void error_done(struct view_heap_error *error)
{
	view_stack_done(&error->stack);
	view_stack_done(&error->allocated);
	view_stack_done(&error->freed);
}

static int resolve_error(const struct view_resolver *resolver, const struct model_process *image,
			 struct view_heap_error *error)
{
	const struct record_heap_error *v = error->values;
	int r = view_resolve_site(resolver, image, v->fn, v->stack, &error->stack);

	error->has_block = v->block != 0;
	error->has_allocated = error->has_block && (v->block_fn || v->block_stack);
	error->has_freed = v->freed_fn || v->freed_stack;
	if (r == 0 && error->has_allocated)
		r = view_resolve_site(resolver, image, v->block_fn, v->block_stack,
				      &error->allocated);
	if (r == 0 && error->has_freed)
		r = view_resolve_site(resolver, image, v->freed_fn, v->freed_stack, &error->freed);
	return r;
}

/* The same code, loaded again, gives stacks another id. There are few errors. */
static bool merge_error(struct view_errors *errors, const struct view_heap_error *error)
{
	for (size_t i = 0; i < errors->n; i++) {
		struct view_heap_error *e = &errors->errors[i];

		if (e->values->kind != error->values->kind ||
		    !view_stack_equal(&e->stack, &error->stack))
			continue;
		e->count = saturate_add_u64(e->count, error->count);
		return true;
	}
	return false;
}

static int compare_error_times(const void *item_a, const void *item_b)
{
	const struct record_heap_error *a = *(const struct record_heap_error *const *)item_a;
	const struct record_heap_error *b = *(const struct record_heap_error *const *)item_b;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int add_error(const struct view_resolver *resolver, const struct model_process *image,
		     const struct record_heap_error *values, struct view_errors *errors)
{
	struct view_heap_error error = { .values = values, .count = values->count };
	int r = view_error_name(values->kind) ? resolve_error(resolver, image, &error) : -ENOENT;

	if (r == 0 && !merge_error(errors, &error)) {
		errors->errors[errors->n++] = error;
		return 0;
	}
	error_done(&error);
	return r == -ENOENT ? 0 : r;
}

int view_errors_init(const struct view_resolver *resolver, const struct model_process *image,
		     struct view_errors *ret_errors)
{
	_cleanup_free_ const struct record_heap_error **order =
		calloc(image->n_errors + 1, sizeof(*order));
	int r = 0;

	*ret_errors = (struct view_errors){
		.errors = calloc(image->n_errors + 1, sizeof(ret_errors->errors[0])),
		.further = image->totals.further_errors,
	};
	if (!order || !ret_errors->errors)
		return -ENOMEM;
	for (size_t i = 0; i < image->n_errors; i++)
		order[i] = &image->errors[i];
	qsort(order, image->n_errors, sizeof(*order), compare_error_times);
	for (size_t i = 0; r == 0 && i < image->n_errors; i++)
		r = add_error(resolver, image, order[i], ret_errors);
	return r;
}

void view_errors_done(struct view_errors *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		error_done(&errors->errors[i]);
	free(errors->errors);
	*errors = (struct view_errors){ 0 };
}

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
