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
#include "service/daemon/watch/watch_metrics.h"
#include "target/file_helper.h"
#include "target/file_helper_process.h"
#include "target/process.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* --- growth depth ---------------------------------------------------------------------------- */

/* Of the processes that are shown anyway, what they have mapped. */
static void growth_metrics_put_processes(const struct host_growth *growth,
					 const struct process_rows *rows, struct metrics_out *out)
{
	static const struct metrics_family mapped = {
		"memtraced_process_mapped_bytes", METRICS_GAUGE, "bytes",
		"Bytes of address space, reservations (PROT_NONE) among them, that the processes "
		"with most resident memory have mapped by mmap and brk and not unmapped, since "
		"growth depth has known them."
	};
	struct region_totals totals;
	char pid[16];

	metrics_out_family(out, &mapped);
	for (size_t i = 0; i < rows->n_rows; i++) {
		if (!host_growth_mapped(growth, rows->rows[i].pid, &totals))
			continue;
		(void)snprintf(pid, sizeof(pid), "%d", (int)rows->rows[i].pid); /* fits */
		metrics_out_label(out, "pid", pid);
		metrics_out_label(out, "comm", rows->rows[i].comm);
		metrics_out_i64(out, "", totals.live_bytes);
	}
}

static void growth_metrics_put(const struct host_growth *growth, struct metrics_out *out)
{
	static const struct metrics_family running = {
		"memtraced_growth_running", METRICS_GAUGE, "",
		"1: page faults of the host are sampled; 0: they are not."
	};
	static const struct metrics_family period = { "memtraced_growth_period", METRICS_GAUGE, "",
						      "One in so many page faults is sampled." };
	static const struct metrics_family age = { "memtraced_growth_age_seconds", METRICS_GAUGE,
						   "seconds",
						   "For how long, since it was last begun anew." };
	static const struct metrics_family samples = {
		"memtraced_growth_samples", METRICS_GAUGE, "",
		"Page faults sampled, and mappings if traced, in that time, at the latest reading."
	};
	static const struct metrics_family lost = {
		"memtraced_growth_lost", METRICS_GAUGE, "",
		"Events lost in that time, by cause, as in reports' coverage."
	};
	static const struct metrics_family stacks = { "memtraced_growth_stacks", METRICS_GAUGE, "",
						      "Stacks that are kept." };
	static const struct metrics_family files = { "memtraced_growth_files", METRICS_GAUGE, "",
						     "Files that are kept for them." };
	static const struct metrics_family mappings = {
		"memtraced_growth_mappings", METRICS_GAUGE, "",
		"1: mappings are traced as well; 0: they are not."
	};
	static const struct metrics_family regions = { "memtraced_growth_regions", METRICS_GAUGE,
						       "", "Mapped regions that are kept." };
	static const struct metrics_family left_out = {
		"memtraced_growth_regions_left_out", METRICS_GAUGE, "",
		"Regions that are not: their process has more than are kept of one."
	};
	static const struct metrics_family renewed = {
		"memtraced_growth_renewed", METRICS_COUNTER, "",
		"Times that all was forgotten and begun anew, as it was too much."
	};
	static const struct metrics_family failed = {
		"memtraced_growth_failed", METRICS_COUNTER, "",
		"Times that it could not begin, or ended by a fault."
	};
	static const struct growth_snapshot none;
	struct host_growth_info info = host_growth_info(growth);
	const struct growth_snapshot *now = info.snapshot ? info.snapshot : &none;

	metrics_out_one(out, &running, info.is_running);
	metrics_out_one(out, &period, info.period);
	metrics_out_one(out, &age, info.age_ns / 1000000000);
	metrics_out_one(out, &samples, now->events);
	metrics_out_family(out, &lost);
	vec_foreach(&now->losses, loss) {
		metrics_out_label(out, "cause", loss->cause);
		metrics_out_u64(out, "", loss->count);
	}
	metrics_out_one(out, &mappings, info.is_running && info.has_mappings);
	metrics_out_one(out, &stacks, now->size.counts + now->size.region_sites);
	metrics_out_one(out, &files, now->size.objects);
	metrics_out_one(out, &regions, now->size.regions);
	metrics_out_one(out, &left_out, now->regions_left_out);
	metrics_out_one(out, &renewed, info.renewed);
	metrics_out_one(out, &failed, info.failed);
}

/* --- profiles that are pushed ---------------------------------------------------------------- */

/* Names of servers are the administrator's. */
static void put_pushed(const struct push *push, struct metrics_out *out)
{
	static const struct metrics_family family = {
		"memtraced_push_profiles", METRICS_COUNTER, "",
		"Profiles for a server, by what became of them: sent, rejected by the server, or "
		"dropped as it took none in time."
	};
	static const char *const results[] = { "sent", "rejected", "dropped" };
	struct push_info info;

	metrics_out_family(out, &family);
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

static void put_number(const struct push *push, const struct metrics_family *family,
		       uint64_t (*value)(const struct push_info *info), struct metrics_out *out)
{
	struct push_info info;

	metrics_out_family(out, family);
	for (size_t i = 0; push_at(push, i, &info); i++) {
		metrics_out_label(out, "target", info.name);
		metrics_out_u64(out, "", value(&info));
	}
}

static uint64_t get_failed(const struct push_info *info)
{
	return info->counts.failed;
}

static uint64_t get_untaken(const struct push_info *info)
{
	return info->untaken;
}

static uint64_t get_waiting(const struct push_info *info)
{
	return info->waiting;
}

static uint64_t get_waiting_bytes(const struct push_info *info)
{
	return info->waiting_bytes;
}

/* An error stays with the output. */
static void push_metrics_put(const struct push *push, struct metrics_out *out)
{
	static const struct metrics_family failed = {
		"memtraced_push_failures", METRICS_COUNTER, "",
		"Tries to send a profile that were or will be repeated."
	};
	static const struct metrics_family untaken = {
		"memtraced_push_untaken", METRICS_COUNTER, "",
		"Times that profiles of a trace could not be made."
	};
	static const struct metrics_family waiting = { "memtraced_push_waiting_profiles",
						       METRICS_GAUGE, "",
						       "Profiles that wait to be sent." };
	static const struct metrics_family bytes = { "memtraced_push_waiting_bytes", METRICS_GAUGE,
						     "bytes", "Memory that they take." };

	put_pushed(push, out);
	put_number(push, &failed, get_failed, out);
	put_number(push, &untaken, get_untaken, out);
	put_number(push, &waiting, get_waiting, out);
	put_number(push, &bytes, get_waiting_bytes, out);
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
	static const struct metrics_family resident = {
		"memtraced_process_resident_bytes", METRICS_GAUGE, "bytes",
		"Resident memory of the processes that have most."
	};
	static const struct metrics_family count = {
		"memtraced_processes", METRICS_GAUGE, "",
		"Processes that the requesting user may see, without kernel threads."
	};
	const struct process_rows *rows = &call->rows;

	metrics_out_family(out, &resident);
	for (size_t i = 0; i < rows->n_rows; i++) {
		char pid[16];

		(void)snprintf(pid, sizeof(pid), "%d", (int)rows->rows[i].pid); /* fits */
		metrics_out_label(out, "pid", pid);
		metrics_out_label(out, "comm", rows->rows[i].comm);
		metrics_out_u64(out, "", rows->rows[i].rss_bytes);
	}
	metrics_out_one(out, &count, rows->n_all);
	watch_metrics_put(call->service->watch, call->service->config, rows, out);
	growth_metrics_put_processes(call->service->growth, rows, out);
}

static void put_traces(const struct service *service, struct metrics_out *out)
{
	static const struct metrics_family running = { "memtraced_traces_running", METRICS_GAUGE,
						       "", "Traces on demand that run." };
	static const struct metrics_family begun = { "memtraced_traces", METRICS_COUNTER, "",
						     "Traces on demand that were begun." };
	static const struct metrics_family refused = {
		"memtraced_traces_refused", METRICS_COUNTER, "",
		"Traces refused because the limit was reached."
	};
	static const struct metrics_family pre_empted = {
		"memtraced_traces_pre_empted", METRICS_COUNTER, "",
		"Traces of users that ended early to make room for another one."
	};
	static const struct metrics_family deaths = {
		"memtraced_post_mortems", METRICS_COUNTER, "",
		"Processes that were killed, by what came of their reports."
	};
	struct trace_info info;
	size_t n = 0;

	while (traces_at(service->traces, n, &info))
		n++;
	metrics_out_one(out, &running, n);
	metrics_out_one(out, &begun, traces_begun(service->traces));
	metrics_out_one(out, &refused, traces_refused(service->traces));
	metrics_out_one(out, &pre_empted, traces_pre_empted(service->traces));
	metrics_out_family(out, &deaths);
	metrics_out_label(out, "report", "written");
	metrics_out_u64(out, "", service->post_mortems);
	metrics_out_label(out, "report", "failed");
	metrics_out_u64(out, "", service->post_mortems_failed);
	metrics_out_label(out, "report", "left_out");
	metrics_out_u64(out, "",
			traces_untold(service->traces) +
				host_growth_info(service->growth).left_out);
	metrics_out_label(out, "report", "limited");
	metrics_out_u64(out, "", service->post_mortems_limited);
	metrics_out_label(out, "report", "own");
	metrics_out_u64(out, "", service->post_mortems_own);
}

/* Shares in millionths: a number of this format's writer is whole. */
static void put_budget(const struct traces *traces, struct metrics_out *out)
{
	static const struct metrics_family share = {
		"memtraced_overhead_ppm", METRICS_GAUGE, "",
		"Time in probes as a share of all CPUs, in millionths, estimated."
	};
	static const struct metrics_family most = {
		"memtraced_overhead_max_ppm", METRICS_GAUGE, "",
		"Limit of that share, and of one CPU for a process; 0: no limit."
	};
	static const struct metrics_family call = {
		"memtraced_probe_call_seconds", METRICS_GAUGE, "seconds",
		"Time that tracing adds to an allocator call, measured at the start."
	};
	static const struct metrics_family stopped = {
		"memtraced_traces_stopped_by_budget", METRICS_COUNTER, "",
		"Traces that ended early because the tracing budget was exhausted."
	};
	static const struct metrics_family refused = {
		"memtraced_traces_refused_by_budget", METRICS_COUNTER, "",
		"Traces refused because the tracing budget was exhausted."
	};
	struct traces_budget budget = traces_budget(traces);

	metrics_out_one(out, &share, (uint64_t)(budget.host * 1000000));
	metrics_out_one(out, &most, (uint64_t)(budget.most * 1000000));
	metrics_out_family(out, &call);
	metrics_out_ns(out, "", budget.call_ns);
	metrics_out_one(out, &stopped, budget.stopped);
	metrics_out_one(out, &refused, budget.refused);
}

/* Names of rules are the administrator's. */
static void put_rules(const struct rules *rules, struct metrics_out *out)
{
	static const struct metrics_family fired = { "memtraced_rule_fired", METRICS_COUNTER, "",
						     "Traces that a rule has begun." };
	static const struct metrics_family refused = {
		"memtraced_rule_refused", METRICS_COUNTER, "",
		"Times that a rule's trace could not be begun."
	};
	static const struct metrics_family running = { "memtraced_rule_traces_running",
						       METRICS_GAUGE, "",
						       "Traces of a rule that run." };
	struct rule_info info;

	metrics_out_family(out, &fired);
	for (size_t i = 0; rules_at(rules, i, &info); i++) {
		metrics_out_label(out, "rule", info.name);
		metrics_out_u64(out, "", info.fired);
	}
	metrics_out_family(out, &refused);
	for (size_t i = 0; rules_at(rules, i, &info); i++) {
		metrics_out_label(out, "rule", info.name);
		metrics_out_u64(out, "", info.refused);
	}
	metrics_out_family(out, &running);
	for (size_t i = 0; rules_at(rules, i, &info); i++) {
		metrics_out_label(out, "rule", info.name);
		metrics_out_u64(out, "", info.running);
	}
}

static int put_host(const struct service *service, struct metrics_out *out)
{
	put_rules(service->rules, out);
	push_metrics_put(service->push, out);
	return watch_metrics_put_cgroups(service->watch, service->config, out);
}

static void put_http(const struct service *service, struct metrics_out *out)
{
	static const struct metrics_family answers = { "memtraced_http_answers", METRICS_COUNTER,
						       "", "Answers over HTTP, by status." };
	static const struct metrics_family open = { "memtraced_http_connections", METRICS_GAUGE, "",
						    "Connections that are open." };
	static const struct metrics_family closed = {
		"memtraced_http_closed_connections", METRICS_COUNTER, "",
		"Connections closed because they were slow or a user had too many."
	};
	static const struct metrics_family refused = {
		"memtraced_http_tokens_refused", METRICS_COUNTER, "",
		"Requests with a token that was not valid."
	};
	struct http_counts counts = listeners_count(service->listeners);

	metrics_out_family(out, &answers);
	for (size_t i = 2; i < sizeof(counts.answers) / sizeof(counts.answers[0]); i++) {
		char code[8];

		(void)snprintf(code, sizeof(code), "%zuxx", i); /* fits */
		metrics_out_label(out, "code", code);
		metrics_out_u64(out, "", counts.answers[i]);
	}
	metrics_out_one(out, &open, counts.connections);
	metrics_out_family(out, &closed);
	metrics_out_label(out, "cause", "slow");
	metrics_out_u64(out, "", counts.too_slow);
	metrics_out_label(out, "cause", "many");
	metrics_out_u64(out, "", counts.too_many);
	metrics_out_one(out, &refused, service->tokens_refused);
}

static void put_reloads(const struct service *service, struct metrics_out *out)
{
	static const struct metrics_family reloads = {
		"memtraced_reloads", METRICS_COUNTER, "",
		"Times that the configuration was read anew, or stayed as it was since that failed."
	};

	metrics_out_family(out, &reloads);
	metrics_out_label(out, "result", "done");
	metrics_out_u64(out, "", service->reloads.done);
	metrics_out_label(out, "result", "failed");
	metrics_out_u64(out, "", service->reloads.failed);
}

static void put_helpers(const struct service *service, struct metrics_out *out)
{
	static const struct metrics_family restarts = {
		"memtraced_helper_restarts", METRICS_COUNTER, "",
		"Helper processes that were started again, as they were killed."
	};

	metrics_out_family(out, &restarts);
	metrics_out_label(out, "helper", KEEPER_COMM);
	metrics_out_u64(out, "", worker_keeper_restarts(service->worker));
	metrics_out_label(out, "helper", FILE_HELPER_COMM);
	metrics_out_u64(out, "", file_helper_restarts());
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
	static const struct metrics_family build = { "memtraced_build_info", METRICS_GAUGE, "",
						     "1, with the version." };
	static const struct metrics_family resident = { "process_resident_memory_bytes",
							METRICS_GAUGE, "bytes",
							"Resident memory of memtraced itself." };
	static const struct metrics_family files = { "process_open_fds", METRICS_GAUGE, "",
						     "Files that memtraced has open." };
	static const struct metrics_family start = { "process_start_time_seconds", METRICS_GAUGE,
						     "seconds", "When memtraced was started." };
	static const struct metrics_family cpu = { "process_cpu_seconds", METRICS_COUNTER,
						   "seconds",
						   "CPU time of memtraced, in whole seconds." };
	uint64_t rss;

	metrics_out_family(out, &build);
	metrics_out_label(out, "version", MEMTRACED_VERSION);
	metrics_out_u64(out, "", 1);
	if (statm_rss(getpid(), &rss) == 0)
		metrics_out_one(out, &resident, rss);
	metrics_out_one(out, &files, count_open_files());
	metrics_out_one(out, &start, service->start_realtime_ns / 1000000000);
	metrics_out_one(out, &cpu, clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000000000);
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
