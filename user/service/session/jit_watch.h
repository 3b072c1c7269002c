/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what run-times say of the code that they make: /tmp/perf-PID.map of processes with code in
 * no file, and jitdumps that a process maps. Both grow while the process runs, so they are read
 * late: before reports and when the process has ended, by a worker (symbol/jit/jit_reader.h). One
 * thread.
 */
#ifndef MEMTRACED_SERVICE_SESSION_JIT_WATCH_H
#define MEMTRACED_SERVICE_SESSION_JIT_WATCH_H

#include "base/cleanup.h"
#include "model/model.h"

struct abi_access;
struct jit_watch;
struct worker;

/*
 * What is read goes to fn as RECORD_JIT_CODE. Model and worker are borrowed, and the worker serves
 * file_server's requests. access: as options'; a user gets names from own maps alone. 0 or -ENOMEM.
 */
int jit_watch_new(const struct model *model, struct worker *worker, const struct abi_access *access,
		  record_fn fn, void *userdata, struct jit_watch **ret_watch);
/* Says what could not be read (logged). NULL is legal. */
void jit_watch_free(struct jit_watch *watch);
DEFINE_CLEANUP(struct jit_watch, jit_watch_free)

/* To be shown every record, after the model. 0, -ENOMEM or what fn returned. */
int jit_watch_add(struct jit_watch *watch, const struct record *record);

/* Reads what is new. 0, -ENOMEM or what fn returned. */
int jit_watch_read(struct jit_watch *watch);

/* The same, unless that took place in the last second: for what cannot wait for a report. */
int jit_watch_read_sometimes(struct jit_watch *watch);

/* Processes of which names are missing so far, as the worker died of a file or was not there. */
uint64_t jit_watch_unread(const struct jit_watch *watch);

#endif
