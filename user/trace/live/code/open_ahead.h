/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of files that a process maps, opened all at once while it is there: reading the first
 * takes milliseconds, after which a process that is over by then has no files any more. Who asks
 * for a file takes its descriptor; of those not asked for, the newest are kept. An open file's
 * device and inode are no other's.
 */
#ifndef MEMTRACED_TRACE_LIVE_OPEN_AHEAD_H
#define MEMTRACED_TRACE_LIVE_OPEN_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_map;

#define OPEN_AHEAD_MOST 64

struct open_ahead {
	struct opened_file {
		uint32_t dev;
		uint64_t ino;
		int fd;
	} files[OPEN_AHEAD_MOST]; /* the oldest first */
	size_t n;
};

void open_ahead_done(struct open_ahead *ahead);

/* Opens the file of a mapping, unless it is open or cannot be: who needs it is told why. */
void open_ahead_add(struct open_ahead *ahead, pid_t pid, const struct proc_map *map);

/* Its descriptor, which stays here, or -1. */
int open_ahead_find(const struct open_ahead *ahead, uint32_t dev, uint64_t ino);

/* Its descriptor, the caller's now, or -1. */
int open_ahead_take(struct open_ahead *ahead, uint32_t dev, uint64_t ino);

#endif
