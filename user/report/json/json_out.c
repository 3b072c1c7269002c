/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_out.h"

#include "base/escape.h"
#include "base/strbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PLAIN (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

void json_out_add(struct json_out *out, struct json_object *to, const char *key,
		  struct json_object *value)
{
	if (to && value && json_object_object_add(to, key, value) == 0)
		return;
	json_object_put(value);
	out->error = -ENOMEM;
}

void json_out_push(struct json_out *out, struct json_object *to, struct json_object *value)
{
	if (to && value && json_object_array_add(to, value) == 0)
		return;
	json_object_put(value);
	out->error = -ENOMEM;
}

void json_out_add_or_null(struct json_out *out, struct json_object *to, const char *key,
			  struct json_object *value)
{
	if (value)
		json_out_add(out, to, key, value);
	else
		json_out_null(out, to, key);
}

void json_out_null(struct json_out *out, struct json_object *to, const char *key)
{
	if (!to || json_object_object_add(to, key, NULL) < 0)
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

void json_out_push_null(struct json_out *out, struct json_object *to)
{
	if (!to || json_object_array_add(to, NULL) < 0)
		out->error = -ENOMEM;
}

struct json_object *json_out_push_new(struct json_out *out, struct json_object *to)
{
	struct json_object *object = to ? json_out_new(out) : NULL;

	if (object && json_object_array_add(to, object) == 0)
		return object;
	json_object_put(object);
	out->error = -ENOMEM;
	return NULL;
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

	if (!object)
		return;
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
