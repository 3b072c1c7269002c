/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_syscalls.h"

#include "report/json/json_stacks.h"

#include <errno.h>
#include <string.h>

/* A new object at the end of the array, or NULL. */
static struct json_object *append(struct json_out *out, struct json_object *array)
{
	struct json_object *json = json_out_new(out);

	if (json && json_object_array_add(array, json) == 0)
		return json;
	json_object_put(json);
	out->error = -ENOMEM;
	return NULL;
}

static struct json_object *errnos_json(struct json_out *out, const struct record_syscall *sum)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < sum->n_errnos; i++) {
		struct json_object *json = append(out, array);

		if (!json)
			break;
		json_out_u64(out, json, "errno", sum->errnos[i].number);
		json_out_string(out, json, "name", strerrorname_np((int)sum->errnos[i].number));
		json_out_u64(out, json, "count", sum->errnos[i].count);
	}
	return array;
}

static struct json_object *buckets_json(struct json_out *out, const struct record_syscall *sum)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < sum->n_buckets; i++) {
		const struct record_bucket *bucket = &sum->buckets[i];
		struct json_object *json = append(out, array);

		if (!json)
			break;
		json_out_u64(out, json, "lo", (uint64_t)bucket->lo);
		json_out_known(out, json, "hi", bucket->hi != INT64_MAX, (uint64_t)bucket->hi);
		json_out_u64(out, json, "count", bucket->count);
	}
	return array;
}

static struct json_object *calls_json(struct json_out *out, const struct view_calls *calls)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < calls->n_calls; i++) {
		const struct view_call *call = &calls->calls[i];
		const struct record_syscall *sum = &call->sum;
		struct json_object *json = append(out, array);
		bool timed = call->timed > 0;

		if (!json)
			break;
		json_out_add(out, json, "number", json_object_new_int64(sum->number));
		json_out_string(out, json, "name", sum->name);
		json_out_u64(out, json, "calls", sum->calls);
		json_out_u64(out, json, "timed", call->timed);
		json_out_u64(out, json, "errors", sum->errors);
		json_out_u64(out, json, "restarted", sum->restarted);
		json_out_u64(out, json, "total_ns", sum->total_ns);
		json_out_known(out, json, "p99_ns", timed, call->p99_ns);
		json_out_known(out, json, "max_ns", timed, sum->max_ns);
		json_out_u64(out, json, "bytes", sum->bytes);
		json_out_add(out, json, "errnos", errnos_json(out, sum));
		json_out_add(out, json, "latency_ns", buckets_json(out, sum));
	}
	return array;
}

static struct json_object *files_json(struct json_out *out, const struct view_calls *calls)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < calls->n_files; i++) {
		const struct record_syscall_file *file = &calls->files[i];
		struct json_object *json = append(out, array);

		if (!json)
			break;
		json_out_string(out, json, "path", file->path);
		json_out_u64(out, json, "opens", file->opens);
		json_out_u64(out, json, "reads", file->reads);
		json_out_u64(out, json, "writes", file->writes);
		json_out_u64(out, json, "others", file->others);
		json_out_u64(out, json, "bytes_read", file->bytes_read);
		json_out_u64(out, json, "bytes_written", file->bytes_written);
		json_out_u64(out, json, "total_ns", file->total_ns);
	}
	return array;
}

static struct json_object *stacks_json(struct json_out *out, const struct view_calls *calls)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < calls->n_callers; i++) {
		const struct view_caller *caller = calls->callers[i];
		struct json_object *json = append(out, array);

		if (!json)
			break;
		json_out_add(out, json, "number", json_object_new_int64(caller->number));
		json_out_string(out, json, "name", caller->name);
		json_out_u64(out, json, "calls", caller->calls);
		json_out_u64(out, json, "total_ns", caller->total_ns);
		json_add_stack(out, json, "stack_id", true, &caller->stack);
	}
	return array;
}

static void put_process(struct json_out *out, const struct view_calls *calls)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_known(out, json, "pid", calls->image->known, calls->image->pid);
	json_out_string(out, json, "comm", calls->image->comm);
	json_out_add(out, json, "calls", calls_json(out, calls));
	json_out_add(out, json, "files", files_json(out, calls));
	json_out_add(out, json, "stacks", stacks_json(out, calls));
	json_out_put(out, json);
}

void json_syscalls(struct json_out *out, const struct view *view)
{
	const struct view_syscalls *syscalls = view_syscalls(view);

	fputc('[', out->file);
	for (size_t i = 0; out->error == 0 && i < syscalls->n_processes; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_process(out, &syscalls->processes[i]);
	}
	fputc(']', out->file);
}
