/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/status_line.h"

#include "base/clock.h"
#include "config/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct status_line {
	uint64_t events, time_ns; /* at the last call */
	bool shown;
};

int status_line_new(bool quiet, struct status_line **ret_status)
{
	*ret_status = NULL;
	if (quiet || !isatty(STDERR_FILENO))
		return 0;
	*ret_status = calloc(1, sizeof(**ret_status));
	if (!*ret_status)
		return -ENOMEM;
	(*ret_status)->time_ns = clock_monotonic_ns();
	return 0;
}

void status_line_free(struct status_line *status)
{
	status_line_clear(status);
	free(status);
}

void status_line_show(struct status_line *line, const struct status *status)
{
	char rate[FORMAT_UNIT_LEN], bytes[FORMAT_UNIT_LEN];
	uint64_t now = clock_monotonic_ns(), took;

	if (!line)
		return;
	took = now - line->time_ns;
	/* \r and erase to the end of the line (ECMA-48 EL) */
	fprintf(stderr, "\r\033[K%s events/s, %s live in %zu process%s, %llu lost",
		format_count(took ? (status->events - line->events) * 1e9 / took : 0, rate),
		format_size(status->live_bytes, bytes), status->processes,
		status->processes == 1 ? "" : "es", (unsigned long long)status->lost);
	(void)fflush(stderr); /* a terminal that went away needs no status */
	line->events = status->events;
	line->time_ns = now;
	line->shown = true;
}

void status_line_clear(struct status_line *line)
{
	if (!line || !line->shown)
		return;
	fputs("\r\033[K", stderr);
	line->shown = false;
}
