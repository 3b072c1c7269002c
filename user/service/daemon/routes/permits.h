/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which user makes a request (the kernel tells on the Unix socket, over TCP a token alone does),
 * and what that user may ask for and see, and what others are told: in one place for all routes.
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
/* What traces_ask's error means for the client. */
void service_answer_refused(const struct service_call *call, int error, struct http_answer *answer);

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

/*
 * Fills in call->who, or the answer where no user is known. A token is that of [http] token_file,
 * which stands for root, or one of tokens.h; on the Unix socket it counts more than the
 * kernel's word, and a wrong one is refused as well.
 */
bool service_identify(struct service_call *call, struct http_answer *answer);

#endif
