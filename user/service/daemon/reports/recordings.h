/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces that nobody waits for: their end writes a report into the state directory, whatever ends
 * them. Begun by `ctl trace` and by rules; what becomes of them is on the log.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_RECORDINGS_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_RECORDINGS_H

#include "report/report.h"
#include "service/daemon/service_state.h"

/* File names have these sizes at most. */
#define RECORDING_NAME_LEN 256

struct recording_ask {
	struct http_peer who; /* the report is his, or root's */
	struct process_info process;
	uint64_t for_ns;
	enum heap_depth depth;
	const struct report_format *format;
	const char *why;	      /* for the log; NULL: somebody asked */
	void (*over)(void *userdata); /* the report is written, or is not to be had; NULL */
	void *userdata;
};

/* 0, the report's name; or as traces_ask. */
int recording_begin(struct service *service, const struct recording_ask *ask,
		    char ret_name[RECORDING_NAME_LEN]);

#endif
