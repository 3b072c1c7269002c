/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are not to be traced when a process executes them, by patterns with * and ? of
 * their names and arguments: Valgrind's --trace-children-skip and --trace-children-skip-by-arg.
 */
#ifndef MEMTRACED_TARGET_EXEC_SKIP_H
#define MEMTRACED_TARGET_EXEC_SKIP_H

#include <stdbool.h>
#include <sys/types.h>

/* Patterns with commas between them; NULL: none. */
struct exec_skip {
	const char *names; /* of what execve(2) was given as path */
	const char *words; /* of the arguments, without the first, which is a name */
};

/* Is one of the patterns the whole text's? Pure. */
bool exec_skip_has(const char *patterns, const char *text);

/*
 * Is the process, which stands at its exec, to be skipped? False if what it has executed cannot be
 * read.
 */
bool exec_skip_matches(const struct exec_skip *skip, pid_t pid);

#endif
