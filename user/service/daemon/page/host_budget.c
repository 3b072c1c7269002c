/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/page/host_budget.h"

#include "report/json/json_out.h"
#include "service/daemon/service_state.h"
#include "service/daemon/trace/traces.h"
#include "service/daemon/trace/traces_cost.h"
#include "service/daemon/watch/rules.h"

#define PPM 1000000

static struct json_object *last_of(struct json_out *out, const struct rule_info *info)
{
	struct json_object *last = json_out_new(out);

	json_out_u64(out, last, "pid", (uint64_t)info->last_pid);
	json_out_string(out, last, "comm", info->last_comm);
	json_out_u64(out, last, "ago_ns", info->last_ago_ns);
	return last;
}

void host_add_rules(struct json_out *out, const struct service *service, struct json_object *to)
{
	struct json_object *list = json_object_new_array();
	struct rule_info info;

	for (size_t i = 0; list && rules_at(service->rules, i, &info); i++) {
		struct json_object *rule = json_out_new(out);

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
		json_object_array_add(list, rule);
	}
	json_out_add(out, to, "rules", list);
}

static struct json_object *waiting(struct json_out *out, const struct traces *traces)
{
	struct json_object *list = json_object_new_array();
	struct traces_debt debt;
	size_t index = 0;

	while (list && traces_next_debt(traces, &index, &debt)) {
		struct json_object *one = json_out_new(out);

		json_out_u64(out, one, "pid", (uint64_t)debt.pid);
		json_out_u64(out, one, "wait_ns", debt.wait_ns);
		json_object_array_add(list, one);
	}
	return list;
}

void host_add_budget(struct json_out *out, const struct service *service, struct json_object *to)
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
