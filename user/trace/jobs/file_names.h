/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of the files that traced processes had open, as they were when each was first seen.
 */
#ifndef MEMTRACED_TRACE_JOBS_FILE_NAMES_H
#define MEMTRACED_TRACE_JOBS_FILE_NAMES_H

#include "base/cleanup.h"
#include "bpf/abi_syscalls.h"

struct file_names;

int file_names_new(struct file_names **ret_names);
/* NULL is legal. */
void file_names_free(struct file_names *names);
DEFINE_CLEANUP(struct file_names, file_names_free)

/* Takes in a ring record of type ABI_EV_FILE. 0 or -ENOMEM. */
int file_names_add(struct file_names *names, const struct abi_ev_file *ev);

/* "/etc/passwd", "socket:[123]", "pipe:[4]", "anon_inode:[eventfd]"; NULL: not known. */
const char *file_names_find(const struct file_names *names, const struct abi_file_id *id);

#endif
