/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/permits.h"

#include "base/clock.h"
#include "config/units.h"
#include "service/daemon/routes/tokens.h"
#include "service/daemon/service_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/http/guard.h"
#include "service/http/headers.h"

#include <errno.h>
#include <string.h>

/* Whose token is in the header; both kinds are always compared. */
static bool find_user(const struct service *service, const char *authorization, uid_t *ret_uid,
		      gid_t *ret_gid)
{
	char token[HTTP_TOKEN_MOST + 1];
	bool is_roots, is_users;

	if (!http_credentials_token(authorization, token))
		return false;
	is_users = user_tokens_find(service->user_tokens, token, clock_ns(CLOCK_BOOTTIME), ret_uid,
				    ret_gid);
	is_roots = service->token && token_matches(service->token, token);
	if (is_roots)
		*ret_uid = *ret_gid = 0;
	return is_roots || is_users;
}

bool service_identify(struct service_call *call, struct http_answer *answer)
{
	const char *authorization = http_request_header(call->request, "Authorization");
	uid_t uid;
	gid_t gid;

	call->who = *http_request_peer(call->request);
	if (!authorization && call->who.known)
		return true;
	if (!authorization) {
		http_answer_error(answer, 401,
				  "a token is needed: memtraced ctl token prints one; send it as "
				  "'Authorization: Bearer TOKEN' or as the password of Basic");
		return false;
	}
	if (!find_user(call->service, authorization, &uid, &gid)) {
		call->service->tokens_refused++;
		http_answer_error(answer, 401, "this token is not valid, or not any more");
		return false;
	}
	if (call->who.is_tcp && !http_request_count_for(call->request, uid)) {
		http_answer_error(answer, 503,
				  "too many connections: [http] max_connections, "
				  "max_connections_of_user");
		return false;
	}
	call->who.known = true;
	call->who.uid = uid;
	call->who.gid = gid;
	return true;
}

bool service_may_see_host(const struct service_call *call)
{
	return http_peer_is_root(&call->who);
}

bool service_may_see_process(const struct http_peer *who, pid_t pid)
{
	struct process_info process;

	/* Root may see all, which saves reading who each process is. */
	return http_peer_is_root(who) || http_peer_may_see(who, pid, &process) == 0;
}

bool service_may_see_trace(const struct service_call *call, const struct trace_info *info)
{
	struct process_info process;

	return service_may_see_host(call) ||
	       (info->pid && http_peer_may_see(&call->who, info->pid, &process) == 0 &&
		process.start_ticks == info->start_ticks);
}

bool service_may_see_report(const struct service_call *call, uid_t uid)
{
	return http_peer_is_root(&call->who) || (call->who.known && call->who.uid == uid);
}

void service_check_process(struct service_call *call, struct http_answer *answer)
{
	int pid = (int)call->query.pid, r = http_peer_may_see(&call->who, pid, &call->process);

	if (r == -EACCES)
		http_answer_error(answer, 403, "process %d is not yours", pid);
	else if (r == -ESRCH)
		http_answer_error(answer, 404, "there is no process %d", pid);
	else if (r < 0)
		service_answer_refused(call, -ETIMEDOUT, answer);
}

static void check_target(struct service_call *call, struct http_answer *answer)
{
	int pid = (int)call->query.pid;

	if (pid)
		service_check_process(call, answer);
	else if (!service_may_see_host(call))
		http_answer_error(answer, 403, "only root may see all of the host: give ?pid=PID");
	if (!answer->status && call->process.zombie)
		http_answer_error(answer, 404, "process %d has ended", pid);
}

void service_check_trace(struct service_call *call, const struct report_format *format,
			 struct http_answer *answer)
{
	uint64_t most = call->service->config->max_seconds_ns / SECOND_NS;

	if (!format)
		http_answer_error(answer, 400,
				  "there is no such format; memtraced --help formats lists them");
	else if (call->query.seconds > most)
		http_answer_error(answer, 400, "at most %llu seconds: [trace] max_seconds",
				  (unsigned long long)most);
	else
		check_target(call, answer);
}

static void answer_no_budget(const struct service_call *call, struct http_answer *answer)
{
	uint64_t wait_ns = traces_wait_ns(call->service->traces, &call->process, call->who.uid);
	char wait[FORMAT_UNIT_LEN];

	if (wait_ns)
		http_answer_error(answer, 503,
				  "tracing budget of process %d ([trace] max_overhead) exhausted "
				  "for the next %s",
				  (int)call->query.pid, format_duration(wait_ns, wait));
	else
		http_answer_error(answer, 503,
				  "tracing budget of all traces ([trace] max_overhead) exhausted; "
				  "memtraced ctl status shows what each uses");
}

void service_answer_refused(const struct service_call *call, int error, struct http_answer *answer)
{
	int pid = (int)call->query.pid;

	switch (error) {
	case -EBUSY:
		http_answer_error(
			answer, 503,
			"trace limit reached, of all users, of yours, or of requests for one: "
			"[trace] max_traces, reserved_traces, max_traces_of_user");
		break;
	case -EACCES:
		http_answer_error(answer, 403, "process %d is not yours", pid);
		break;
	case -ETIMEDOUT:
		http_answer_error(answer, 503, "process %d cannot be read in time: try again later",
				  pid);
		break;
	case -EDQUOT:
		answer_no_budget(call, answer);
		break;
	case -ESRCH:
		http_answer_error(answer, 404, "process %d has ended", pid);
		break;
	case -ENOENT:
		http_answer_error(answer, 422, "no allocator was found in process %d", pid);
		break;
	case -EREMOTEIO:
		http_answer_error(answer, 503,
				  "no allocator was found in what could be read of process %d: its "
				  "list of files or one of the files was not read, as a helper "
				  "process was killed, took too long, or may not be started yet",
				  pid);
		break;
	case -ENODATA:
		http_answer_error(answer, 422,
				  "process %d shows no samples: nothing that it has mapped has "
				  "otel_memory probes; 'memtraced sample --unit=NAME' makes a "
				  "systemd service show some",
				  pid);
		break;
	case -EOPNOTSUPP:
		http_answer_error(answer, 422,
				  "process %d is not a 64-bit program, or this kernel "
				  "cannot trace it",
				  pid);
		break;
	default:
		http_answer_error(answer, 500, "it cannot be traced: %s; the log says more",
				  strerror(-error));
	}
}
