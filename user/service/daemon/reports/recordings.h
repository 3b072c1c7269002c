/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces that no request waits for: their end writes a report into the state directory, whatever
 * ends them. Begun by `ctl trace` and by rules; what becomes of them is on the log.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_RECORDINGS_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_RECORDINGS_H

#include "report/report.h"
#include "service/daemon/service_state.h"

struct recording_ask {
	struct http_peer who; /* the report is his, or root's */
	struct process_info process;
	uint64_t for_ns;
	enum heap_depth depth;
	const struct report_format *format;
	const char *why; /* for the log; NULL: a user has asked */
	/* The process is traced: 0; or it cannot be, as TRACE_NOT_BEGUN. Once, or NULL. */
	void (*begun)(int error, void *userdata);
	/* The report is written, or there is none. After begun(), or NULL. */
	void (*over)(void *userdata);
	void *userdata;
};

struct recording;

/*
 * 0, the report's name, and the recording, which is borrowed until begun(); or as traces_ask().
 * Callbacks come from the loop, later.
 */
int recording_begin(struct service *service, const struct recording_ask *ask,
		    char ret_name[SERVICE_NAME_LEN], struct recording **ret_recording);
/* begun() is not wanted any more. NULL is legal. */
void recording_forget(struct recording *recording);

#endif
