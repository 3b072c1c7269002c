/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of code that exist but cannot be opened without waiting for others: another process holds a
 * lease on them, or a file system is not to be trusted or does not answer. Nothing waits for them;
 * they are tried again later, at growing distances, and reports name them. Pure.
 */
#ifndef MEMTRACED_TRACE_LIVE_UNOPENED_FILES_H
#define MEMTRACED_TRACE_LIVE_UNOPENED_FILES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct proc_map;

struct unopened_file {
	uint32_t dev; /* major << 20 | minor */
	uint64_t ino;
	char *path;
	const char *why; /* static storage */
	uint64_t next_ns, pause_ns;
};

struct unopened_files {
	VEC(struct unopened_file *) all; /* addresses stay */
	uint64_t next_ns;		 /* of the first that is due; UINT64_MAX: none is */
	uint64_t further;		 /* for which there was no room: not tried again */
};

void unopened_files_init(struct unopened_files *files);
void unopened_files_done(struct unopened_files *files);

/* Is this what opening such a file returns? */
bool unopened_error(int error);

/*
 * A file that could not be opened, for a reason of unopened_error(). *ret_new: it was not there.
 * *ret_file: NULL when there is no room for more. 0 or -ENOMEM.
 */
int unopened_files_add(struct unopened_files *files, const struct proc_map *map, int error,
		       uint64_t now_ns, const struct unopened_file **ret_file, bool *ret_new);

/* Has its time come? */
bool unopened_file_is_due(const struct unopened_file *file, uint64_t now_ns);
/* All that were due have been tried: those are due again after twice the pause. */
void unopened_files_tried(struct unopened_files *files, uint64_t now_ns);
/* It was opened. */
void unopened_files_opened(struct unopened_files *files, uint32_t dev, uint64_t ino);

#endif
