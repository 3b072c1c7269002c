/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of processes, those with most resident memory first (routes/process_reader.h reads it).
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_PROCESS_ROWS_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_PROCESS_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_row {
	pid_t pid;
	uint64_t rss_bytes;
	char comm[16];
};

struct process_rows {
	struct process_row *rows; /* malloc'ed */
	size_t n_rows;
	size_t n_all; /* n_rows, and those that were left out */
};

#endif
