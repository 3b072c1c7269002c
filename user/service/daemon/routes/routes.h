/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be asked for over HTTP: one table. Adding a route is a row and its function.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_ROUTES_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_ROUTES_H

#include "service/daemon/service_state.h"

struct report_format;

/* As http_server_opts' handle and gone; `userdata` is the service. */
void service_handle(struct http_request *request, void *userdata);
void service_gone(struct http_request *request, void *userdata);

/* Fills in which process is asked about, or the answer if there is none that may be seen. */
void service_check_process(struct service_call *call, struct http_answer *answer);
/*
 * Fills the answer if this trace may not be asked for, or in no such format (NULL); else fills in
 * which process it is.
 */
void service_check_trace(struct service_call *call, const struct report_format *format,
			 struct http_answer *answer);
/* What traces_ask's error means for whoever asks. */
void service_say_refused(const struct service_call *call, int error, struct http_answer *answer);

/* What who asks may know of. */
bool service_may_see_trace(const struct service_call *call, const struct trace_info *info);
bool service_may_see_report(const struct service_call *call, uid_t uid);

/* The functions of the table, each in a file of its name. */
int host_route_page(struct service_call *call, struct http_answer *answer);
int host_route_data(struct service_call *call, struct http_answer *answer);
int pprof_route_start(struct service_call *call, struct http_answer *answer);
int pprof_route_index(struct service_call *call, struct http_answer *answer);
int pprof_route_heap(struct service_call *call, struct http_answer *answer);
int pprof_route_allocs(struct service_call *call, struct http_answer *answer);
int pprof_route_profile(struct service_call *call, struct http_answer *answer);
int process_route_cmdline(struct service_call *call, struct http_answer *answer);
int process_route_symbol(struct service_call *call, struct http_answer *answer);
int ctl_route_status(struct service_call *call, struct http_answer *answer);
int ctl_route_trace(struct service_call *call, struct http_answer *answer);
int ctl_route_reports(struct service_call *call, struct http_answer *answer);
int ctl_route_report(struct service_call *call, struct http_answer *answer);
int metrics_route(struct service_call *call, struct http_answer *answer);

#endif
