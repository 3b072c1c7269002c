/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as paths of names from the root, each with one or two values, and the tree that they make:
 * what draws frames above each other. The paths are kept, not the tree: sorted by their names, its
 * nodes come one after the other. For writers.
 */
#ifndef MEMTRACED_REPORT_FLAME_STACK_PATHS_H
#define MEMTRACED_REPORT_FLAME_STACK_PATHS_H

#include "base/interns.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

enum path_kind { PATH_ROOT, PATH_PROCESS, PATH_FRAME, PATH_KERNEL, PATH_MARK };

#define PATH_SIDES 2 /* before and after, where two runs are compared */

struct stack_path {
	size_t first, n; /* in `frames` */
	unsigned int side;
	uint64_t value;
};

struct path_node {
	const char *name;
	enum path_kind kind;
	size_t depth;		     /* 0: the root of all */
	uint64_t start;		     /* sum of that side's values before it */
	uint64_t values[PATH_SIDES]; /* with those of its children */
};

/* Zero-initialised is empty. */
struct stack_paths {
	struct interns names; /* the kind as a character, then the name */
	struct strbuf key;
	VEC(uint32_t) frames; /* of all paths: numbers of names, once sorted their ranks */
	VEC(struct stack_path) paths;
	VEC(const char *) by_rank; /* the names once sorted */
	VEC(struct path_node) open;
	VEC(const char *) path; /* the names of the one at hand */
};

void stack_paths_done(struct stack_paths *paths);

/* Begins a path; its frames are pushed from the root on. The name is copied. 0 or -ENOMEM. */
int stack_paths_begin(struct stack_paths *paths, unsigned int side, uint64_t value);
int stack_paths_push(struct stack_paths *paths, enum path_kind kind, const char *name);

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
