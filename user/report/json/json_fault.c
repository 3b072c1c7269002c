/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_fault.h"

#include "report/json/json_stacks.h"
#include "report/text/fault_words.h"

#include <json-c/json_object.h>

static struct json_object *block_json(struct json_out *out, const struct view_fault *fault)
{
	static const char *const sides[] = { "before", "inside", "after" };
	const struct record_fault *v = fault->values;
	struct json_object *json = json_out_new(out);
	uint64_t bytes;
	int side = fault_side(v, &bytes);

	if (!json)
		return NULL;
	json_out_address(out, json, "addr", true, v->block);
	json_out_u64(out, json, "size", v->block_size);
	json_out_bool(out, json, "freed", v->freed);
	json_out_string(out, json, "side", sides[side + 1]);
	json_out_u64(out, json, "bytes", bytes);
	return json;
}

void json_fault(struct json_out *out, const struct view_process *process)
{
	const struct view_fault *fault = &process->fault;
	const struct record_fault *v = fault->values;
	struct json_object *json = v ? json_out_new(out) : NULL;

	if (!json) {
		fputs("null", out->file);
		return;
	}
	json_out_u64(out, json, "signal", (uint64_t)v->signal);
	json_out_string(out, json, "name", fault_signal_name(v->signal));
	json_out_add(out, json, "code", json_object_new_int(v->code));
	json_out_u64(out, json, "tid", v->tid);
	json_out_address(out, json, "addr", v->has_addr, v->addr);
	if (v->block)
		json_out_add(out, json, "block", block_json(out, fault));
	else
		json_out_null(out, json, "block");
	json_add_stack(out, json, "stack_id", true, &fault->stack);
	json_add_stack(out, json, "allocated_stack_id", fault->has_allocated, &fault->allocated);
	json_add_stack(out, json, "freed_stack_id", fault->has_freed, &fault->freed);
	json_out_put(out, json);
}
