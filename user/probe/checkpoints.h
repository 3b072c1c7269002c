/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that are to be stopped at: where they are in a file. The first ones are those by which
 * the C library executes a program; those that the user has named follow.
 */
#ifndef MEMTRACED_PROBE_CHECKPOINTS_H
#define MEMTRACED_PROBE_CHECKPOINTS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

struct checkpoint {
	uint64_t offset;   /* in the file */
	uint16_t function; /* 0: execve and the like; else the index of its name, from 1 */
};

struct checkpoints {
	VEC(struct checkpoint) list; /* each place once */
};

/* Names are as in the symbol table; NULL-terminated, or NULL: none. 0 or -ENOMEM. */
int checkpoints_find(const struct elf_file *file, char *const *names, struct checkpoints *points);

#endif
