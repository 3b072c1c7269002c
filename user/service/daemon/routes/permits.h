/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which user may ask for what and see what, and what others are told, in one place for all routes.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_ROUTES_PERMITS_H
#define MEMTRACED_SERVICE_DAEMON_ROUTES_PERMITS_H

#include <stdbool.h>
#include <sys/types.h>

struct http_answer;
struct http_peer;
struct report_format;
struct service_call;
struct trace_info;

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

/*
 * What the user who asks may see, on each page and in metrics. Of the host, root alone: what is
 * about the processes of several users, which are cgroups, rules, pushes, the budget's debts and
 * profiles of all processes.
 */
bool service_may_see_host(const struct service_call *call);
/* Any thread. */
bool service_may_see_process(const struct http_peer *who, pid_t pid);
bool service_may_see_trace(const struct service_call *call, const struct trace_info *info);
bool service_may_see_report(const struct service_call *call, uid_t uid);

#endif
