/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_parts.h"

#include "config/event_spec.h"
#include "report/json/json_stacks.h"
#include "report/text/text.h"

#include <errno.h>
#include <string.h>

/* An open end is null. */
static void add_bound(struct json_out *out, struct json_object *to, const char *key, int64_t value,
		      int64_t open)
{
	if (value == open)
		json_out_null(out, to, key);
	else
		json_out_add(out, to, key, json_object_new_int64(value));
}

static struct json_object *buckets_json(struct json_out *out, const struct record_bucket *buckets,
					size_t n)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < n; i++) {
		const struct record_bucket *bucket = &buckets[i];
		struct json_object *json = json_out_push_new(out, array);

		add_bound(out, json, "lo", bucket->lo, INT64_MIN);
		add_bound(out, json, "hi", bucket->hi, INT64_MAX);
		json_out_u64(out, json, "count", bucket->count);
	}
	return array;
}

static struct json_object *errors_json(struct json_out *out,
				       const struct record_hist_counts *counts)
{
	struct json_object *json = json_out_new(out);
	char name[TEXT_ERRNO_LEN];

	for (size_t i = 0; i < counts->n_errors; i++)
		json_out_u64(out, json, text_errno(counts->errors[i].number, name),
			     counts->errors[i].count);
	return json;
}

static void add_counts(struct json_out *out, struct json_object *to, const struct view_group *group)
{
	json_out_u64(out, to, "count", group->count);
	json_out_add(out, to, "buckets",
		     buckets_json(out, group->counts->buckets, group->counts->n_buckets));
	json_out_add(out, to, "errors", errors_json(out, group->counts));
}

struct json_object *json_counts_group(struct json_out *out, const struct view_group *group)
{
	struct json_object *json = json_out_new(out);

	if (json)
		add_counts(out, json, group);
	return json;
}

/* What a spec is about decides what could have been counted beside its values. */
static enum hist_what what_of(struct json_out *out, const char *text)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct hist_spec spec;
	enum hist_what what = HIST_FIELD;
	int r = hist_spec_parse(text, &spec, &error);

	if (r == 0) {
		what = spec.what;
		hist_spec_done(&spec);
	} else if (r == -ENOMEM) {
		out->error = r;
	}
	return what;
}

static void put_group(struct json_out *out, const struct record_histogram *asked,
		      const struct view_group *group, enum hist_what what)
{
	const struct record_hist_counts *counts = group->counts;
	bool is_syscall =
		what == HIST_SYSCALL_RESULT || what == HIST_SYSCALL_ARG || what == HIST_SYSCALL_NS;
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "spec", asked->spec);
	json_out_string(out, json, "unit", asked->unit);
	json_out_string(out, json, "key", counts->key);
	add_counts(out, json, group);
	json_out_known(out, json, "restarted", is_syscall || counts->restarted > 0,
		       counts->restarted);
	json_out_known(out, json, "passed_on", what == HIST_ALLOC || counts->passed_on > 0,
		       counts->passed_on);
	json_out_put(out, json);
}

void json_histograms(struct json_out *out, const struct view *view)
{
	/* A histogram that counted nothing is there all the same, as one without a group. */
	static const struct record_hist_counts none = { 0 };
	static const struct view_group nothing = { .counts = &none };
	bool first = true;

	fputc('[', out->file);
	for (size_t i = 0; i < view_n_histograms(view); i++) {
		const struct view_histogram *histogram = view_histogram(view, i);
		const struct view_group *groups = histogram->groups;
		size_t n = histogram->n_groups;
		enum hist_what what = what_of(out, histogram->asked->spec);

		if (n == 0) {
			groups = &nothing;
			n = 1;
		}
		for (size_t j = 0; j < n; j++, first = false) {
			if (!first)
				fputc(',', out->file);
			put_group(out, histogram->asked, &groups[j], what);
		}
	}
	fputc(']', out->file);
}

/* Of page faults: what the samples stand for, and how far that can be off. */
static void add_weight(struct json_out *out, struct json_object *json,
		       const struct view_event *event, uint64_t weight, uint64_t ci95)
{
	bool weighs = view_event_weighs(event);

	json_out_known(out, json, "weight", weighs, weight);
	json_out_known(out, json, "ci95_weight", weighs, ci95);
}

static void put_stack(struct json_out *out, const struct view_event *event,
		      const struct view_event_stack *stack)
{
	struct json_object *json = json_out_new(out);

	json_out_known(out, json, "pid", stack->image->known, stack->image->pid);
	json_out_string(out, json, "comm", stack->image->comm);
	json_out_u64(out, json, "count", stack->count);
	json_out_known(out, json, "ns", event->asked->timed, stack->ns);
	add_weight(out, json, event, stack->weight, view_event_stack_ci95(event, stack));
	json_add_stack(out, json, "stack_id", true, &stack->stack);
	json_add_name_frame(out, json, &stack->stack);
	json_out_put(out, json);
}

static void put_event(struct json_out *out, const struct view_event *event)
{
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "name", event->asked->name);
	json_out_u64(out, json, "count", event->count);
	json_out_known(out, json, "period_ns", event->asked->period_ns > 0,
		       event->asked->period_ns);
	json_out_known(out, json, "period", event->asked->period > 0, event->asked->period);
	json_out_known(out, json, "longest_period", event->asked->adapts, event->interval);
	json_out_known(out, json, "ns", event->asked->timed, event->ns);
	add_weight(out, json, event, event->weight, view_event_ci95(event));
	fputc('{', out->file);
	json_out_put_members(out, json);
	fputs(",\"stacks\":[", out->file);
	for (size_t i = 0; i < event->n_stacks; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_stack(out, event, &event->stacks[i]);
	}
	fputs("]}", out->file);
}

void json_events(struct json_out *out, const struct view *view)
{
	fputc('[', out->file);
	for (size_t i = 0; out->error == 0 && i < view_n_events(view); i++) {
		if (i > 0)
			fputc(',', out->file);
		put_event(out, view_event(view, i));
	}
	fputc(']', out->file);
}

static struct json_object *errnos_json(struct json_out *out, const struct record_syscall *sum)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < sum->n_errnos; i++) {
		struct json_object *json = json_out_push_new(out, array);

		json_out_u64(out, json, "errno", sum->errnos[i].number);
		json_out_string(out, json, "name", strerrorname_np((int)sum->errnos[i].number));
		json_out_u64(out, json, "count", sum->errnos[i].count);
	}
	return array;
}

static struct json_object *calls_json(struct json_out *out, const struct view_calls *calls)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < calls->n_calls; i++) {
		const struct view_call *call = &calls->calls[i];
		const struct record_syscall *sum = &call->sum;
		struct json_object *json = json_out_push_new(out, array);
		bool timed = call->timed > 0;

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
		json_out_add(out, json, "latency_ns",
			     buckets_json(out, sum->buckets, sum->n_buckets));
	}
	return array;
}

static struct json_object *files_json(struct json_out *out, const struct view_calls *calls)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < calls->n_files; i++) {
		const struct record_syscall_file *file = &calls->files[i];
		struct json_object *json = json_out_push_new(out, array);

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

	for (size_t i = 0; i < calls->n_callers; i++) {
		const struct view_caller *caller = calls->callers[i];
		struct json_object *json = json_out_push_new(out, array);

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
