/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_errors.h"

#include "report/json/json_stacks.h"

static struct json_object *block_json(struct json_out *out, const struct record_heap_error *v)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_address(out, json, "addr", v->block != 0, v->block);
	json_out_u64(out, json, "size", v->block_size);
	json_out_u64(out, json, "offset", v->addr - v->block);
	return json;
}

static void put_error(struct json_out *out, const struct view_process *process,
		      const struct view_heap_error *error)
{
	const struct record_heap_error *v = error->values;
	struct json_object *json = json_out_new(out);
	bool asked = v->kind == RECORD_FAILED_ALLOCATION || v->kind == RECORD_SUSPICIOUS_SIZE;

	if (!json)
		return;
	json_out_string(out, json, "kind", view_error_name(v->kind));
	json_out_bool(out, json, "certain", view_errors_certain(process));
	json_out_u64(out, json, "count", error->count);
	json_out_address(out, json, "addr", v->addr != 0, v->addr);
	json_out_known(out, json, "size", asked, v->size);
	if (error->has_block)
		json_out_add(out, json, "block", block_json(out, v));
	else
		json_out_null(out, json, "block");
	json_add_stack(out, json, "stack_id", true, &error->stack);
	json_add_stack(out, json, "allocated_stack_id", error->has_allocated, &error->allocated);
	json_add_stack(out, json, "freed_stack_id", error->has_freed, &error->freed);
	json_out_put(out, json);
}

void json_errors(struct json_out *out, const struct view_process *process)
{
	fputc('[', out->file);
	for (size_t i = 0; i < process->errors.n; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_error(out, process, &process->errors.errors[i]);
	}
	fputc(']', out->file);
}
