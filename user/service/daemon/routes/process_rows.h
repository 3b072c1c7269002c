/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that the user who asks may see, those with most resident memory first.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_PROCESS_ROWS_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_PROCESS_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct service_call;

struct process_row {
	pid_t pid;
	uint64_t rss_bytes;
	char comm[16];
};

struct process_rows {
	struct process_row *rows; /* at most `most` */
	size_t n_rows;
	size_t n_all; /* that may be seen, kernel threads not among them */
};

/* `pattern` (NULL: all): only those with such a name. 0 or negative errno. */
int process_rows_read(const struct service_call *call, const char *pattern, size_t most,
		      struct process_rows *ret_rows);
void process_rows_done(struct process_rows *rows);

#endif
