/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_leaks.h"

#include "analyze/reach.h"
#include "report/leak/leak_result.h"

const char *json_leak_class(enum reach_class class)
{
	return class < REACH_CLASSES ? reach_class_name(class) : NULL;
}

static struct json_object *sum_json(struct json_out *out, const struct loss_sum *sum)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_u64(out, json, "bytes", sum->bytes);
	json_out_u64(out, json, "blocks", sum->blocks);
	return json;
}

void json_leaks(struct json_out *out, const struct view_process *process)
{
	const struct leak_result *leaks = process->leaks;
	const struct loss_totals *totals = leaks ? loss_records_totals(leaks->records) : NULL;
	struct json_object *json = leaks ? json_out_new(out) : NULL;

	if (!json) {
		fputs("null", out->file);
		return;
	}
	for (int class = 0; class < REACH_CLASSES; class ++)
		json_out_add(out, json, reach_class_name((enum reach_class) class),
			     sum_json(out, &totals->classes[class]));
	json_out_add(out, json, "suppressed", sum_json(out, &totals->suppressed));
	json_out_u64(out, json, "errors", totals->errors);
	json_out_u64(out, json, "checks", leaks->number);
	json_out_bool(out, json, "complete",
		      leaks->stats.end == REACH_COMPLETE && leaks->running_threads == 0);
	json_out_bool(out, json, "all_blocks_known", !leaks->unknown_blocks);
	json_out_u64(out, json, "stopped_ns", leaks->stopped_ns);
	json_out_put(out, json);
}
