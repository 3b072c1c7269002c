/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles by a trace on demand, and of growth, which is there. A trace for a user has nothing that
 * he may not see (trace/traces.h); of growth he is shown the image that he may see now.
 */
#include "base/clock.h"
#include "report/report.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/process_reader.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/trace/traces_cost.h"

#include <errno.h>
#include <string.h>

int pprof_route_start(struct service_call *call, struct http_answer *answer)
{
	(void)call;
	http_answer_error(answer, 302, "see /debug/pprof/");
	answer->location = "/debug/pprof/";
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* The format that was asked for, or the one for that client. */
static const char *format_of(const struct service_call *call)
{
	if (call->query.format)
		return call->query.format;
	if (call->query.debug > 0)
		return "table";
	return call->wants_html ? "html" : "pprof";
}

static void set_type(const struct report_format *format, struct http_answer *answer)
{
	if (strcmp(format->name, "html") == 0) {
		answer->type = HTTP_HTML;
		answer->page = HTTP_PAGE_SCRIPTS;
	} else if (strcmp(format->name, "flamegraph") == 0) {
		answer->type = "image/svg+xml";
		answer->page = HTTP_PAGE_SCRIPTS;
	} else if (strcmp(format->name, "json") == 0 || strcmp(format->name, "speedscope") == 0) {
		answer->type = "application/json";
	} else if (format->binary) {
		answer->type = "application/octet-stream";
		answer->file_name = "profile.pb.gz";
	} else {
		answer->type = HTTP_TEXT;
	}
}

/*
 * An answer in the making: written on the session's thread, which knows nothing of the call, as
 * that is gone when the client is.
 */
struct making {
	struct service_call *call; /* the owner's */
	struct http_peer who;
	struct process_info process;
	const struct report_format *format;
	uint64_t most;
	enum growth_job growth_job; /* of a growth_ask */
	struct http_answer answer;
};

static void making_free(void *userdata)
{
	struct making *making = userdata;

	http_answer_done(&making->answer);
	free(making);
}

static struct making *making_new(struct service_call *call)
{
	struct making *making = calloc(1, sizeof(*making));

	if (!making)
		return NULL;
	making->call = call;
	making->who = call->who;
	making->process = call->process;
	making->format = report_format_find(format_of(call));
	making->most = call->service->config->max_answer;
	return making;
}

static void write_answer(const struct view *view, struct making *making)
{
	struct http_answer *answer = &making->answer;
	struct answer_stream stream = { .body = &answer->body, .most = making->most };
	FILE *file = answer_stream_open(&stream);
	int r = file ? report_format_write(making->format, view, NULL, file) : -ENOMEM;

	if (file && fclose(file) != 0 && r == 0)
		r = -EIO;
	if (stream.too_large)
		http_answer_error(answer, 507, "the answer is larger than [http] max_answer");
	else if (r < 0)
		http_answer_error(answer, 500, "cannot write the profile: %s", strerror(-r));
	else
		answer->status = 200;
	if (answer->status == 200)
		set_type(making->format, answer);
}

/* Session's thread. */
static int make_answer(const struct view *view, void *userdata)
{
	struct making *making = userdata;

	write_answer(view, making);
	return 0;
}

static void on_trace(enum trace_outcome outcome, int error, void *userdata)
{
	struct making *making = userdata;
	struct service_call *call = making->call;
	struct http_answer *answer = &making->answer;

	call->wait = NULL;
	if (outcome == TRACE_NOT_BEGUN)
		service_answer_refused(call, error, answer);
	else if (outcome == TRACE_FAILED)
		http_answer_error(answer, 500, "cannot trace the process: %s", strerror(-error));
	service_answer(call, answer);
}

/* --- the question ---------------------------------------------------------------------------- */

/* The target of the configuration: a pid, or the only process of that name. */
static int choose_target(struct service_call *call, struct http_answer *answer)
{
	const char *target = call->service->config->target;
	int r;

	if (!target)
		return page_candidates(
			call,
			"no process given: add ?pid=PID, or set [trace] target in the "
			"configuration",
			NULL, answer);
	if (target[strspn(target, "0123456789")] == '\0') {
		call->query.pid = (pid_t)strtol(target, NULL, 10);
		return 0;
	}
	r = process_reader_want(call, target, PAGE_MOST_PROCESSES);
	if (r != 0)
		return r;
	if (call->rows.n_all == 1)
		call->query.pid = call->rows.rows[0].pid;
	else
		r = page_candidates(call,
				    call->rows.n_all ?
					    "several processes have the name of [trace] "
					    "target: add ?pid=PID" :
					    "no process that you may see has the name of "
					    "[trace] target",
				    target, answer);
	return r;
}

static int begin_trace(struct service_call *call, struct http_answer *answer, enum trace_kind kind,
		       bool allocated_first)
{
	struct trace_ask asked = {
		.kind = kind,
		.depth = call->query.depth,
		.pid = call->query.pid,
		.uid = call->who.uid,
		.gid = call->who.gid,
		.for_ns = call->query.seconds * SECOND_NS,
		.allocated_first = allocated_first,
		.show = make_answer,
		.done = on_trace,
		.free = making_free,
	};
	int r;

	if (kind != TRACE_HEAP && call->query.depth != HEAP_EXACT)
		http_answer_error(answer, 400, "'depth' applies to heap and allocs only");
	else
		service_check_trace(call, report_format_find(format_of(call)), answer);
	if (answer->status)
		return 0;
	asked.userdata = making_new(call);
	r = asked.userdata ? traces_ask(call->service->traces, &asked, &call->wait) : -ENOMEM;
	if (r == 0)
		return 1;
	if (asked.userdata)
		making_free(asked.userdata);
	if (r == -ENOMEM)
		return r;
	service_answer_refused(call, r, answer);
	return 0;
}

static int ask_heap(struct service_call *call, struct http_answer *answer, bool allocated_first)
{
	int r = call->query.pid ? 0 : choose_target(call, answer);

	return r != 0 || answer->status ? r :
					  begin_trace(call, answer, TRACE_HEAP, allocated_first);
}

int pprof_route_heap(struct service_call *call, struct http_answer *answer)
{
	return ask_heap(call, answer, false);
}

int pprof_route_allocs(struct service_call *call, struct http_answer *answer)
{
	return ask_heap(call, answer, true);
}

int pprof_route_profile(struct service_call *call, struct http_answer *answer)
{
	return begin_trace(call, answer, TRACE_CPU, false);
}

/* --- what needs no trace --------------------------------------------------------------------- */

static void answer_no_growth(const struct service_call *call, enum growth_job job, int error,
			     struct http_answer *answer)
{
	struct host_growth_info info = host_growth_info(call->service->growth);

	if (error == -ESRCH && job == GROWTH_MAPPINGS)
		http_answer_error(answer, 404,
				  "process %d is not known yet: a process is known from its first "
				  "sampled page fault on, one in %llu, or when it maps that many "
				  "pages at once",
				  (int)call->query.pid, (unsigned long long)info.period);
	else if (error == -ESRCH)
		http_answer_error(answer, 404,
				  "nothing is known of process %d: of the page faults of the host "
				  "one in %llu is sampled, and none of its yet",
				  (int)call->query.pid, (unsigned long long)info.period);
	else if (error == -ENOENT)
		http_answer_error(answer, 503, "mappings are not traced: [growth] mappings = no");
	else if (error == -ENODEV)
		http_answer_error(answer, 503, "page faults are not sampled: %s",
				  info.is_wanted ? "the log says why" : "[growth] enabled = no");
	else
		http_answer_error(answer, 500, "it cannot be shown: %s", strerror(-error));
}

/* Session's thread. */
static int check_may_see(void *userdata)
{
	const struct making *making = userdata;
	struct process_info now;

	return http_peer_may_see(&making->who, making->process.pid, &now);
}

static void on_growth(int error, void *userdata)
{
	struct making *making = userdata;
	struct service_call *call = making->call;

	call->growth = NULL;
	if (error == -EACCES)
		http_answer_error(&making->answer, 403, "process %d is not yours any more",
				  (int)making->process.pid);
	else if (error == -ETIMEDOUT)
		service_answer_refused(call, error, &making->answer);
	else if (error < 0)
		answer_no_growth(call, making->growth_job, error, &making->answer);
	service_answer(call, &making->answer);
}

static int answer_growth(struct service_call *call, enum growth_job job, struct http_answer *answer)
{
	struct growth_ask asked = {
		.job = job,
		.pid = call->query.pid,
		.may_see = http_peer_is_root(&call->who) ? NULL : check_may_see,
		.show = make_answer,
		.done = on_growth,
		.free = making_free,
	};
	struct making *making;
	int r;

	if (!call->query.format && call->wants_html && !call->query.debug)
		call->query.format = strdup("flamegraph");
	if (call->query.depth != HEAP_EXACT)
		http_answer_error(answer, 400, "'depth' applies to heap and allocs only");
	else if (call->query.seconds)
		http_answer_error(answer, 400, "'seconds' does not apply: %s all the time",
				  job == GROWTH_FAULTS ? "page faults are sampled" :
							 "mappings are traced");
	else
		service_check_trace(call, report_format_find(format_of(call)), answer);
	if (answer->status)
		return 0;
	making = making_new(call);
	if (making)
		making->growth_job = job;
	asked.userdata = making;
	r = making ? host_growth_ask(call->service->growth, &asked, &call->growth) : -ENOMEM;
	if (r == 0)
		return 1;
	if (making)
		making_free(making);
	if (r < 0)
		answer_no_growth(call, job, r, answer);
	return r == -ENOMEM ? r : 0;
}

int pprof_route_growth(struct service_call *call, struct http_answer *answer)
{
	return answer_growth(call, GROWTH_FAULTS, answer);
}

int pprof_route_mappings(struct service_call *call, struct http_answer *answer)
{
	return answer_growth(call, GROWTH_MAPPINGS, answer);
}
