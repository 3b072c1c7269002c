/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "model/regions.h"
#include "report/metrics_out.h"
#include "sandbox/keeper_process.h"
#include "sandbox/worker.h"
#include "service/daemon/growth/growth_run.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/listeners.h"
#include "service/daemon/push/push.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/process_reader.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/service_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/watch/rules.h"
#include "service/daemon/watch/watch.h"
#include "target/file_helper.h"
#include "target/file_helper_process.h"
#include "target/process.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- the watch -------------------------------------------------------------------------------- */

/* Growth and PSS of the processes that are shown anyway, and the cgroups that have most. */

static void put_labels(struct metrics_out *out, const struct process_row *row)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)row->pid); /* fits */
	metrics_out_label(out, "pid", pid);
	metrics_out_label(out, "comm", row->comm);
}

static void put_growth(const struct watched *data, uint64_t window_ns,
		       const struct process_rows *rows, struct metrics_out *out)
{
	metrics_out_gauge(
		out, "memtraced_process_resident_growth_bytes_per_second", "",
		"Trend of the resident memory of the processes that have most, where it was "
		"watched for long enough.");
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct watched_process *process = watched_process(data, rows->rows[i].pid);
		double slope;

		if (!process || !watch_series_slope(&process->rss, window_ns, &slope))
			continue;
		put_labels(out, &rows->rows[i]);
		metrics_out_i64(out, "", (int64_t)slope);
	}
}

static void put_pss(const struct watched *data, const struct process_rows *rows,
		    struct metrics_out *out)
{
	metrics_out_gauge(out, "memtraced_process_proportional_bytes", "bytes",
			  "Proportional set size of the processes that have most, if it is read.");
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct watched_process *process = watched_process(data, rows->rows[i].pid);

		if (!process || process->pss_time_ns == 0)
			continue;
		put_labels(out, &rows->rows[i]);
		metrics_out_u64(out, "", process->pss_bytes);
	}
}

static void put_use(const struct watched_choice *list, struct metrics_out *out)
{
	metrics_out_gauge(out, "memtraced_cgroup_memory_bytes", "bytes",
			  "Memory of the cgroups that have most.");
	for (size_t i = 0; i < list->n; i++)
		metrics_out_labelled(out, "cgroup", list->cgroups[i]->name,
				     list->cgroups[i]->memory.current_bytes);
	metrics_out_gauge(out, "memtraced_cgroup_memory_limit_bytes", "bytes",
			  "Limit of these, of those that have one.");
	for (size_t i = 0; i < list->n; i++) {
		if (list->cgroups[i]->memory.max_bytes == CGROUP_NO_LIMIT)
			continue;
		metrics_out_labelled(out, "cgroup", list->cgroups[i]->name,
				     list->cgroups[i]->memory.max_bytes);
	}
}

static void put_pressure(const struct watched_choice *list, struct metrics_out *out)
{
	metrics_out_gauge(
		out, "memtraced_cgroup_memory_pressure_hundredths", "",
		"Hundredths of a percent of the last ten seconds in which some task waited for "
		"memory, where the kernel says so.");
	for (size_t i = 0; i < list->n; i++) {
		if (list->cgroups[i]->memory.pressure == CGROUP_NO_PRESSURE)
			continue;
		metrics_out_labelled(out, "cgroup", list->cgroups[i]->name,
				     list->cgroups[i]->memory.pressure);
	}
}

static void put_sweeps(const struct watch *watch, struct metrics_out *out)
{
	struct watched_counts counts = watched_count(watch_data(watch));

	metrics_out_counter(out, "memtraced_watch_sweeps", "",
			    "How often all processes and cgroups were looked at.");
	metrics_out_u64(out, "", watch_info(watch).sweeps);
	metrics_out_gauge(out, "memtraced_watched", "",
			  "Processes and cgroups that were looked at the last time.");
	metrics_out_labelled(out, "what", "processes", counts.processes);
	metrics_out_labelled(out, "what", "cgroups", counts.cgroups);
	metrics_out_gauge(out, "memtraced_watch_left_out", "",
			  "Processes and cgroups skipped because the limit was reached.");
	metrics_out_labelled(out, "what", "processes", counts.processes_left_out);
	metrics_out_labelled(out, "what", "cgroups", counts.cgroups_left_out);
}

static void watch_metrics_put(const struct watch *watch, const struct service_config *config,
			      const struct process_rows *rows, struct metrics_out *out)
{
	const struct watched *data = watch_data(watch);

	if (!config->watches)
		return;
	put_growth(data, config->growth_window_ns, rows, out);
	put_pss(data, rows, out);
	put_sweeps(watch, out);
}

/* For who may see the host. 0 or -ENOMEM. */
static int watch_metrics_put_cgroups(const struct watch *watch, const struct service_config *config,
				     struct metrics_out *out)
{
	struct watched_choice list = {};
	int r;

	if (!config->watches)
		return 0;
	r = watched_choose_cgroups(watch_data(watch), config->cgroups, &list);
	if (r == 0) {
		put_use(&list, out);
		put_pressure(&list, out);
	}
	watched_choice_done(&list);
	return r;
}

/* --- growth depth ---------------------------------------------------------------------------- */

/* Of the processes that are shown anyway, what they have mapped. */
static void growth_metrics_put_processes(const struct host_growth *growth,
					 const struct process_rows *rows, struct metrics_out *out)
{
	struct region_totals totals;

	metrics_out_gauge(
		out, "memtraced_process_mapped_bytes", "bytes",
		"Bytes of address space, reservations (PROT_NONE) among them, that the processes "
		"with most resident memory have mapped by mmap and brk and not unmapped, since "
		"growth depth has known them.");
	for (size_t i = 0; i < rows->n_rows; i++) {
		if (!host_growth_mapped(growth, rows->rows[i].pid, &totals))
			continue;
		put_labels(out, &rows->rows[i]);
		metrics_out_i64(out, "", totals.live_bytes);
	}
}

static void growth_metrics_put(const struct host_growth *growth, struct metrics_out *out)
{
	static const struct growth_snapshot none;
	struct host_growth_info info = host_growth_info(growth);
	const struct growth_snapshot *now = info.snapshot ? info.snapshot : &none;

	metrics_out_gauge(out, "memtraced_growth_running", "",
			  "1: page faults of the host are sampled; 0: they are not.");
	metrics_out_u64(out, "", info.is_running);
	metrics_out_gauge(out, "memtraced_growth_period", "",
			  "One in so many page faults is sampled.");
	metrics_out_u64(out, "", info.period);
	metrics_out_gauge(out, "memtraced_growth_age_seconds", "seconds",
			  "For how long, since it was last begun anew.");
	metrics_out_u64(out, "", info.age_ns / 1000000000);
	metrics_out_gauge(out, "memtraced_growth_samples", "",
			  "Page faults sampled, and mappings if traced, in that time, at the "
			  "latest reading.");
	metrics_out_u64(out, "", now->events);
	metrics_out_gauge(out, "memtraced_growth_lost", "",
			  "Events lost in that time, by cause, as in reports' coverage.");
	vec_foreach(&now->losses, loss)
		metrics_out_labelled(out, "cause", loss->cause, loss->count);
	metrics_out_gauge(out, "memtraced_growth_mappings", "",
			  "1: mappings are traced as well; 0: they are not.");
	metrics_out_u64(out, "", info.is_running && info.has_mappings);
	metrics_out_gauge(out, "memtraced_growth_stacks", "", "Stacks that are kept.");
	metrics_out_u64(out, "", now->size.counts + now->size.region_sites);
	metrics_out_gauge(out, "memtraced_growth_files", "", "Files that are kept for them.");
	metrics_out_u64(out, "", now->size.objects);
	metrics_out_gauge(out, "memtraced_growth_regions", "", "Mapped regions that are kept.");
	metrics_out_u64(out, "", now->size.regions);
	metrics_out_gauge(out, "memtraced_growth_regions_left_out", "",
			  "Regions that are not: their process has more than are kept of one.");
	metrics_out_u64(out, "", now->regions_left_out);
	metrics_out_counter(out, "memtraced_growth_renewed", "",
			    "Times that all was forgotten and begun anew, as it was too much.");
	metrics_out_u64(out, "", info.renewed);
	metrics_out_counter(out, "memtraced_growth_failed", "",
			    "Times that it could not begin, or ended by a fault.");
	metrics_out_u64(out, "", info.failed);
}

/* --- profiles that are pushed ---------------------------------------------------------------- */

/* Names of servers are the administrator's. */
static void put_pushed(const struct push *push, struct metrics_out *out)
{
	static const char *const results[] = { "sent", "rejected", "dropped" };
	struct push_info info;

	metrics_out_counter(
		out, "memtraced_push_profiles", "",
		"Profiles for a server, by what became of them: sent, rejected by the server, or "
		"dropped as it took none in time.");
	for (size_t i = 0; push_at(push, i, &info); i++) {
		const uint64_t values[] = { info.counts.sent, info.counts.rejected,
					    info.counts.dropped };

		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			metrics_out_label(out, "target", info.name);
			metrics_out_label(out, "result", results[j]);
			metrics_out_u64(out, "", values[j]);
		}
	}
}

/* `offset`: of a number of 8 bytes. */
static void put_number(const struct push *push, size_t offset, struct metrics_out *out)
{
	struct push_info info;
	uint64_t number;

	for (size_t i = 0; push_at(push, i, &info); i++) {
		memcpy(&number, (const char *)&info + offset, sizeof(number));
		metrics_out_labelled(out, "target", info.name, number);
	}
}

/* An error stays with the output. */
static void push_metrics_put(const struct push *push, struct metrics_out *out)
{
	put_pushed(push, out);
	metrics_out_counter(out, "memtraced_push_failures", "",
			    "Tries to send a profile that were or will be repeated.");
	put_number(push, offsetof(struct push_info, counts.failed), out);
	metrics_out_counter(out, "memtraced_push_untaken", "",
			    "Times that profiles of a trace could not be made.");
	put_number(push, offsetof(struct push_info, untaken), out);
	metrics_out_gauge(out, "memtraced_push_waiting_profiles", "",
			  "Profiles that wait to be sent.");
	put_number(push, offsetof(struct push_info, waiting), out);
	metrics_out_gauge(out, "memtraced_push_waiting_bytes", "bytes", "Memory that they take.");
	put_number(push, offsetof(struct push_info, waiting_bytes), out);
}

/*
 * What Prometheus scrapes: memory of the processes that the scraper may see, counts without names
 * of what is traced, and the service's own figures, by the names that all programs have for those;
 * for root, who may see the host, cgroups, rules and pushes.
 */

/* q-values are not weighed: Prometheus sends none of the older format that it likes better. */
static bool wants_openmetrics(const struct service_call *call)
{
	const char *accept = http_request_header(call->request, "Accept");

	return accept && strstr(accept, "application/openmetrics-text");
}

static void put_processes(const struct service_call *call, struct metrics_out *out)
{
	const struct process_rows *rows = &call->rows;

	metrics_out_gauge(out, "memtraced_process_resident_bytes", "bytes",
			  "Resident memory of the processes that have most.");
	for (size_t i = 0; i < rows->n_rows; i++) {
		put_labels(out, &rows->rows[i]);
		metrics_out_u64(out, "", rows->rows[i].rss_bytes);
	}
	metrics_out_gauge(out, "memtraced_processes", "",
			  "Processes that the requesting user may see, without kernel threads.");
	metrics_out_u64(out, "", rows->n_all);
	watch_metrics_put(call->service->watch, call->service->config, rows, out);
	growth_metrics_put_processes(call->service->growth, rows, out);
}

static void put_traces(const struct service *service, struct metrics_out *out)
{
	struct traces_counts counts = traces_count(service->traces);
	struct trace_info info;
	size_t n = 0;

	while (traces_at(service->traces, n, &info))
		n++;
	metrics_out_gauge(out, "memtraced_traces_running", "", "Traces on demand that run.");
	metrics_out_u64(out, "", n);
	metrics_out_counter(out, "memtraced_traces", "", "Traces on demand that were begun.");
	metrics_out_u64(out, "", counts.begun);
	metrics_out_counter(out, "memtraced_traces_refused", "",
			    "Traces refused because the limit was reached.");
	metrics_out_u64(out, "", counts.refused);
	metrics_out_counter(out, "memtraced_traces_pre_empted", "",
			    "Traces of users that ended early to make room for another one.");
	metrics_out_u64(out, "", counts.pre_empted);
	metrics_out_counter(out, "memtraced_post_mortems", "",
			    "Processes that were killed, by what came of their reports.");
	metrics_out_labelled(out, "report", "written", service->post_mortems);
	metrics_out_labelled(out, "report", "failed", service->post_mortems_failed);
	metrics_out_labelled(out, "report", "left_out",
			     counts.unreported + host_growth_info(service->growth).left_out);
	metrics_out_labelled(out, "report", "limited", service->post_mortems_limited);
	metrics_out_labelled(out, "report", "own", service->post_mortems_own);
}

/* Shares in millionths: a number of this format's writer is whole. */
static void put_budget(const struct traces *traces, struct metrics_out *out)
{
	struct traces_budget budget = traces_budget(traces);

	metrics_out_gauge(out, "memtraced_overhead_ppm", "",
			  "Time in probes as a share of all CPUs, in millionths, estimated.");
	metrics_out_u64(out, "", (uint64_t)(budget.host * 1000000));
	metrics_out_gauge(out, "memtraced_overhead_max_ppm", "",
			  "Limit of that share, and of one CPU for a process; 0: no limit.");
	metrics_out_u64(out, "", (uint64_t)(budget.most * 1000000));
	metrics_out_gauge(out, "memtraced_probe_call_seconds", "seconds",
			  "Time that tracing adds to an allocator call, measured at the start.");
	metrics_out_ns(out, "", budget.call_ns);
	metrics_out_counter(out, "memtraced_traces_stopped_by_budget", "",
			    "Traces that ended early because the tracing budget was exhausted.");
	metrics_out_u64(out, "", budget.stopped);
	metrics_out_counter(out, "memtraced_traces_refused_by_budget", "",
			    "Traces refused because the tracing budget was exhausted.");
	metrics_out_u64(out, "", budget.refused);
}

/* Names of rules are the administrator's. */
static void put_rules(const struct rules *rules, struct metrics_out *out)
{
	struct rule_info info;

	metrics_out_counter(out, "memtraced_rule_fired", "", "Traces that a rule has begun.");
	for (size_t i = 0; rules_at(rules, i, &info); i++)
		metrics_out_labelled(out, "rule", info.name, info.fired);
	metrics_out_counter(out, "memtraced_rule_refused", "",
			    "Times that a rule's trace could not be begun.");
	for (size_t i = 0; rules_at(rules, i, &info); i++)
		metrics_out_labelled(out, "rule", info.name, info.refused);
	metrics_out_gauge(out, "memtraced_rule_traces_running", "", "Traces of a rule that run.");
	for (size_t i = 0; rules_at(rules, i, &info); i++)
		metrics_out_labelled(out, "rule", info.name, info.running);
}

static int put_host(const struct service *service, struct metrics_out *out)
{
	put_rules(service->rules, out);
	push_metrics_put(service->push, out);
	return watch_metrics_put_cgroups(service->watch, service->config, out);
}

static void put_http(const struct service *service, struct metrics_out *out)
{
	struct http_counts counts = listeners_count(service->listeners);

	metrics_out_counter(out, "memtraced_http_answers", "", "Answers over HTTP, by status.");
	for (size_t i = 2; i < sizeof(counts.answers) / sizeof(counts.answers[0]); i++) {
		char code[8];

		(void)snprintf(code, sizeof(code), "%zuxx", i); /* fits */
		metrics_out_labelled(out, "code", code, counts.answers[i]);
	}
	metrics_out_gauge(out, "memtraced_http_connections", "", "Connections that are open.");
	metrics_out_u64(out, "", counts.connections);
	metrics_out_counter(out, "memtraced_http_closed_connections", "",
			    "Connections closed because they were slow or a user had too many.");
	metrics_out_labelled(out, "cause", "slow", counts.too_slow);
	metrics_out_labelled(out, "cause", "many", counts.too_many);
	metrics_out_counter(out, "memtraced_http_tokens_refused", "",
			    "Requests with a token that was not valid.");
	metrics_out_u64(out, "", service->tokens_refused);
}

static void put_reloads(const struct service *service, struct metrics_out *out)
{
	metrics_out_counter(out, "memtraced_reloads", "",
			    "Reloads of the configuration; a failed one changes nothing.");
	metrics_out_labelled(out, "result", "done", service->reloads.done);
	metrics_out_labelled(out, "result", "failed", service->reloads.failed);
}

static void put_helpers(const struct service *service, struct metrics_out *out)
{
	metrics_out_counter(out, "memtraced_helper_restarts", "",
			    "Helper processes that were killed and started again.");
	metrics_out_labelled(out, "helper", KEEPER_COMM, worker_keeper_restarts(service->worker));
	metrics_out_labelled(out, "helper", FILE_HELPER_COMM, file_helper_restarts());
}

static uint64_t count_open_files(void)
{
	_cleanup_closedir_ DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t n = 0;

	while (folder && (entry = readdir(folder)))
		n += entry->d_name[0] != '.';
	return n > 0 ? n - 1 : 0; /* the folder's own */
}

static void put_self(const struct service *service, struct metrics_out *out)
{
	uint64_t rss;

	metrics_out_gauge(out, "memtraced_build_info", "", "1, with the version.");
	metrics_out_labelled(out, "version", MEMTRACED_VERSION, 1);
	if (statm_rss(getpid(), &rss) == 0) {
		metrics_out_gauge(out, "process_resident_memory_bytes", "bytes",
				  "Resident memory of memtraced itself.");
		metrics_out_u64(out, "", rss);
	}
	metrics_out_gauge(out, "process_open_fds", "", "Files that memtraced has open.");
	metrics_out_u64(out, "", count_open_files());
	metrics_out_gauge(out, "process_start_time_seconds", "seconds",
			  "When memtraced was started.");
	metrics_out_u64(out, "", service->start_realtime_ns / 1000000000);
	metrics_out_counter(out, "process_cpu_seconds", "seconds",
			    "CPU time of memtraced, in whole seconds.");
	metrics_out_u64(out, "", clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000000000);
}

int metrics_route(struct service_call *call, struct http_answer *answer)
{
	struct answer_stream stream = { .body = &answer->body,
					.most = call->service->config->max_answer };
	struct metrics_out out = { .is_openmetrics = wants_openmetrics(call) };
	int r = process_reader_want(call, NULL, call->service->config->processes), r_end;

	if (r != 0)
		return r;
	out.file = answer_stream_open(&stream);
	if (!out.file)
		return -ENOMEM;
	put_processes(call, &out);
	put_traces(call->service, &out);
	put_budget(call->service->traces, &out);
	growth_metrics_put(call->service->growth, &out);
	if (service_may_see_host(call))
		r = put_host(call->service, &out);
	put_http(call->service, &out);
	put_reloads(call->service, &out);
	put_helpers(call->service, &out);
	put_self(call->service, &out);
	r_end = metrics_out_end(&out);
	if (fclose(out.file) != 0 && r_end == 0)
		r_end = -EIO;
	answer->status = 200;
	answer->type = out.is_openmetrics ?
			       "application/openmetrics-text; version=1.0.0; charset=utf-8" :
			       "text/plain; version=0.0.4; charset=utf-8";
	return r < 0 ? r : r_end;
}
