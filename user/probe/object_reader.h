/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has a worker read files that are traced (sandbox/worker.h, probe/object_server.h): the daemon
 * itself parses nothing of theirs. One thread.
 */
#ifndef MEMTRACED_PROBE_OBJECT_READER_H
#define MEMTRACED_PROBE_OBJECT_READER_H

#include "elf/cfi/cfi_rows.h"
#include "probe/object_facts.h"

struct near_names;
struct worker;

/*
 * As object_facts_read(); beside what that returns -EPIPE or -EAGAIN: the worker died of it, or
 * there is none at the moment (as of worker_call).
 */
int object_read_facts(struct worker *worker, int fd, const struct object_wants *wants,
		      struct object_facts *ret_facts);

/* Asks for them ahead (worker_ask_ahead), with the same wants. */
void object_ask_facts(struct worker *worker, int fd, const struct object_wants *wants);

/*
 * The rows that are kept by this key. 0, -ENOENT: there are none, or the file has changed since its
 * key was made; -EPIPE, -EAGAIN, as above; -ENOMEM.
 */
int object_read_rows(struct worker *worker, int fd, const struct cfi_key *key,
		     struct cfi_rows **ret_rows);

/* Where the functions of this name are. 0 or a negative errno as above. */
struct object_ranges;
int object_read_function(struct worker *worker, int fd, const char *name,
			 struct object_ranges *ret_ranges);

/* Offers names of the file's functions. 0 or a negative errno as above. */
int object_read_near(struct worker *worker, int fd, struct near_names *near);

#endif
