/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of a detailed snapshot of massif: where memory was allocated, then who called that.
 * Stacks are kept as numbers of labels; nodes are made while the tree is written. For massif.c.
 */
#ifndef MEMTRACED_REPORT_MASSIF_TREE_H
#define MEMTRACED_REPORT_MASSIF_TREE_H

#include "base/interns.h"

#include <stdint.h>
#include <stdio.h>

struct massif_path {
	size_t first, n; /* in `frames` */
	uint64_t bytes;
};

struct massif_node {
	uint32_t label;
	size_t depth;
	size_t first, n; /* paths; of a folded node, how many there are */
	uint64_t bytes;
};

/* Zero-initialised is empty. */
struct massif_tree {
	struct interns labels;
	VEC(uint32_t) frames; /* of all paths */
	VEC(struct massif_path) paths;
	uint64_t bytes;			  /* of all paths; UINT64_MAX when they are more */
	VEC(struct massif_node) pending;  /* the next to be written is the last */
	VEC(struct massif_node) children; /* of the node at hand */
};

void massif_tree_done(struct massif_tree *tree);

/* Begins a stack; its frames are pushed innermost first. The label is copied. 0 or -ENOMEM. */
int massif_tree_begin(struct massif_tree *tree, uint64_t bytes);
int massif_tree_push(struct massif_tree *tree, const char *label);

/*
 * Writes the tree; of each node the children below `threshold`, in hundredths of a percent of
 * `total`, are one. 0 or -ENOMEM; errors of the stream are its own.
 */
int massif_tree_write(struct massif_tree *tree, uint32_t threshold, uint64_t total, FILE *file);

#endif
