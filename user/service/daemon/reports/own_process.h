/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a process that was killed one of memtraced's own: this service's, another run's, or a helper
 * of either? They have no post-mortems. A process's name proves nothing, since anybody may choose
 * it; nor does the program file alone, since a user may preload code of his own into it.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_OWN_PROCESS_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_OWN_PROCESS_H

#include "model/mappings.h"
#include "model/model.h"

/* The file that this process executes, as /proc/PID/maps and records of mappings have it. */
struct own_program {
	uint64_t dev, ino;
};

/* 0 or negative errno. */
int own_program_find(struct own_program *ret_program);

/*
 * `exe`: what the process executed, NULL when it had ended before that was read. Pure. True where
 * that is our file and the process was root's, or its parent ended it, as a keeper does a worker:
 * nobody else has an interest in such an end. Where the file is not known, true of what root's
 * keeper ended.
 */
bool own_process_is(const struct own_program *program, const struct model_process *image,
		    const struct model_object *exe);

#endif
