/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that was seen to be killed, on its way from the session that has seen it to the report
 * of it (post_mortem.h): whether it is one of memtraced's own, and how many reports there may be.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_KILLED_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_KILLED_H

#include "model/mappings.h"
#include "model/model.h"
#include "report/report_opts.h"
#include "service/session/session_runner.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct killed {
	struct session_runner *runner;
	struct report_opts opts; /* for a view that has this process alone */
	uid_t asked;		 /* the user that it was traced for */
	/* Owner's thread, when the job is done: 1 if it was told, else 0 or negative errno. */
	void (*told)(int result, void *userdata);
	void *userdata;
};

/*
 * Owner's thread: makes the job that shows the process on the session's thread and tells of it.
 * NULL: there is no memory, and told() is not called.
 */
typedef struct session_job *(*killed_fn)(const struct killed *killed, void *userdata);

/*
 * Is a process that was killed one of memtraced's own: this service's, another run's, or a helper
 * of either? They have no post-mortems. A process's name proves nothing, since anybody may choose
 * it; nor does the program file alone, since a user may preload code of his own into it.
 */

/* The file that this process executes, as /proc/PID/maps and records of mappings have it. */
struct own_program {
	uint64_t dev, ino;
};

/* 0 or negative errno. */
int own_program_find(struct own_program *ret_program);

/*
 * `exe`: what the process executed, NULL when it had ended before that was read. Pure. True where
 * that is our file and the process was root's, or its parent ended it, as a keeper does a worker:
 * no other user has an interest in such an end. Where the file is not known, true of what root's
 * keeper ended.
 */
bool own_process_is(const struct own_program *program, const struct model_process *image,
		    const struct model_object *exe);

/*
 * How many reports there may be: some at once, and then one in a while. Plain data, no clock.
 */
#define POST_MORTEM_AT_ONCE 8
#define POST_MORTEM_PAUSE_NS UINT64_C(60000000000)

/* All zero at first. */
struct post_mortem_limit {
	uint64_t full_ns; /* when all of them would be there again */
};

/* May there be one more at this time, which does not run backwards? It is counted, then. */
static inline bool post_mortem_may(struct post_mortem_limit *limit, uint64_t now_ns)
{
	uint64_t from_ns = limit->full_ns > now_ns ? limit->full_ns : now_ns;

	if (from_ns - now_ns > (POST_MORTEM_AT_ONCE - 1) * POST_MORTEM_PAUSE_NS)
		return false;
	limit->full_ns = from_ns + POST_MORTEM_PAUSE_NS;
	return true;
}

#endif
