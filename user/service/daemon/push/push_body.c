/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_body.h"

#include "base/clock.h"
#include "base/escape.h"
#include "report/otlp/otlp.h"
#include "report/text/text.h"
#include "service/http/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define PID_LEN 16

static int add_label(struct push_labels *labels, const char *name, const char *attribute,
		     const char *value)
{
	_cleanup_strbuf_ struct strbuf text = {};
	struct push_labels_row row = { .name = name, .attribute = attribute };
	int r;

	if (!value || *value == '\0')
		return 0;
	escape_text(&text, value);
	if (strbuf_error(&text))
		return -ENOMEM;
	row.value = TAKE_PTR(text.data);
	r = vec_push(&labels->rows, row);
	if (r < 0)
		free(row.value);
	return r;
}

/* The configuration's come in place of ours. */
static int add_configured(struct push_labels *labels, const struct push_label *label)
{
	size_t len = labels->rows.len;
	int r = add_label(labels, label->name, label->name, label->value);

	for (size_t i = 0; r == 0 && i < len; i++) {
		struct push_labels_row *row = &labels->rows.data[i], *last;

		if (strcmp(row->name, label->name) != 0)
			continue;
		last = &labels->rows.data[--labels->rows.len];
		free(row->value);
		row->value = last->value;
		row->is_number = false;
		return 0;
	}
	return r;
}

/* "nginx" of "nginx.service"; else NULL. In a container the unit is the container. */
static const char *of_unit(const struct cgroup_place *place, char name[CGROUP_NAME_LEN])
{
	static const char end[] = ".service";
	const char *unit = *place->user_unit ? place->user_unit : place->unit;
	size_t len = strlen(unit);

	if (*place->container || len <= strlen(end) || strcmp(unit + len - strlen(end), end) != 0)
		return NULL;
	len -= strlen(end);
	memcpy(name, unit, len);
	name[len] = '\0';
	return name;
}

int push_labels_make(const struct push_process *process, const struct push_target *target,
		     struct push_labels *labels)
{
	const struct cgroup_place *place = process->place;
	char pid[PID_LEN], unit[CGROUP_NAME_LEN];
	const char *service = target->service ? target->service : of_unit(place, unit);
	const struct {
		const char *name, *attribute, *value;
	} own[] = {
		{ "service_name", "service.name",
		  service	 ? service :
		  *process->comm ? process->comm :
				   "unknown" },
		{ "host", "host.name", process->host },
		{ "pid", "process.pid", pid },
		{ "comm", "process.executable.name", process->comm },
		{ "exe", "process.executable.path", process->exe },
		{ "cgroup", "process.linux.cgroup", process->cgroup },
		{ "slice", "systemd.slice", place->slice },
		{ "unit", "systemd.unit", place->unit },
		{ "user_unit", "systemd.user_unit", place->user_unit },
		{ "container_id", "container.id", place->container },
		{ "container_runtime", "container.runtime.name", place->runtime },
		{ "pod_uid", "k8s.pod.uid", place->pod },
		{ "depth", "memtraced.depth", process->depth },
	};
	int r = 0;

	(void)snprintf(pid, sizeof(pid), "%d", (int)process->pid); /* fits */
	for (size_t i = 0; r == 0 && i < sizeof(own) / sizeof(own[0]); i++)
		r = add_label(labels, own[i].name, own[i].attribute, own[i].value);
	vec_foreach(&labels->rows, row)
		row->is_number = strcmp(row->name, "pid") == 0;
	for (size_t i = 0; r == 0 && i < target->n_labels; i++)
		r = add_configured(labels, &target->labels[i]);
	return r;
}

void push_labels_done(struct push_labels *labels)
{
	vec_foreach(&labels->rows, row)
		free(row->value);
	vec_done(&labels->rows);
}

#define PROFILE_MOST (64U << 20) /* what is larger is no profile that a server takes */
#define WHY_MOST 200

/* --- Pyroscope ------------------------------------------------------------------------------- */

/* "service{name=value,...}", in which some characters have no place (its labelset.Parse). */
static void add_pyroscope_name(const struct push_labels *labels, struct strbuf *out)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-/";
	const struct push_labels_row *rows = labels->rows.data;

	for (const char *at = rows[0].value; *at; at++)
		strbuf_addch(out, strchr(allowed, *at) ? *at : '_');
	strbuf_addch(out, '{');
	for (size_t i = 1; i < labels->rows.len; i++) {
		strbuf_addf(out, "%s%s=", i > 1 ? "," : "", rows[i].name);
		for (const char *at = rows[i].value; *at; at++)
			strbuf_addch(out, strchr(",{}", *at) ? '_' : *at);
	}
	strbuf_addch(out, '}');
}

/* A level's length is not known there, but a time must be given. */
static int make_pyroscope(const struct profile_part_time *time, const struct push_labels *labels,
			  struct strbuf *profile, struct push_item *item)
{
	_cleanup_strbuf_ struct strbuf name = {};

	add_pyroscope_name(labels, &name);
	strbuf_adds(&item->path, "/ingest?format=pprof&spyName=memtraced&name=");
	escape_query(&item->path, strbuf_str(&name));
	strbuf_addf(&item->path, "&from=%" PRIu64 "&until=%" PRIu64, time->start_ns / SECOND_NS,
		    (time->start_ns + time->length_ns) / SECOND_NS);
	item->body = *profile;
	*profile = (struct strbuf){};
	return strbuf_error(&name);
}

/* --- Parca ----------------------------------------------------------------------------------- */

/* RFC 4648, section 4. */
static void add_base64(struct strbuf *out, const struct strbuf *data)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const unsigned char *at = (const unsigned char *)data->data;

	for (size_t left = data->len; left > 0; left -= left < 3 ? left : 3, at += 3) {
		uint32_t three = (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0) |
				 (left > 2 ? at[2] : 0);
		const char four[] = { digits[three >> 18], digits[three >> 12 & 63],
				      left > 1 ? digits[three >> 6 & 63] : '=',
				      left > 2 ? digits[three & 63] : '=' };

		strbuf_add(out, four, sizeof(four));
	}
}

static int add_string(struct strbuf *out, const char *text)
{
	struct json_object *string = json_object_new_string(text);

	if (!string)
		return -ENOMEM;
	strbuf_adds(out, json_object_to_json_string_ext(string, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(string);
	return 0;
}

static int add_parca_label(struct strbuf *out, const char *name, const char *value)
{
	int r;

	strbuf_adds(out, "{\"name\":");
	r = add_string(out, name);
	strbuf_adds(out, ",\"value\":");
	if (r == 0)
		r = add_string(out, value);
	strbuf_addch(out, '}');
	return r;
}

/* The name by which Parca shows profiles of this kind. */
static int make_parca(enum push_profile kind, const struct push_labels *labels,
		      const struct strbuf *profile, struct push_item *item)
{
	struct strbuf *out = &item->body;
	int r;

	strbuf_adds(&item->path, "/profiles/writeraw");
	strbuf_adds(out, "{\"series\":[{\"labels\":{\"labels\":[");
	r = add_parca_label(out, "__name__", kind == PUSH_CPU ? "process_cpu" : "memory");
	for (size_t i = 0; r == 0 && i < labels->rows.len; i++) {
		strbuf_addch(out, ',');
		r = add_parca_label(out, labels->rows.data[i].name, labels->rows.data[i].value);
	}
	strbuf_adds(out, "]},\"samples\":[{\"rawProfile\":\"");
	add_base64(out, profile);
	strbuf_adds(out, "\"}]}]}");
	return r;
}

/* --- OTLP ------------------------------------------------------------------------------------ */

/* As write_profile. */
static int write_otlp(const struct view *view, const struct profile_part *part,
		      const struct push_labels *labels, FILE *file)
{
	struct otlp_attribute *attributes = calloc(labels->rows.len, sizeof(*attributes));
	int r;

	if (!attributes)
		return -ENOMEM;
	for (size_t i = 0; i < labels->rows.len; i++) {
		const struct push_labels_row *row = &labels->rows.data[i];

		attributes[i] =
			(struct otlp_attribute){ row->attribute, row->value, row->is_number };
	}
	r = otlp_write_part(view, part, attributes, labels->rows.len, file);
	free(attributes);
	return r;
}

/* --- requests -------------------------------------------------------------------------------- */

/* 1; 0: there are no samples; -ENOMEM or -EIO. */
static int write_profile(enum push_to to, const struct view *view, const struct profile_part *part,
			 const struct push_labels *labels, struct strbuf *out)
{
	struct answer_stream stream = { .body = out, .most = PROFILE_MOST };
	FILE *file = answer_stream_open(&stream);
	int r;

	if (!file)
		return -ENOMEM;
	r = to == PUSH_OTLP ? write_otlp(view, part, labels, file) :
			      pprof_write_part(view, part, file);
	return fclose(file) != 0 && r >= 0 ? -EIO : r;
}

static int fill_item(enum push_to to, const struct view *view, const struct profile_part *part,
		     const struct push_labels *labels, struct push_item *item)
{
	struct profile_part_time time = profile_part_time(view, part);
	_cleanup_strbuf_ struct strbuf profile = {};
	int made = write_profile(to, view, part, labels, &profile), r = 0;

	if (made <= 0)
		return made;
	switch (to) {
	case PUSH_PYROSCOPE:
		r = make_pyroscope(&time, labels, &profile, item);
		break;
	case PUSH_PARCA:
		r = make_parca(part->kind, labels, &profile, item);
		break;
	case PUSH_OTLP:
		strbuf_adds(&item->path, "/v1development/profiles");
		item->body = profile;
		profile = (struct strbuf){};
		break;
	}
	if (r == 0 && (strbuf_error(&item->path) || strbuf_error(&item->body)))
		r = -ENOMEM;
	return r < 0 ? r : 1;
}

int push_body_make(enum push_to to, const struct view *view, const struct profile_part *part,
		   const struct push_labels *labels, struct push_item **ret_item)
{
	struct push_item *item = calloc(1, sizeof(*item));
	int r = item ? fill_item(to, view, part, labels, item) : -ENOMEM;

	if (r == 1)
		*ret_item = item;
	else
		push_item_free(item);
	return r;
}

const char *const *push_body_headers(enum push_to to)
{
	static const char *const headers[][4] = {
		[PUSH_PYROSCOPE] = { "Content-Type: application/octet-stream" },
		[PUSH_PARCA] = { "Content-Type: application/json" },
		[PUSH_OTLP] = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
	};

	return headers[to];
}

/* --- answers --------------------------------------------------------------------------------- */

/*
 * RFC 6585 and 9110: too many requests, and whatever is wrong with the server; of the latter OTLP's
 * specification names those that may be tried again.
 */
static bool is_for_now(enum push_to to, long status)
{
	if (to == PUSH_OTLP)
		return status == 429 || (status >= 502 && status <= 504);
	return status == 429 || status >= 500;
}

/* What is left out must not be sent again either. */
static enum push_result read_success(enum push_to to, const struct strbuf *answer,
				     struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf words = {}, text = {};

	if (to != PUSH_OTLP || otlp_answer_rejected(answer, &words) == 0)
		return PUSH_SENT;
	escape_text(&text, strbuf_str(&words));
	strbuf_adds(why, "it rejects a part: ");
	text_clip(why, strbuf_str(&text), WHY_MOST);
	return PUSH_REJECTED;
}

enum push_result push_answer_read(enum push_to to, long status, const struct strbuf *answer,
				  struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = {};

	if (status == 0)
		return PUSH_FAILED;
	if (status >= 200 && status < 300)
		return read_success(to, answer, why);
	escape_text(&text, strbuf_str(answer));
	strbuf_addf(why, "it answers with status %ld%s", status, text.len > 0 ? ": " : "");
	text_clip(why, strbuf_str(&text), WHY_MOST);
	return is_for_now(to, status) ? PUSH_REFUSED : PUSH_REJECTED;
}
