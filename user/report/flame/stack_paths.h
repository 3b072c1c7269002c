/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as paths of names from the root, each with one or two values, and the tree that they make:
 * what draws frames above each other. The paths are kept, not the tree: sorted by their names, its
 * nodes come one after the other. For writers.
 */
#ifndef MEMTRACED_REPORT_FLAME_STACK_PATHS_H
#define MEMTRACED_REPORT_FLAME_STACK_PATHS_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct stack_paths;

enum path_kind { PATH_ROOT, PATH_PROCESS, PATH_FRAME, PATH_KERNEL, PATH_MARK };

#define PATH_SIDES 2 /* before and after, where two runs are compared */

/* 0 or -ENOMEM. */
int stack_paths_new(struct stack_paths **ret_paths);
/* NULL is legal. */
void stack_paths_free(struct stack_paths *paths);
DEFINE_CLEANUP(struct stack_paths, stack_paths_free)

/* Begins a path; its frames are pushed from the root on. The name is copied. 0 or -ENOMEM. */
int stack_paths_begin(struct stack_paths *paths, unsigned int side, uint64_t value);
int stack_paths_push(struct stack_paths *paths, enum path_kind kind, const char *name);

struct path_node {
	const char *name;
	enum path_kind kind;
	size_t depth;		     /* 0: the root of all */
	uint64_t start;		     /* sum of that side's values before it */
	uint64_t values[PATH_SIDES]; /* with those of its children */
};

/*
 * Hands over the nodes, each after its children, siblings by name. `side` is the one that `start`
 * counts. Once begun, no more paths may come. 0, -ENOMEM, or what fn returned when not 0.
 */
typedef int (*path_fn)(const struct path_node *node, void *userdata);
int stack_paths_walk(struct stack_paths *paths, unsigned int side, path_fn fn, void *userdata);

struct path_stack {
	const char *const *names; /* from the root on */
	size_t n;
	uint64_t values[PATH_SIDES];
};

/* The same of the paths, each once with the values of all that are equal. */
typedef int (*path_stack_fn)(const struct path_stack *stack, void *userdata);
int stack_paths_each(struct stack_paths *paths, path_stack_fn fn, void *userdata);

#endif
