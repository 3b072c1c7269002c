/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trees of massif's detailed snapshots: where memory was allocated, then who called that. The
 * stacks are the same in all of them, and are kept as numbers of labels; what each holds is of the
 * snapshot at hand. Nodes are made while a tree is written. For massif.c.
 */
#ifndef MEMTRACED_REPORT_MASSIF_TREE_H
#define MEMTRACED_REPORT_MASSIF_TREE_H

#include "base/interns.h"

#include <stdint.h>
#include <stdio.h>

struct massif_path {
	size_t first, n; /* in `frames` */
	uint64_t bytes;	 /* that it holds now */
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
	VEC(uint32_t) order;		  /* of the paths: those that begin alike are together */
	VEC(struct massif_path) held;	  /* in that order, those that hold something */
	VEC(struct massif_node) pending;  /* the next to be written is the last */
	VEC(struct massif_node) children; /* of the node at hand */
};

void massif_tree_done(struct massif_tree *tree);

/* The number of a label, which is copied. 0 or -ENOMEM. */
int massif_tree_label(struct massif_tree *tree, const char *label, uint32_t *ret_number);

/*
 * Begins a stack, which holds nothing; the labels of its frames are pushed innermost first. Stacks
 * are numbered from 0 on. 0 or -ENOMEM.
 */
int massif_tree_begin(struct massif_tree *tree);
int massif_tree_push(struct massif_tree *tree, uint32_t label);

void massif_tree_hold(struct massif_tree *tree, size_t stack, uint64_t bytes);

/*
 * Writes the tree of what the stacks hold, with a sum of at most UINT64_MAX; of each node the
 * children below `threshold`, in hundredths of a percent of `total`, are one. 0 or -ENOMEM; errors
 * of the stream are its own.
 */
int massif_tree_write(struct massif_tree *tree, uint32_t threshold, uint64_t total, FILE *file);

#endif
