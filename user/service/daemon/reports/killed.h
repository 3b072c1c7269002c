/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that was seen to be killed, on its way from the session that has seen it to the report
 * of it (post_mortem.h).
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_KILLED_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_KILLED_H

#include "report/report_opts.h"
#include "service/session_runner.h"

#include <sys/types.h>

struct killed {
	struct session_runner *runner;
	struct report_opts opts; /* for a view that has this process alone */
	uid_t asked;		 /* the user for whom it was traced */
	/* Owner's thread, when the job is done: 1 if it was told, else 0 or negative errno. */
	void (*told)(int result, void *userdata);
	void *userdata;
};

/*
 * Owner's thread: makes the job that shows the process on the session's thread and tells of it.
 * NULL: there is no memory, and told() is not called.
 */
typedef struct session_job *(*killed_fn)(const struct killed *killed, void *userdata);

#endif
