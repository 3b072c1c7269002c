/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The status line on stderr, when that is a terminal.
 */
#ifndef MEMTRACED_SERVICE_STATUS_LINE_H
#define MEMTRACED_SERVICE_STATUS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct status_line;

struct status {
	uint64_t events; /* so far */
	int64_t live_bytes;
	uint64_t lost;
	size_t processes;
};

/* *ret_status is NULL where no line shall be shown: `quiet`, or stderr is no terminal. */
int status_line_new(bool quiet, struct status_line **ret_status);
void status_line_free(struct status_line *status); /* clears; NULL is legal */

/* Shows the state; events become a rate since the last call. NULL lines are legal in both. */
void status_line_show(struct status_line *line, const struct status *status);
void status_line_clear(struct status_line *line);

#endif
