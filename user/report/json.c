/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stable interface, DESIGN.md section 12: one object on one line. json-c makes the values; the
 * arrays of processes and sites are written as they come, or a large run would stand in memory
 * several times.
 */
#include "base/strbuf.h"
#include "report/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <time.h>

struct out {
	FILE *file;
	int error; /* sticks */
};

/* Takes `value` over; NULL: there was no memory for it. */
static void add(struct out *out, struct json_object *to, const char *key, struct json_object *value)
{
	if (!value || json_object_object_add(to, key, value) < 0) {
		json_object_put(value);
		out->error = -ENOMEM;
	}
}

static void add_null(struct out *out, struct json_object *to, const char *key)
{
	if (json_object_object_add(to, key, NULL) < 0)
		out->error = -ENOMEM;
}

static void add_u64(struct out *out, struct json_object *to, const char *key, uint64_t value)
{
	add(out, to, key, json_object_new_uint64(value));
}

static void add_known(struct out *out, struct json_object *to, const char *key, bool known,
		      uint64_t value)
{
	if (known)
		add_u64(out, to, key, value);
	else
		add_null(out, to, key);
}

static void add_bool(struct out *out, struct json_object *to, const char *key, bool value)
{
	add(out, to, key, json_object_new_boolean(value));
}

static struct json_object *new_string(struct out *out, const char *s)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	text_utf8(&text, s);
	if (strbuf_error(&text) < 0)
		out->error = -ENOMEM;
	return json_object_new_string_len(strbuf_str(&text), (int)text.len);
}

static void add_string(struct out *out, struct json_object *to, const char *key, const char *s)
{
	if (s)
		add(out, to, key, new_string(out, s));
	else
		add_null(out, to, key);
}

/* An empty object; when there is none, the error sticks and json-c ignores what is added. */
static struct json_object *new_object(struct out *out)
{
	struct json_object *object = json_object_new_object();

	if (!object)
		out->error = -ENOMEM;
	return object;
}

static void put(struct out *out, struct json_object *value)
{
	const char *text;

	text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		fputs(text, out->file);
	else
		out->error = -ENOMEM;
	json_object_put(value);
}

/* The members of an object without its braces, to be followed by more. */
static void put_members(struct out *out, struct json_object *object)
{
	bool first = true;

	json_object_object_foreach(object, key, value)
	{
		fprintf(out->file, "%s\"%s\":", first ? "" : ",", key);
		first = false;
		put(out, json_object_get(value));
	}
	json_object_put(object);
}

static struct json_object *frame_json(struct out *out, const struct view_frame *frame)
{
	struct json_object *json = new_object(out);
	char addr[24];

	if (!json)
		return NULL;
	snprintf(addr, sizeof(addr), "0x%" PRIx64, frame->place->addr);
	add_string(out, json, "addr", frame->place->has_addr ? addr : NULL);
	add_string(out, json, "function", frame->function);
	add_known(out, json, "offset", frame->has_offset, frame->offset);
	add_string(out, json, "file", frame->file);
	add_known(out, json, "line", frame->line > 0, frame->line);
	add_string(out, json, "object", frame->place->object);
	add_bool(out, json, "inline", frame->is_inline);
	return json;
}

static struct json_object *frames_json(struct out *out, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct json_object *array = json_object_new_array();
	struct view_frame frame;

	while (array && view_frames_next(&it, &frame)) {
		struct json_object *json = frame_json(out, &frame);

		if (!json || json_object_array_add(array, json) < 0) {
			json_object_put(json);
			out->error = -ENOMEM;
		}
	}
	return array;
}

static void put_site(struct out *out, const struct view_site *site)
{
	struct json_object *json = new_object(out);
	bool has_oldest = site->oldest_ns != VIEW_UNKNOWN;
	bool has_newest = site->newest_ns != VIEW_UNKNOWN;
	char id[24];

	if (!json)
		return;
	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	add_string(out, json, "id", id);
	add_string(out, json, "class", site->class == VIEW_MMAP ? "mmap" : "heap");
	add_u64(out, json, "live_bytes", site->live_bytes);
	add_u64(out, json, "live_blocks", site->live_blocks);
	add_u64(out, json, "allocs", site->allocs);
	add_u64(out, json, "bytes", site->bytes);
	add_u64(out, json, "peak_bytes", site->peak_bytes);
	add_known(out, json, "temporary", site->temporary != VIEW_UNKNOWN, site->temporary);
	add_known(out, json, "oldest_ns", has_oldest, site->oldest_ns);
	add_known(out, json, "newest_ns", has_newest, site->newest_ns);
	add_null(out, json, "growth");
	add_null(out, json, "leak");
	add_null(out, json, "estimate");
	add(out, json, "frames", frames_json(out, &site->stack));
	put(out, json);
}

static struct json_object *end_json(struct out *out, const struct model_process *image)
{
	struct json_object *json = new_object(out);
	bool exited = image->how == RECORD_END_EXIT, killed = image->how == RECORD_END_SIGNAL;

	if (!json)
		return NULL;
	add_known(out, json, "exit", exited, image->end_value);
	add_known(out, json, "signal", killed, image->end_value);
	add_bool(out, json, "oom", image->oom);
	return json;
}

static struct json_object *alloc_json(struct out *out, const struct view_process *process)
{
	const struct record_totals *totals = &process->totals;
	const struct {
		const char *key;
		uint64_t value;
	} members[] = {
		{ "allocs", totals->allocs },
		{ "frees", totals->frees },
		{ "failed", totals->failed },
		{ "bytes", totals->bytes },
		{ "live_bytes", totals->live_bytes },
		{ "live_blocks", totals->live_blocks },
		{ "peak_bytes", totals->peak_bytes },
		{ "temporary", totals->temporary },
		{ "missed_frees", totals->missed_frees },
		{ "unknown_frees", totals->unknown_frees },
	};
	struct json_object *json = new_object(out);

	if (!json)
		return NULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		add_known(out, json, members[i].key, process->image->has_totals, members[i].value);
	add_null(out, json, "estimate");
	return json;
}

static void put_process(struct out *out, const struct view_process *process)
{
	const struct model_process *image = process->image;
	struct json_object *json = new_object(out);

	if (!json)
		return;
	add_known(out, json, "pid", image->known, image->pid);
	add_string(out, json, "comm", image->comm);
	add_string(out, json, "exe", image->exe);
	if (image->ended)
		add(out, json, "end", end_json(out, image));
	else
		add_null(out, json, "end");
	add(out, json, "alloc", alloc_json(out, process));
	fputc('{', out->file);
	put_members(out, json);
	fputs(",\"sites\":[", out->file);
	for (size_t i = 0; i < process->n_sites; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_site(out, &process->sites[i]);
	}
	fputs("],\"leaks\":null,\"heap_errors\":[],\"rss\":null}", out->file);
}

static struct json_object *lost_json(struct out *out, const struct record_coverage *coverage)
{
	struct json_object *json = new_object(out);

	for (size_t i = 0; json && coverage && i < coverage->n_losses; i++)
		add_u64(out, json, coverage->losses[i].cause, coverage->losses[i].count);
	return json;
}

static struct json_object *unprobed_json(struct out *out, const struct model *model)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < model_n_unprobed(model); i++) {
		const struct record_unprobed *unprobed = model_unprobed(model, i);
		struct json_object *json = new_object(out);

		if (!json || json_object_array_add(array, json) < 0) {
			json_object_put(json);
			out->error = -ENOMEM;
			break;
		}
		add_string(out, json, "function", unprobed->function);
		add_string(out, json, "object", unprobed->object);
		add_string(out, json, "why", unprobed->why);
	}
	return array;
}

static void put_coverage(struct out *out, const struct view *view)
{
	const struct record_coverage *coverage = model_coverage(view_model(view));
	struct json_object *json = new_object(out);

	if (!json)
		return;
	add_bool(out, json, "exact", view_is_exact(view));
	add_known(out, json, "events", coverage, coverage ? coverage->events : 0);
	add(out, json, "lost", lost_json(out, coverage));
	add_known(out, json, "stacks_complete", coverage, coverage ? coverage->stacks_complete : 0);
	add_known(out, json, "stacks_truncated", coverage,
		  coverage ? coverage->stacks_truncated : 0);
	add(out, json, "unprobed", unprobed_json(out, view_model(view)));
	put(out, json);
}

static void add_start(struct out *out, struct json_object *to, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char date[40], text[64];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%FT%T", &tm) == 0) {
		add_null(out, to, "start");
		return;
	}
	snprintf(text, sizeof(text), "%s.%09" PRIu64 "Z", date, realtime_ns % 1000000000);
	add_string(out, to, "start", text);
}

static void put_head(struct out *out, const struct view *view)
{
	const struct record_run *run = model_run(view_model(view));
	struct json_object *json = new_object(out);
	uint64_t now_ns = view_now_ns(view);

	if (!json)
		return;
	add_u64(out, json, "version", 1);
	add_string(out, json, "tool", run ? run->tool : NULL);
	if (run)
		add_start(out, json, run->start_realtime_ns);
	else
		add_null(out, json, "start");
	add_known(out, json, "elapsed_ns", run && now_ns >= run->start_ns,
		  run ? now_ns - run->start_ns : 0);
	put_members(out, json);
}

int json_write(const struct view *view, FILE *file)
{
	struct out out = { .file = file };

	fputc('{', file);
	put_head(&out, view);
	fputs(",\"processes\":[", file);
	for (size_t i = 0; out.error == 0 && i < view_n_processes(view); i++) {
		if (i > 0)
			fputc(',', file);
		put_process(&out, view_process(view, i));
	}
	fputs("],\"histograms\":[],\"events\":[],\"coverage\":", file);
	put_coverage(&out, view);
	fputs("}\n", file);
	if (out.error < 0)
		return out.error;
	return ferror(file) ? -EIO : 0;
}
