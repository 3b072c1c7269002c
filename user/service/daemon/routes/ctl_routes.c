/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `memtraced ctl` asks: what runs, a trace whose report is kept, and the reports that are.
 */
#include "base/clock.h"
#include "config/units.h"
#include "report/report.h"
#include "report/text/text.h"
#include "service/daemon/growth/growth_run.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/listeners.h"
#include "service/daemon/privileges.h"
#include "service/daemon/push/push.h"
#include "service/daemon/reports/recordings.h"
#include "service/daemon/reports/reports.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/routes/tokens.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/watch/rules.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *depth_words(enum heap_depth depth)
{
	return depth == HEAP_SAMPLED ? " by its samples" : "";
}

static void on_recording(int error, void *userdata)
{
	struct service_call *call = userdata;
	struct http_answer answer = {};

	call->recording = NULL;
	if (error < 0)
		service_answer_refused(call, error, &answer);
	else
		http_answer_error(&answer, 202,
				  "process %d (%s) is traced%s for %" PRIu64 " s; then: memtraced "
				  "ctl reports %s",
				  (int)call->process.pid, call->process.comm,
				  depth_words(call->query.depth), call->query.seconds,
				  call->report_name);
	service_answer(call, &answer);
	http_answer_done(&answer);
}

int ctl_route_trace(struct service_call *call, struct http_answer *answer)
{
	const char *format = call->query.format ? call->query.format : "html";
	struct recording_ask asked = {
		.who = call->who,
		.for_ns = call->query.seconds * SECOND_NS,
		.depth = call->query.depth,
		.format = report_format_find(format),
		.begun = on_recording,
		.userdata = call,
	};
	int r;

	if (!call->query.pid || !call->query.seconds)
		http_answer_error(answer, 400, "give pid and seconds");
	else
		service_check_trace(call, asked.format, answer);
	if (answer->status)
		return 0;
	asked.process = call->process;
	r = recording_begin(call->service, &asked, call->report_name, &call->recording);
	if (r == 0)
		return 1;
	service_answer_refused(call, r, answer);
	return r == -ENOMEM ? r : 0;
}

/* --- the list of reports, and one of them ---------------------------------------------------- */

static int list_reports(const struct service_call *call, struct http_answer *answer)
{
	struct report_rows rows;
	int r = reports_list(call->service->config, &rows);

	if (r < 0)
		return r;
	answer->status = 200;
	answer->type = HTTP_TEXT;
	for (size_t i = 0; i < rows.n_rows; i++) {
		char size[FORMAT_UNIT_LEN];

		if (service_may_see_report(call, rows.rows[i].uid))
			strbuf_addf(&answer->body, "%10s  %s\n",
				    format_size((int64_t)rows.rows[i].bytes, size),
				    rows.rows[i].name);
	}
	report_rows_done(&rows);
	return 0;
}

/* The report of that name is the answer's body. */
static int answer_report(const struct service_call *call, struct http_answer *answer)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = reports_open(call->service->config, call->query.name, &st);
	if (fd < 0 || !service_may_see_report(call, st.st_uid)) {
		http_answer_error(answer, 404,
				  "there is no such report of yours; memtraced ctl "
				  "reports lists them");
		return 0;
	}
	if ((uint64_t)st.st_size > call->service->config->max_answer) {
		http_answer_error(answer, 507, "cannot read the report: %s", strerror(EFBIG));
		return 0;
	}
	answer->is_file = true;
	answer->fd = TAKE_FD(fd);
	answer->file_bytes = (uint64_t)st.st_size;
	answer->status = 200;
	answer->type = "application/octet-stream";
	answer->file_name = "report";
	return 0;
}

int ctl_route_reports(struct service_call *call, struct http_answer *answer)
{
	return call->query.name ? answer_report(call, answer) : list_reports(call, answer);
}

/* To be looked at: only a page that can do nothing here, whatever the file contains. */
int ctl_route_report(struct service_call *call, struct http_answer *answer)
{
	int r;

	if (!call->query.name) {
		http_answer_error(answer, 400, "give the name of a report");
		return 0;
	}
	r = answer_report(call, answer);
	if (r == 0 && answer->status == 200 && text_ends_in(call->query.name, ".html")) {
		answer->type = HTTP_HTML;
		answer->page = HTTP_PAGE_STORED;
		answer->file_name = NULL;
	}
	return r;
}

/* --- what runs ------------------------------------------------------------------------------- */

static void add_trace(const struct service_call *call, const struct trace_info *info,
		      struct strbuf *out)
{
	char age[FORMAT_UNIT_LEN], left[FORMAT_UNIT_LEN];

	if (!service_may_see_trace(call, info))
		return;
	format_duration(info->age_ns, age);
	format_duration(info->left_ns, left);
	strbuf_addf(out, "%s%s of ", info->kind == TRACE_CPU ? "CPU time" : "heap",
		    depth_words(info->depth));
	if (info->pid) {
		strbuf_addf(out, "process %d (", (int)info->pid);
		escape_text(out, info->comm);
		strbuf_addch(out, ')');
	} else if (info->is_standing) {
		strbuf_adds(out, "all processes of the names ");
		escape_text(out, info->comm);
		strbuf_addf(out, ", for post-mortems: for %s\n", age);
		return;
	} else {
		strbuf_adds(out, "the host");
	}
	strbuf_addf(out, ": for %s, %s to go, %zu wait for it", age, left, info->n_waits);
	if (info->kind == TRACE_HEAP)
		strbuf_addf(out, "; probes take %.2f %% of a CPU, now %.2f %%", info->used * 100,
			    info->predicted * 100);
	strbuf_addch(out, '\n');
}

static void add_budget(const struct traces *traces, struct strbuf *out)
{
	struct traces_budget budget = traces_budget(traces);

	if (budget.call_ns == 0)
		return;
	strbuf_addf(out, "probes take %.2f %% of the host's CPUs, ", budget.host * 100);
	if (budget.most > 0)
		strbuf_addf(out, "at most %.2f %%", budget.most * 100);
	else
		strbuf_adds(out, "without a limit");
	strbuf_addf(out,
		    " (a call of an allocator: %" PRIu64 " ns, a sample: %" PRIu64
		    "); for that %" PRIu64 " traces ended early, %" PRIu64 " were refused\n",
		    budget.call_ns, budget.sample_ns, budget.stopped, budget.refused);
}

static void add_watch(const struct watch *watch, struct strbuf *out)
{
	struct watched_counts counts = watched_count(watch_data(watch));
	struct watch_info info = watch_info(watch);
	char interval[FORMAT_UNIT_LEN], took[FORMAT_UNIT_LEN];

	if (info.interval_ns == 0 || info.sweeps == 0)
		return;
	strbuf_addf(out, "watching %zu processes", counts.processes);
	if (info.cgroup_root)
		strbuf_addf(out, " and %zu cgroups (version %d, %s)", counts.cgroups,
			    info.cgroup_version, info.cgroup_root);
	strbuf_addf(out, " every %s, for %s of CPU time\n",
		    format_duration(info.interval_ns, interval),
		    format_duration(info.sweep_cpu_ns, took));
	if (counts.processes_left_out + counts.cgroups_left_out > 0)
		strbuf_addf(out, "too many: %zu processes and %zu cgroups are not watched\n",
			    counts.processes_left_out, counts.cgroups_left_out);
}

/* What they did is about any user's processes. */
static void add_rules(const struct service_call *call, struct strbuf *out)
{
	char ago[FORMAT_UNIT_LEN];
	struct rule_info info;

	if (!service_may_see_host(call))
		return;
	for (size_t i = 0; rules_at(call->service->rules, i, &info); i++) {
		strbuf_addf(out, "rule %s: %s: fired %" PRIu64 " times", info.name, info.when,
			    info.fired);
		if (info.last_pid) {
			strbuf_addf(out, ", the last time %s ago for process %d (",
				    format_duration(info.last_ago_ns, ago), (int)info.last_pid);
			escape_text(out, info.last_comm);
			strbuf_addch(out, ')');
		}
		if (info.refused)
			strbuf_addf(out, ", %" PRIu64 " times it could not", info.refused);
		strbuf_addf(out, "; %zu traces of it run\n", info.running);
	}
}

/* Profiles are of any user's processes as well. */
static void add_pushes(const struct service_call *call, struct strbuf *out)
{
	char size[FORMAT_UNIT_LEN];
	struct push_info info;

	if (!service_may_see_host(call))
		return;
	for (size_t i = 0; push_at(call->service->push, i, &info); i++) {
		strbuf_addf(out,
			    "push %s to %s: %" PRIu64 " profiles sent, %" PRIu64
			    " rejected, %" PRIu64 " dropped; %" PRIu64 " wait (%s)%s\n",
			    info.name, info.url, info.counts.sent, info.counts.rejected,
			    info.counts.dropped, info.waiting,
			    format_size((int64_t)info.waiting_bytes, size),
			    info.is_failing ? "; it fails now: the log says why" : "");
		if (info.untaken)
			strbuf_addf(out, "push %s: %" PRIu64 " times profiles could not be made\n",
				    info.name, info.untaken);
	}
}

static void add_growth(const struct host_growth *growth, struct strbuf *out)
{
	static const struct growth_snapshot none;
	struct host_growth_info info = host_growth_info(growth);
	const struct growth_snapshot *now = info.snapshot ? info.snapshot : &none;
	char age[FORMAT_UNIT_LEN];

	if (!info.is_running) {
		strbuf_addf(out, "page faults of the host are not sampled%s\n",
			    info.is_wanted ? ": the log says why" : "");
		return;
	}
	strbuf_addf(out,
		    "page faults of the host: one in %" PRIu64 " is sampled, for %s; %zu stacks, "
		    "%zu files; ",
		    info.period, format_duration(info.age_ns, age),
		    now->size.counts + now->size.region_sites, now->size.objects);
	if (info.has_mappings)
		strbuf_addf(out, "mappings are traced: %zu regions", now->size.regions);
	else
		strbuf_adds(out, "mappings are not traced");
	if (now->regions_left_out)
		strbuf_addf(out, ", %" PRIu64 " left out", now->regions_left_out);
	strbuf_addch(out, '\n');
}

/* Paths and what is wrong with them are root's. */
static void add_reloads(const struct service_call *call, struct strbuf *out)
{
	const struct service_reloads *reloads = &call->service->reloads;
	char ago[FORMAT_UNIT_LEN];

	if (!service_may_see_host(call) || reloads->last_ns == 0)
		return;
	format_duration(clock_ns(CLOCK_BOOTTIME) - reloads->last_ns, ago);
	strbuf_addf(out, "reloads: %" PRIu64 " done, %" PRIu64 " failed; the last one, %s ago, ",
		    reloads->done, reloads->failed, ago);
	if (!reloads->has_failed) {
		strbuf_adds(out, "was done\n");
		return;
	}
	strbuf_adds(out, "failed, and the configuration stayed as it was: ");
	escape_text(out, reloads->error ? reloads->error : strerror(ENOMEM));
	strbuf_addch(out, '\n');
}

int ctl_route_status(struct service_call *call, struct http_answer *answer)
{
	const struct service *service = call->service;
	char up[FORMAT_UNIT_LEN];
	struct trace_info info;

	answer->status = 200;
	answer->type = HTTP_TEXT;
	strbuf_addf(&answer->body,
		    "memtraced " MEMTRACED_VERSION ", up for %s, %" PRIu64 " traces so far\n",
		    format_duration(clock_ns(CLOCK_BOOTTIME) - service->start_boot_ns, up),
		    traces_count(service->traces).begun);
	strbuf_adds(&answer->body, "capabilities: ");
	privileges_list(&answer->body);
	strbuf_addch(&answer->body, '\n');
	add_reloads(call, &answer->body);
	add_watch(service->watch, &answer->body);
	add_growth(service->growth, &answer->body);
	add_budget(service->traces, &answer->body);
	add_rules(call, &answer->body);
	add_pushes(call, &answer->body);
	for (size_t i = 0; traces_at(service->traces, i, &info); i++)
		add_trace(call, &info, &answer->body);
	return 0;
}

/*
 * What `memtraced ctl token` asks. Only who has connected to the Unix socket is given a token: by a
 * token no other one can be had, so that a stolen one ends in time.
 */

#define DEFAULT_SECONDS (12 * 3600)
#define MOST_SECONDS (24 * 3600)

/* The kernel's word, whatever token the request carries; NULL with the answer: there is none. */
static const struct http_peer *local_peer(const struct service_call *call,
					  struct http_answer *answer)
{
	const struct http_peer *peer = http_request_peer(call->request);

	if (peer->known)
		return peer;
	http_answer_error(answer, 403,
			  "tokens are given over the Unix socket: memtraced ctl token");
	return NULL;
}

int token_route_add(struct service_call *call, struct http_answer *answer)
{
	uint64_t seconds = call->query.seconds ? call->query.seconds : DEFAULT_SECONDS;
	const struct http_peer *peer = local_peer(call, answer);
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	char token[USER_TOKEN_LEN];
	int r;

	if (!peer)
		return 0;
	if (seconds > MOST_SECONDS) {
		http_answer_error(answer, 400, "a token is valid for at most %d seconds",
				  MOST_SECONDS);
		return 0;
	}
	r = user_tokens_add(call->service->user_tokens, peer->uid, peer->gid, now_ns,
			    now_ns + seconds * SECOND_NS, token);
	if (r == -EBUSY)
		http_answer_error(answer, 503, "too many tokens of all users: wait until some end");
	else if (r == 0)
		http_answer_error(answer, 200, "%s", token);
	return r == -EBUSY ? 0 : r;
}

int token_route_revoke(struct service_call *call, struct http_answer *answer)
{
	const struct http_peer *peer = local_peer(call, answer);
	size_t n;

	if (!peer)
		return 0;
	n = user_tokens_remove(call->service->user_tokens, peer->uid, clock_ns(CLOCK_BOOTTIME));
	listeners_close_user(call->service->listeners, peer->uid);
	http_answer_error(answer, 200, "%zu token%s revoked", n, n == 1 ? "" : "s");
	return 0;
}
