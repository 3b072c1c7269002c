/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_out.h"

#include "base/escape.h"
#include "base/hashmap.h"
#include "base/strbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PLAIN (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

void json_out_add(struct json_out *out, struct json_object *to, const char *key,
		  struct json_object *value)
{
	if (!value || json_object_object_add(to, key, value) < 0) {
		json_object_put(value);
		out->error = -ENOMEM;
	}
}

void json_out_null(struct json_out *out, struct json_object *to, const char *key)
{
	if (json_object_object_add(to, key, NULL) < 0)
		out->error = -ENOMEM;
}

void json_out_u64(struct json_out *out, struct json_object *to, const char *key, uint64_t value)
{
	json_out_add(out, to, key, json_object_new_uint64(value));
}

void json_out_known(struct json_out *out, struct json_object *to, const char *key, bool known,
		    uint64_t value)
{
	if (known)
		json_out_u64(out, to, key, value);
	else
		json_out_null(out, to, key);
}

void json_out_bool(struct json_out *out, struct json_object *to, const char *key, bool value)
{
	json_out_add(out, to, key, json_object_new_boolean(value));
}

struct json_object *json_out_new_string(struct json_out *out, const char *s)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (out->in_html)
		escape_text(&text, s);
	else
		escape_invalid(&text, s);
	if (strbuf_error(&text) < 0)
		out->error = -ENOMEM;
	return json_object_new_string_len(strbuf_str(&text), (int)text.len);
}

struct json_object *json_out_new_real(struct json_out *out, double value)
{
	struct json_object *json;
	char text[400];

	snprintf(text, sizeof(text), "%.3f", value);
	json = json_object_new_double_s(value, text);
	if (!json)
		out->error = -ENOMEM;
	return json;
}

void json_out_string(struct json_out *out, struct json_object *to, const char *key, const char *s)
{
	if (s)
		json_out_add(out, to, key, json_out_new_string(out, s));
	else
		json_out_null(out, to, key);
}

struct json_object *json_out_new(struct json_out *out)
{
	struct json_object *object = json_object_new_object();

	if (!object)
		out->error = -ENOMEM;
	return object;
}

/*
 * The serialized value, in which only strings can have a '<' or what is unsafe for terminals: they
 * are written as numbers, which say the same. json-c has done so with ASCII controls but DEL.
 */
static void put_escaped(const char *text, bool in_html, FILE *file)
{
	const char *begin = text, *end = text + strlen(text);

	for (size_t n; text < end; text += n) {
		uint32_t code;

		n = escape_decode(text, (size_t)(end - text), &code);
		if (n > 0 && !escape_is_unsafe(code) && !(in_html && code == '<'))
			continue;
		fwrite(begin, 1, (size_t)(text - begin), file);
		if (n == 0) { /* no UTF-8: a REPLACEMENT CHARACTER */
			code = 0xfffd;
			n = 1;
		}
		begin = text + n;
		if (code >= 0x10000) /* RFC 8259, 7: as in UTF-16 */
			fprintf(file, "\\u%04" PRIx32 "\\u%04" PRIx32,
				0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
		else
			fprintf(file, "\\u%04" PRIx32, code);
	}
	fwrite(begin, 1, (size_t)(end - begin), file);
}

void json_out_put(struct json_out *out, struct json_object *value)
{
	const char *text;

	text = json_object_to_json_string_ext(value, PLAIN);
	if (!text)
		out->error = -ENOMEM;
	else
		put_escaped(text, out->in_html, out->file);
	json_object_put(value);
}

void json_out_put_members(struct json_out *out, struct json_object *object)
{
	bool first = true;

	json_object_object_foreach(object, key, value)
	{
		fprintf(out->file, "%s\"%s\":", first ? "" : ",", key);
		first = false;
		json_out_put(out, json_object_get(value));
	}
	json_object_put(object);
}

void json_out_address(struct json_out *out, struct json_object *to, const char *key, bool known,
		      uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_out_string(out, to, key, known ? text : NULL);
}

static struct json_object *frame_json(struct json_out *out, const struct view_frame *frame)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_address(out, json, "addr", frame->place->has_addr, frame->place->addr);
	json_out_string(out, json, "function", frame->function);
	json_out_known(out, json, "offset", frame->has_offset, frame->offset);
	json_out_string(out, json, "file", frame->file);
	json_out_known(out, json, "line", frame->line > 0, frame->line);
	json_out_string(out, json, "object", frame->place->object);
	json_out_bool(out, json, "inline", frame->is_inline);
	return json;
}

/* A place, with its frames as one value. */
struct json_place {
	const struct view_place *place;
	struct json_object *frames;
};

static uint64_t place_hash(const void *item)
{
	return hash_u64((uintptr_t)((const struct json_place *)item)->place);
}

static bool place_equal(const void *a, const void *b)
{
	return ((const struct json_place *)a)->place == ((const struct json_place *)b)->place;
}

static void place_free(void *item)
{
	struct json_place *place = item;

	json_object_put(place->frames);
	free(place);
}

static const struct hashmap_ops place_ops = { place_hash, place_equal, place_free };

void json_out_done(struct json_out *out)
{
	hashmap_free(out->places);
	out->places = NULL;
}

/* A json_object_to_json_string_fn. */
static int put_text(struct json_object *json, struct printbuf *to, int level, int flags)
{
	const char *text = json_object_get_userdata(json);

	(void)level;
	(void)flags; /* always plain */
	return printbuf_memappend(to, text, (int)strlen(text));
}

static void add_frames(struct json_out *out, const struct view_place *place, struct strbuf *text)
{
	const struct view_stack stack = { .n_places = 1, .places = &place };
	struct view_frames it = { .stack = &stack };
	struct view_frame frame;

	while (view_frames_next(&it, &frame)) {
		struct json_object *json = frame_json(out, &frame);

		if (text->len > 0)
			strbuf_addch(text, ',');
		strbuf_adds(text, json ? json_object_to_json_string_ext(json, PLAIN) : "");
		json_object_put(json);
	}
}

/* Its frames as text, where an array has one element; NULL: no memory. */
static struct json_object *new_text(struct json_out *out, const struct view_place *place)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct json_object *json;
	char *copy;

	add_frames(out, place, &text);
	copy = strbuf_error(&text) < 0 ? NULL : strdup(strbuf_str(&text));
	json = copy ? json_object_new_int(0) : NULL;
	if (json)
		json_object_set_serializer(json, put_text, copy, json_object_free_userdata);
	else
		free(copy);
	return json;
}

/* Another reference to the place's frames; NULL: no memory. */
static struct json_object *place_json(struct json_out *out, const struct view_place *place)
{
	const struct json_place key = { .place = place };
	struct json_place *found;

	if (!out->places && hashmap_new(&place_ops, &out->places) < 0)
		return NULL;
	found = hashmap_find(out->places, &key);
	if (found)
		return json_object_get(found->frames);
	found = malloc(sizeof(*found));
	if (!found)
		return NULL;
	*found = (struct json_place){ place, new_text(out, place) };
	if (found->frames && hashmap_insert(out->places, found) == 0)
		return json_object_get(found->frames);
	place_free(found);
	return NULL;
}

struct json_object *json_out_frames(struct json_out *out, const struct view_stack *stack)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < stack->n_places; i++) {
		struct json_object *json = place_json(out, stack->places[i]);

		if (!json || json_object_array_add(array, json) < 0) {
			json_object_put(json);
			out->error = -ENOMEM;
		}
	}
	return array;
}

void json_out_stack(struct json_out *out, struct json_object *to, const char *key, bool known,
		    const struct view_stack *stack)
{
	if (known)
		json_out_add(out, to, key, json_out_frames(out, stack));
	else
		json_out_null(out, to, key);
}
