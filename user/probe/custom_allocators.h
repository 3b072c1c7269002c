/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocators that the user has named (config/allocator_spec.h), as rows beside those of
 * probe/allocators.h; and which of them have been found in any object. One thread.
 */
#ifndef MEMTRACED_PROBE_CUSTOM_ALLOCATORS_H
#define MEMTRACED_PROBE_CUSTOM_ALLOCATORS_H

#include "base/cleanup.h"
#include "probe/allocators.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocator_spec;
struct custom_allocators;

struct custom_function {
	struct allocator_function row;
	uint64_t address;   /* 0: row.name is a symbol */
	const char *object; /* as in struct allocator_spec; borrowed */
	bool found;	    /* for the plan to set */
};

/* The specs are borrowed for good. 0 or -ENOMEM. */
int custom_allocators_new(const struct allocator_spec *specs, size_t n,
			  struct custom_allocators **ret_custom);
/* Of rows as custom_allocators_all() has them; what they point to is borrowed. 0 or -ENOMEM. */
int custom_allocators_copy(const struct custom_function *functions, size_t n,
			   struct custom_allocators **ret_custom);
void custom_allocators_free(struct custom_allocators *custom); /* NULL is legal */
DEFINE_CLEANUP(struct custom_allocators, custom_allocators_free)

/* All functions, in the order in which they were given; `custom` may be NULL. */
struct custom_function *custom_allocators_all(struct custom_allocators *custom, size_t *ret_n);

/* Whether the function may be in the file of that path. */
bool custom_function_is_in(const struct custom_function *function, const char *path);

#endif
