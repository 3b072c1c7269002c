/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the text of leak checks goes: standard error, or the files of --log-file, a file for each
 * name that its %p makes. A file is replaced as a whole each time that something is added.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_LOG_H
#define MEMTRACED_SERVICE_LEAK_LEAK_LOG_H

#include "base/cleanup.h"

#include <sys/types.h>

struct leak_log;

/* `path`: NULL for standard error. 0, or what opening such a file gave (logged). */
int leak_log_new(const char *path, struct leak_log **ret_log);
void leak_log_free(struct leak_log *log); /* NULL is legal */
DEFINE_CLEANUP(struct leak_log, leak_log_free)

/* 0 or -ENOMEM. */
int leak_log_add(struct leak_log *log, pid_t pid, const char *text);
/* Writes what was added. 0 or negative errno (logged). */
int leak_log_flush(struct leak_log *log);

#endif
