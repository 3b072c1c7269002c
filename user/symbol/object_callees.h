/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which allocator functions an object's code calls, by return address (probe/callee.h). Part of the
 * worker, as it reads what others wrote. One thread.
 */
#ifndef MEMTRACED_SYMBOL_OBJECT_CALLEES_H
#define MEMTRACED_SYMBOL_OBJECT_CALLEES_H

#include "base/cleanup.h"

#include <stdint.h>

struct elf_image;
struct object_callees;
struct symbol_table;

/* Image and table must outlive it. Nothing is read yet. 0 or -ENOMEM. */
int object_callees_new(const struct elf_image *image, const struct symbol_table *table,
		       struct object_callees **ret_callees);
void object_callees_free(struct object_callees *callees); /* NULL is legal */
DEFINE_CLEANUP(struct object_callees, object_callees_free)

/* The name that the call before the address calls by. Static; NULL: none, or not known. */
const char *object_callees_find(struct object_callees *callees, uint64_t return_vaddr);

#endif
