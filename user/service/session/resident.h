/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what of the traced processes is in memory and what it is for. No process is stopped for it:
 * what moves meanwhile is said.
 */
#ifndef MEMTRACED_SERVICE_SESSION_RESIDENT_H
#define MEMTRACED_SERVICE_SESSION_RESIDENT_H

#include "trace/record/record.h"

#include <stdbool.h>
#include <sys/types.h>

struct live;
struct model;
struct model_process;

/*
 * Hands a record over for each process that runs and may be read, or for `pid` alone (0: all).
 * all_counted: no filter keeps blocks from being counted. Between drains. 0 or negative errno.
 */
int resident_read(struct live *live, const struct model *model, pid_t pid, bool all_counted,
		  record_fn fn, void *userdata);

/*
 * The same of what may be accessed of a process's mapped regions and of nothing else, where no
 * blocks are known (record_resident.only_mapped). No record: it has ended, or may not be read.
 */
int resident_read_mapped(const struct live *live, const struct model_process *process, record_fn fn,
			 void *userdata);

#endif
