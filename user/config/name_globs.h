/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of process names (--comm) as the automaton that the BPF programs run too: struct
 * abi_names of bpf/abi.h. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_NAME_GLOBS_H
#define MEMTRACED_CONFIG_NAME_GLOBS_H

#include "base/strbuf.h"
#include "bpf/abi.h"

#include <stdbool.h>

/* The kernel cuts a process's name to this many bytes (TASK_COMM_LEN without the 0). */
#define NAME_GLOBS_MAX_NAME 15

/*
 * Adds a pattern: '*' any number of bytes, '?' one, "[a-z]" and "[!a-z]" one of those or none of
 * those, a backslash takes the next byte as it is. 0; -EINVAL with one line in *error: it is empty,
 * badly formed, or no name can match it; -ENOSPC, also with a line: all patterns together have more
 * than 63 elements. `names` is then as it was.
 */
int name_globs_add(struct abi_names *names, const char *pattern, struct strbuf *error);

/* Does one of them match the whole name? False when there are none. */
bool name_globs_match(const struct abi_names *names, const char *name);

#endif
