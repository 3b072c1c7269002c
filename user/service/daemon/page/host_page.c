/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of the host, which a browser is given at "/": it asks for what it shows
 * (host_route_data), and frames the pages of traces and reports.
 */
#include "base/clock.h"
#include "report/json/json_out.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/reports/reports.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/process_reader.h"
#include "service/daemon/routes/routes.h"
#include "service/daemon/service_state.h"
#include "service/daemon/trace/traces.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/watch/rules.h"
#include "version.h"

#include <errno.h>

static const char style[] =
#include "host_page_css.h"
	;
static const char markup_script[] =
#include "host_markup_js.h"
	;
static const char processes_script[] =
#include "host_processes_js.h"
	;
static const char process_script[] =
#include "host_process_js.h"
	;
static const char budget_script[] =
#include "host_budget_js.h"
	;
static const char page_script[] =
#include "host_page_js.h"
	;
/* In the order in which they build on each other. */
static const char *const scripts[] = { markup_script, processes_script, process_script,
				       budget_script, page_script };

int host_route_page(struct service_call *call, struct http_answer *answer)
{
	if (!call->wants_html)
		return pprof_route_start(call, answer);
	answer->status = 200;
	answer->type = HTTP_HTML;
	answer->page = HTTP_PAGE_HOST;
	strbuf_addf(&answer->body,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<title>memtraced</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		    "<noscript>This page is drawn by scripts of its own, which are switched off; "
		    "<a href=\"/debug/pprof/\">the list of processes</a> needs none.</noscript>\n"
		    "<script>\n",
		    style);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		strbuf_adds(&answer->body, scripts[i]);
	strbuf_adds(&answer->body, "</script>\n</body>\n</html>\n");
	return strbuf_error(&answer->body);
}

/*
 * Rules and the budget in the data of the page of the host. They are about all users' processes, so
 * for root's eyes alone: who else asks is given none.
 */
#define PPM 1000000

static struct json_object *last_of(struct json_out *out, const struct rule_info *info)
{
	struct json_object *last = json_out_new(out);

	json_out_u64(out, last, "pid", (uint64_t)info->last_pid);
	json_out_string(out, last, "comm", info->last_comm);
	json_out_u64(out, last, "ago_ns", info->last_ago_ns);
	return last;
}

/* Errors stay in `out`. */
static void host_add_rules(struct json_out *out, const struct service *service,
			   struct json_object *to)
{
	struct json_object *list = json_object_new_array();
	struct rule_info info;

	for (size_t i = 0; list && rules_at(service->rules, i, &info); i++) {
		struct json_object *rule = json_out_push_new(out, list);

		json_out_string(out, rule, "name", info.name);
		json_out_string(out, rule, "when", info.when);
		json_out_u64(out, rule, "held", info.held);
		json_out_known(out, rule, "held_ns", info.held > 0, info.held_ns);
		json_out_u64(out, rule, "running", info.running);
		json_out_u64(out, rule, "fired", info.fired);
		json_out_u64(out, rule, "refused", info.refused);
		if (info.last_pid)
			json_out_add(out, rule, "last", last_of(out, &info));
		else
			json_out_null(out, rule, "last");
	}
	json_out_add(out, to, "rules", list);
}

static struct json_object *waiting(struct json_out *out, const struct traces *traces)
{
	struct json_object *list = json_object_new_array();
	struct traces_debt debt;
	size_t index = 0;

	while (list && traces_next_debt(traces, &index, &debt)) {
		struct json_object *one = json_out_push_new(out, list);

		json_out_u64(out, one, "pid", (uint64_t)debt.pid);
		json_out_u64(out, one, "wait_ns", debt.wait_ns);
	}
	return list;
}

static void host_add_budget(struct json_out *out, const struct service *service,
			    struct json_object *to)
{
	struct traces_budget budget = traces_budget(service->traces);
	struct json_object *all = json_out_new(out);

	json_out_known(out, all, "max_ppm", budget.most > 0, (uint64_t)(budget.most * PPM));
	json_out_u64(out, all, "host_ppm", (uint64_t)(budget.host * PPM));
	json_out_known(out, all, "call_ns", budget.call_ns > 0, budget.call_ns);
	json_out_u64(out, all, "stopped", budget.stopped);
	json_out_u64(out, all, "refused", budget.refused);
	json_out_add(out, all, "waiting", waiting(out, service->traces));
	json_out_add(out, to, "budget", all);
}

/*
 * What the page of the host shows, as JSON: what who asks may see of processes, traces and reports;
 * cgroups, rules and the budget for root.
 */

#define MOST_PROCESSES 200
#define MOST_CGROUPS 50
#define MOST_REPORTS 200

struct data {
	const struct service_call *call;
	struct json_out out;
	uint64_t now_ns; /* CLOCK_MONOTONIC */
};

/* --- processes and cgroups ------------------------------------------------------------------- */

/* [seconds ago, bytes, ...], the oldest first. */
static void add_series(struct data *data, struct json_object *to, const struct watch_series *series)
{
	struct json_object *points = json_object_new_array();

	for (uint32_t i = 0; points && i < series->n; i++) {
		struct watch_point point = watch_series_at(series, i);
		uint64_t ago_ns = point.time_ns < data->now_ns ? data->now_ns - point.time_ns : 0;

		json_out_push(&data->out, points,
			      json_object_new_uint64((ago_ns + SECOND_NS / 2) / SECOND_NS));
		json_out_push(&data->out, points, json_object_new_uint64(point.bytes));
	}
	json_out_add(&data->out, to, "series", points);
}

/* Over the configured time, or as much of it as has been watched, down to a minute. */
static bool growth_of(const struct data *data, const struct watched_process *process,
		      double *ret_bytes_per_s)
{
	uint64_t window_ns = data->call->service->config->growth_window_ns;

	for (; window_ns >= 60 * SECOND_NS; window_ns /= 2)
		if (watch_series_slope(&process->rss, window_ns, ret_bytes_per_s))
			return true;
	return false;
}

static struct json_object *process_of(struct data *data, const struct process_row *row)
{
	const struct watched_process *watched =
		watched_process(watch_data(data->call->service->watch), row->pid);
	struct json_object *process = json_out_new(&data->out);
	double growth = 0;
	bool grows = watched && growth_of(data, watched, &growth);

	json_out_u64(&data->out, process, "pid", (uint64_t)row->pid);
	json_out_string(&data->out, process, "comm", row->comm);
	json_out_u64(&data->out, process, "rss", row->rss_bytes);
	json_out_known(&data->out, process, "pss", watched && watched->pss_time_ns,
		       watched ? watched->pss_bytes : 0);
	if (grows)
		json_out_add(&data->out, process, "growth", json_out_new_real(&data->out, growth));
	else
		json_out_null(&data->out, process, "growth");
	if (watched)
		add_series(data, process, &watched->rss);
	else
		json_out_null(&data->out, process, "series");
	return process;
}

static void add_processes(struct data *data, struct json_object *to)
{
	const struct process_rows *rows = &data->call->rows;
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; list && i < rows->n_rows; i++)
		json_out_push(&data->out, list, process_of(data, &rows->rows[i]));
	json_out_u64(&data->out, to, "n_processes", rows->n_all);
	json_out_add(&data->out, to, "processes", list);
}

static struct json_object *cgroup_of(struct data *data, const struct watched_cgroup *cgroup)
{
	const struct cgroup_memory *memory = &cgroup->memory;
	struct json_object *object = json_out_new(&data->out);

	json_out_string(&data->out, object, "name", cgroup->name);
	json_out_u64(&data->out, object, "current", memory->current_bytes);
	json_out_known(&data->out, object, "max", memory->max_bytes != CGROUP_NO_LIMIT,
		       memory->max_bytes);
	json_out_known(&data->out, object, "pressure", memory->pressure != CGROUP_NO_PRESSURE,
		       memory->pressure);
	return object;
}

static int add_cgroups(struct data *data, struct json_object *to)
{
	struct json_object *list = json_object_new_array();
	struct watched_choice choice = {};
	int r = 0;

	if (service_may_see_host(data->call))
		r = watched_choose_cgroups(watch_data(data->call->service->watch), MOST_CGROUPS,
					   &choice);
	for (size_t i = 0; list && i < choice.n; i++)
		json_out_push(&data->out, list, cgroup_of(data, choice.cgroups[i]));
	json_out_add(&data->out, to, "cgroups", list);
	watched_choice_done(&choice);
	return r;
}

/* --- traces and reports ---------------------------------------------------------------------- */

static void add_traces(struct data *data, struct json_object *to)
{
	struct json_object *list = json_object_new_array();
	struct trace_info info;

	for (size_t i = 0; list && traces_at(data->call->service->traces, i, &info); i++) {
		struct json_object *trace;

		if (!service_may_see_trace(data->call, &info))
			continue;
		trace = json_out_push_new(&data->out, list);
		json_out_string(&data->out, trace, "kind", info.kind == TRACE_CPU ? "cpu" : "heap");
		json_out_string(&data->out, trace, "depth",
				info.kind == TRACE_HEAP ? heap_depth_names[info.depth] : NULL);
		json_out_known(&data->out, trace, "pid", info.pid != 0, (uint64_t)info.pid);
		json_out_u64(&data->out, trace, "age_ns", info.age_ns);
		json_out_u64(&data->out, trace, "left_ns", info.left_ns);
		json_out_known(&data->out, trace, "used_ppm", info.kind == TRACE_HEAP,
			       (uint64_t)(info.used * PPM));
		json_out_known(&data->out, trace, "predicted_ppm", info.kind == TRACE_HEAP,
			       (uint64_t)(info.predicted * PPM));
		json_out_bool(&data->out, trace, "stopped", info.is_stopped);
	}
	json_out_add(&data->out, to, "traces", list);
}

static int add_reports(struct data *data, struct json_object *to)
{
	struct json_object *list = json_object_new_array();
	struct report_rows rows;
	int r = reports_list(data->call->service->config, &rows);
	size_t shown = 0;

	if (r < 0) {
		json_object_put(list);
		return r;
	}
	for (size_t i = 0; list && i < rows.n_rows && shown < MOST_REPORTS; i++) {
		const struct report_row *row = &rows.rows[i];
		struct json_object *report;

		if (!service_may_see_report(data->call, row->uid))
			continue;
		report = json_out_push_new(&data->out, list);
		json_out_string(&data->out, report, "name", row->name);
		json_out_u64(&data->out, report, "bytes", row->bytes);
		json_out_u64(&data->out, report, "time", (uint64_t)row->time);
		shown++;
	}
	report_rows_done(&rows);
	json_out_add(&data->out, to, "reports", list);
	return 0;
}

static void add_service(struct data *data, struct json_object *to)
{
	const struct service *service = data->call->service;
	struct watch_info watch = watch_info(service->watch);
	struct host_growth_info growth = host_growth_info(service->growth);

	json_out_string(&data->out, to, "version", MEMTRACED_VERSION);
	json_out_u64(&data->out, to, "up_ns", clock_ns(CLOCK_BOOTTIME) - service->start_boot_ns);
	json_out_known(&data->out, to, "interval_ns", watch.interval_ns > 0, watch.interval_ns);
	json_out_u64(&data->out, to, "growth_window_ns", service->config->growth_window_ns);
	json_out_bool(&data->out, to, "mappings", growth.is_running && growth.has_mappings);
	json_out_u64(&data->out, to, "max_seconds", service->config->max_seconds_ns / SECOND_NS);
}

static int put_host_data(struct data *data)
{
	struct json_object *all = json_out_new(&data->out);
	int r;

	add_service(data, all);
	add_processes(data, all);
	r = add_cgroups(data, all);
	if (r == 0)
		r = add_reports(data, all);
	add_traces(data, all);
	if (service_may_see_host(data->call)) {
		host_add_rules(&data->out, data->call->service, all);
		host_add_budget(&data->out, data->call->service, all);
	} else {
		json_out_add(&data->out, all, "rules", json_object_new_array());
		json_out_null(&data->out, all, "budget");
	}
	json_out_put(&data->out, all);
	return r < 0 ? r : data->out.error;
}

int host_route_data(struct service_call *call, struct http_answer *answer)
{
	struct answer_stream stream = { .body = &answer->body,
					.most = call->service->config->max_answer };
	struct data data = { .call = call,
			     .out = { .in_html = true },
			     .now_ns = clock_monotonic_ns() };
	int r = process_reader_want(call, NULL, MOST_PROCESSES);

	if (r != 0)
		return r;
	data.out.file = answer_stream_open(&stream);
	if (!data.out.file)
		return -ENOMEM;
	r = put_host_data(&data);
	if (fclose(data.out.file) != 0 && r == 0)
		r = -ENOMEM; /* 400 rows are far below any limit */
	answer->status = 200;
	answer->type = "application/json";
	return r;
}
