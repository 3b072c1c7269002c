/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be asked for over HTTP: one table. Adding a route is a row and its function.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_ROUTES_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_ROUTES_H

#include "service/daemon/service_state.h"

/* As http_server_opts' handle and gone; `userdata` is the service. */
void service_handle(struct http_request *request, void *userdata);
void service_gone(struct http_request *request, void *userdata);

/* The functions of the table, each in a file of its name. */
int host_route_page(struct service_call *call, struct http_answer *answer);
int host_route_data(struct service_call *call, struct http_answer *answer);
int pprof_route_start(struct service_call *call, struct http_answer *answer);
int pprof_route_heap(struct service_call *call, struct http_answer *answer);
int pprof_route_allocs(struct service_call *call, struct http_answer *answer);
int pprof_route_profile(struct service_call *call, struct http_answer *answer);
int pprof_route_growth(struct service_call *call, struct http_answer *answer);
int pprof_route_mappings(struct service_call *call, struct http_answer *answer);
int process_route_cmdline(struct service_call *call, struct http_answer *answer);
int process_route_symbol(struct service_call *call, struct http_answer *answer);
/* The client of what a process is asked for has gone. NULL is legal. */
struct question;
void process_question_forget(struct question *question);
int ctl_route_status(struct service_call *call, struct http_answer *answer);
int ctl_route_trace(struct service_call *call, struct http_answer *answer);
int ctl_route_reports(struct service_call *call, struct http_answer *answer);
int ctl_route_report(struct service_call *call, struct http_answer *answer);
int token_route_add(struct service_call *call, struct http_answer *answer);
int token_route_revoke(struct service_call *call, struct http_answer *answer);
int metrics_route(struct service_call *call, struct http_answer *answer);

/* --- pages.c: lists of what there is to ask for, as text and as a page without scripts -------- */

#define PAGE_MOST_PROCESSES 500 /* that are listed */

/* The profiles, and the processes that may be looked at. As a route's function. */
int page_index(struct service_call *call, struct http_answer *answer);

/*
 * `why` no process was chosen (NULL: the profiles), and which there are (with such a name; NULL:
 * all). As a route's function.
 */
int page_candidates(struct service_call *call, const char *why, const char *pattern,
		    struct http_answer *answer);

#endif
