/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of a detailed snapshot of massif: where memory was allocated, then who called that.
 * Stacks are kept as numbers of labels; nodes are made while the tree is written. For massif.c.
 */
#ifndef MEMTRACED_REPORT_MASSIF_TREE_H
#define MEMTRACED_REPORT_MASSIF_TREE_H

#include "base/cleanup.h"

#include <stdint.h>
#include <stdio.h>

struct massif_tree;

/* 0 or -ENOMEM. */
int massif_tree_new(struct massif_tree **ret_tree);
/* NULL is legal. */
void massif_tree_free(struct massif_tree *tree);
DEFINE_CLEANUP(struct massif_tree, massif_tree_free)

/* Begins a stack; its frames are pushed innermost first. The label is copied. 0 or -ENOMEM. */
int massif_tree_begin(struct massif_tree *tree, uint64_t bytes);
int massif_tree_push(struct massif_tree *tree, const char *label);

/* Bytes of all stacks; UINT64_MAX when they are more. */
uint64_t massif_tree_bytes(const struct massif_tree *tree);

/*
 * Writes the tree; of each node the children below `threshold`, in hundredths of a percent of
 * `total`, are one. 0 or -ENOMEM; errors of the stream are its own.
 */
int massif_tree_write(struct massif_tree *tree, uint32_t threshold, uint64_t total, FILE *file);

#endif
