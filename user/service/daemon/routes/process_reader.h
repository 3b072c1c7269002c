/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that the user who asks may see, those with most resident memory first. A user can
 * have many thousands of processes, and /proc takes some microseconds for each: it is read beside
 * the loop, once for all who ask meanwhile.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_PROCESS_READER_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_PROCESS_READER_H

#include <stddef.h>

struct process_reader;
struct service;
struct service_call;

/*
 * Reads the list for a route, as its first step. `pattern` (NULL: all): only processes with such a
 * name; `most`: of these rows. Both as in the call's first time. 0: call->rows is the list. 1: it
 * is being read, and the route's function is called once more when it is there. Or negative errno.
 */
int process_reader_want(struct service_call *call, const char *pattern, size_t most);

/* The client has gone. */
void process_reader_forget(struct service_call *call);

/* 0 or -ENOMEM. */
int process_reader_new(struct service *service, struct process_reader **ret_reader);
void process_reader_free(struct process_reader *reader); /* NULL is legal */

#endif
