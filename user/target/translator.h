/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that translate code of their own architecture (Valgrind, qemu-user, DynamoRIO, Pin), by
 * their executables' names. A breakpoint in what they copy ends them.
 */
#ifndef MEMTRACED_TARGET_TRANSLATOR_H
#define MEMTRACED_TARGET_TRANSLATOR_H

#include <stdbool.h>

bool translator_is(const char *exe);

/* The executable of one that runs here, malloc'ed; NULL: there is none. 0 or negative errno. */
int translator_find(char **ret_exe);

#endif
