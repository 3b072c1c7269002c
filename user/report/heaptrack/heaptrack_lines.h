/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of heaptrack's format that say what is allocated and freed. Blocks have numbers by size
 * and trace, and readers go by these: who is freed under the number that was allocated last was
 * temporary. So blocks of a size and trace take turns with two numbers, and temporary ones have a
 * third. heaptrack_gui wants numbers to be allocated in their order, without gaps. For heaptrack.c.
 */
#ifndef MEMTRACED_REPORT_HEAPTRACK_HEAPTRACK_LINES_H
#define MEMTRACED_REPORT_HEAPTRACK_HEAPTRACK_LINES_H

#include "base/interns.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct heaptrack_kind;

struct heaptrack_lines {
	FILE *file;
	struct interns keys; /* of the kinds: size and trace */
	VEC(struct heaptrack_kind) kinds;
	uint64_t n_numbers;
	uint64_t last;	   /* number of the last line, if that is an allocation; else NUMBER_NONE */
	size_t first_kind; /* of the block with the number 0, if it is held; else SIZE_MAX */
	uint64_t n_false;  /* frees that readers take for those of temporary blocks */
};

void heaptrack_lines_begin(struct heaptrack_lines *lines, FILE *file);
void heaptrack_lines_done(struct heaptrack_lines *lines);

/* The kind of blocks of that size and trace. 0 or -ENOMEM. */
int heaptrack_lines_kind(struct heaptrack_lines *lines, uint64_t size, uint64_t trace,
			 size_t *ret_kind);

void heaptrack_lines_take(struct heaptrack_lines *lines, size_t kind);
/* `temporary`: of the block that was taken last, and only directly after that. */
void heaptrack_lines_drop(struct heaptrack_lines *lines, size_t kind, bool temporary);
/* Allocates a block and frees it at once. */
void heaptrack_lines_pass(struct heaptrack_lines *lines, size_t kind);

#endif
