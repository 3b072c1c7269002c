/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses /proc/PID/smaps, smaps_rollup and status (proc(5)): what of a process is in memory. Pure
 * functions of a buffer, and readers of the live files. Any thread.
 */
#ifndef MEMTRACED_TARGET_SMAPS_H
#define MEMTRACED_TARGET_SMAPS_H

#include "target/proc_maps.h"

struct smaps_row {
	struct proc_map map; /* its path is owned by the list */
	uint64_t rss_bytes, pss_bytes, swap_bytes;
};

struct smaps {
	struct smaps_row *rows; /* ascending by start, none overlapping */
	size_t n_rows;
	char *text; /* backing store of the paths */
};

/*
 * Copies `text` (len bytes, need not end in NUL). Keys that are not known are passed over, those
 * that a kernel does not write are 0. 0, -ENOMEM, or -EBADMSG as of proc_maps_parse(), and on a
 * value that is none.
 */
int smaps_parse(const char *text, size_t len, struct smaps *ret_smaps);

/* The value of a line "KEY:   123 kB" of /proc/PID/status in bytes. 0, or -ENOENT, -EBADMSG. */
int smaps_status_value(const char *text, const char *key, uint64_t *ret_bytes);

/* Reads /proc/PID/smaps. 0 or negative errno; -ESRCH when the process is gone or has no memory. */
int smaps_read(pid_t pid, struct smaps *ret_smaps);

struct smaps_sums {
	uint64_t rss_bytes, pss_bytes, swap_bytes;
	uint64_t page_table_bytes; /* no part of the others */
};

/* Reads /proc/PID/smaps_rollup and status. As smaps_read(). */
int smaps_sums_read(pid_t pid, struct smaps_sums *ret_sums);

void smaps_done(struct smaps *smaps);

#endif
