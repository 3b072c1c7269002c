/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nesting.c tells the allocator that it is linked with. */
#ifndef TESTS_TARGETS_NESTING_H
#define TESTS_TARGETS_NESTING_H

#include <stddef.h>

/* Called once, inside the next malloc or realloc and before the C library's. */
extern void (*volatile nesting_hook)(void);

/* realloc, for a call that is left: the wrapper's books have the block as replaced by then. */
extern void *uncounted_realloc(void *block, size_t size);

#endif
