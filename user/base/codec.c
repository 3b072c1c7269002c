/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/codec.h"

#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "FIELD_WIDTH");
_Static_assert(sizeof(bool) == 1 && sizeof(int) == 4, "FIELD_BOOL, FIELD_U32");

/* Lengths that stand for NULL, and for another string of the struct. */
#define NO_STRING UINT32_MAX
#define SAME_STRING (UINT32_MAX - 1)

static const struct field u8_fields[] = { { .kind = FIELD_U8 }, F_END };
static const struct field u32_fields[] = { { .kind = FIELD_U32 }, F_END };
static const struct field u64_fields[] = { { .kind = FIELD_U64 }, F_END };
const struct layout codec_u8 = { "uint8_t", sizeof(uint8_t), u8_fields, NULL };
const struct layout codec_u32 = { "uint32_t", sizeof(uint32_t), u32_fields, NULL };
const struct layout codec_u64 = { "uint64_t", sizeof(uint64_t), u64_fields, NULL };

static uint32_t max_length(const struct field *field)
{
	return field->max ? field->max : SAME_STRING - 1;
}

static const char *string_at(const char *member)
{
	return *(const char *const *)member;
}

static bool is_integer(const struct field *field)
{
	return field->kind <= FIELD_FILE_OFFSET;
}

static bool is_owned_string(const struct field *field)
{
	return field->kind == FIELD_COPY || field->kind == FIELD_OPTIONAL_COPY;
}

static bool may_be_null(const struct field *field)
{
	return field->kind == FIELD_OPTIONAL_STRING || field->kind == FIELD_OPTIONAL_COPY ||
	       field->kind == FIELD_SAME_STRING;
}

static uint64_t count_of(const struct field *field, const char *value)
{
	const char *count = value + field->count;

	switch (field->count_size) {
	case 1:
		return *(const uint8_t *)count;
	case 4:
		return *(const uint32_t *)count;
	default:
		return *(const uint64_t *)count;
	}
}

static void set_integer(char *member, size_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(uint8_t *)member = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)member = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)member = (uint32_t)value;
		break;
	default:
		*(uint64_t *)member = value;
	}
}

/* --- to bytes -------------------------------------------------------------------------------- */

static void write_u32(struct strbuf *out, uint64_t value)
{
	uint32_t number = (uint32_t)value;

	if (value > UINT32_MAX)
		out->error = -EMSGSIZE;
	strbuf_add(out, &number, sizeof(number));
}

static void write_string(struct strbuf *out, const struct field *field, const char *value)
{
	const char *text = string_at(value + field->offset);
	const char *other =
		field->kind == FIELD_SAME_STRING ? string_at(value + field->count) : NULL;
	size_t len = text ? strlen(text) : 0;

	if (text && other && strcmp(text, other) == 0) {
		write_u32(out, SAME_STRING);
		return;
	}
	if (len > max_length(field) && may_be_null(field))
		text = NULL;
	else if (len > max_length(field))
		out->error = -EMSGSIZE;
	write_u32(out, text ? len : NO_STRING);
	if (text)
		strbuf_add(out, text, len + 1);
}

static void write_elements(struct strbuf *out, const struct layout *of, const char *elements,
			   uint64_t n, const void *context)
{
	for (uint64_t i = 0; i < n; i++)
		codec_write(out, of, elements + i * of->size, context);
}

static void write_pointer(struct strbuf *out, const struct layout *of, const void *pointer,
			  const void *context)
{
	strbuf_addch(out, pointer != NULL);
	if (pointer)
		codec_write(out, of, pointer, context);
}

static void write_field(struct strbuf *out, const struct field *field, const char *value,
			const void *context)
{
	const char *member = value + field->offset;

	switch (field->kind) {
	case FIELD_BYTES:
		strbuf_add(out, member, field->max);
		break;
	case FIELD_CODED:
		write_u32(out,
			  string_at(member) ? field->code->number(string_at(member), context) : 0);
		break;
	case FIELD_STRUCT:
		codec_write(out, field->of, member, context);
		break;
	case FIELD_REPEAT:
		write_elements(out, field->of, member, field->max, context);
		break;
	case FIELD_ARRAY:
		write_u32(out, count_of(field, value));
		write_elements(out, field->of, member, count_of(field, value), context);
		break;
	case FIELD_LIST:
		write_u32(out, count_of(field, value));
		write_elements(out, field->of, string_at(member), count_of(field, value), context);
		break;
	case FIELD_POINTER:
		write_pointer(out, field->of, string_at(member), context);
		break;
	case FIELD_LOCAL:
		break;
	default:
		if (is_integer(field))
			strbuf_add(out, member, FIELD_WIDTH(field->kind));
		else
			write_string(out, field, value);
	}
}

void codec_write(struct strbuf *out, const struct layout *layout, const void *from,
		 const void *context)
{
	for (const struct field *f = layout->fields; f->kind; f++)
		write_field(out, f, from, context);
}

/* --- from bytes ------------------------------------------------------------------------------ */

static void read_struct(struct decoder *d, const struct layout *layout, char *to, bool may_end);

static void fail_decoder(struct decoder *d, int error)
{
	if (d->error == 0)
		d->error = error;
}

static size_t bytes_left(const struct decoder *d)
{
	return (size_t)(d->end - d->at);
}

/* The next n bytes, or NULL and an error. */
static const char *read_bytes(struct decoder *d, size_t n)
{
	const char *at = d->at;

	if (n > bytes_left(d))
		fail_decoder(d, -EBADMSG);
	if (d->error < 0)
		return NULL;
	d->at += n;
	return at;
}

static uint64_t read_integer(struct decoder *d, size_t size)
{
	const char *at = read_bytes(d, size);
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	if (!at)
		return 0;
	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		memcpy(&u16, at, 2);
		return d->swap ? bswap_16(u16) : u16;
	case 4:
		memcpy(&u32, at, 4);
		return d->swap ? bswap_32(u32) : u32;
	default:
		memcpy(&u64, at, 8);
		return d->swap ? bswap_64(u64) : u64;
	}
}

static void read_number(struct decoder *d, const struct field *field, char *member)
{
	uint64_t value = read_integer(d, FIELD_WIDTH(field->kind));

	if (field->kind == FIELD_BOOL && d->is_lenient)
		value = value != 0;
	if ((field->kind == FIELD_BOOL && value > 1) || (field->max && value > field->max) ||
	    (field->kind == FIELD_FILE_OFFSET && value && value >= d->file_bytes))
		fail_decoder(d, -EBADMSG);
	else
		set_integer(member, FIELD_WIDTH(field->kind), value);
}

static void copy_string(struct decoder *d, char **member, const char *text)
{
	*member = text ? strdup(text) : NULL;
	if (text && !*member)
		fail_decoder(d, -ENOMEM);
}

static void read_string(struct decoder *d, const struct field *field, char *to)
{
	uint32_t len = (uint32_t)read_integer(d, 4);
	char *member = to + field->offset;
	const char *text = NULL;

	if (field->kind == FIELD_SAME_STRING && len == SAME_STRING) {
		text = string_at(to + field->count);
	} else if (len != NO_STRING && len <= max_length(field)) {
		text = read_bytes(d, (size_t)len + 1);
		if (text && strnlen(text, (size_t)len + 1) != len)
			fail_decoder(d, -EBADMSG);
	} else if (len != NO_STRING) {
		fail_decoder(d, -EBADMSG);
	}
	if (!text && d->is_lenient && !may_be_null(field))
		text = "";
	if (!text && !may_be_null(field))
		fail_decoder(d, -EBADMSG);
	if (d->error < 0)
		return;
	if (is_owned_string(field))
		copy_string(d, (char **)member, text);
	else
		*(const char **)member = text;
}

static void read_coded(struct decoder *d, const struct field *field, char *member)
{
	uint32_t number = (uint32_t)read_integer(d, 4);
	const void *pointer =
		number && d->error == 0 ? field->code->pointer(number, d->context) : NULL;

	if (!pointer && (number || field->max))
		fail_decoder(d, -EBADMSG);
	*(const void **)member = pointer;
}

/* The fewest bytes that such a struct is written as. */
static size_t least_bytes(const struct layout *layout)
{
	size_t n = 0;

	for (const struct field *f = layout->fields; f->kind; f++)
		switch (f->kind) {
		case FIELD_BYTES:
			n += f->max;
			break;
		case FIELD_STRUCT:
			n += least_bytes(f->of);
			break;
		case FIELD_REPEAT:
			n += f->max * least_bytes(f->of);
			break;
		case FIELD_POINTER:
			n += 1;
			break;
		case FIELD_LOCAL:
			break;
		default: /* a length, a count or a number of something is 4 bytes */
			n += is_integer(f) ? FIELD_WIDTH(f->kind) : sizeof(uint32_t);
		}
	return n;
}

/* A number that cannot be true is refused before memory is taken for it. */
static uint32_t read_count(struct decoder *d, const struct field *field)
{
	uint32_t n = (uint32_t)read_integer(d, 4);

	if ((field->max && n > field->max) || n > bytes_left(d) / least_bytes(field->of))
		fail_decoder(d, -EBADMSG);
	return d->error < 0 ? 0 : n;
}

static void read_elements(struct decoder *d, const struct layout *of, char *elements, uint32_t n,
			  bool may_end)
{
	for (uint32_t i = 0; i < n && d->error == 0; i++)
		read_struct(d, of, elements + (size_t)i * of->size, may_end);
}

static void read_list(struct decoder *d, const struct field *field, char *to)
{
	uint32_t n = read_count(d, field);
	char *elements = n > 0 ? calloc((size_t)n + 1, field->of->size) : NULL;

	if (n > 0 && !elements) {
		fail_decoder(d, -ENOMEM);
		return;
	}
	*(char **)(to + field->offset) = elements;
	set_integer(to + field->count, field->count_size, n);
	read_elements(d, field->of, elements, n, false);
}

static void read_array(struct decoder *d, const struct field *field, char *to)
{
	uint32_t n = read_count(d, field);

	set_integer(to + field->count, field->count_size, n);
	read_elements(d, field->of, to + field->offset, n, false);
}

static void read_pointer(struct decoder *d, const struct field *field, char *member)
{
	uint64_t is_there = read_integer(d, 1);
	char *pointer;

	if (is_there > 1)
		fail_decoder(d, -EBADMSG);
	if (d->error < 0 || !is_there)
		return;
	pointer = calloc(1, field->of->size);
	*(char **)member = pointer;
	if (pointer)
		read_struct(d, field->of, pointer, false);
	else
		fail_decoder(d, -ENOMEM);
}

static void read_raw(struct decoder *d, size_t n, char *member)
{
	const char *bytes = read_bytes(d, n);

	if (bytes)
		memcpy(member, bytes, n);
}

static void read_field(struct decoder *d, const struct field *field, char *to, bool may_end)
{
	char *member = to + field->offset;

	switch (field->kind) {
	case FIELD_BYTES:
		read_raw(d, field->max, member);
		break;
	case FIELD_CODED:
		read_coded(d, field, member);
		break;
	case FIELD_STRUCT:
		read_struct(d, field->of, member, may_end);
		break;
	case FIELD_REPEAT:
		read_elements(d, field->of, member, field->max, may_end);
		break;
	case FIELD_ARRAY:
		read_array(d, field, to);
		break;
	case FIELD_LIST:
		read_list(d, field, to);
		break;
	case FIELD_POINTER:
		read_pointer(d, field, member);
		break;
	case FIELD_LOCAL:
		break;
	default:
		if (is_integer(field))
			read_number(d, field, member);
		else
			read_string(d, field, to);
	}
}

/* `may_end`: what follows the last byte is 0 or "", as an older writer did not know it. */
static void read_struct(struct decoder *d, const struct layout *layout, char *to, bool may_end)
{
	for (const struct field *f = layout->fields; f->kind && d->error == 0; f++) {
		bool is_struct = f->kind == FIELD_STRUCT || f->kind == FIELD_REPEAT;

		if (!may_end || d->at < d->end || is_struct)
			read_field(d, f, to, may_end);
		else if (f->kind == FIELD_STRING)
			*(const char **)(to + f->offset) = "";
	}
	if (d->error == 0 && layout->is_sound && !layout->is_sound(to, d->context))
		fail_decoder(d, -EBADMSG);
}

struct decoder decoder_of(const struct strbuf *message)
{
	const char *text = strbuf_str(message);

	return (struct decoder){ .at = text, .end = text + message->len };
}

uint8_t decoder_byte(struct decoder *decoder)
{
	return (uint8_t)read_integer(decoder, 1);
}

void decoder_refuse(struct decoder *decoder)
{
	fail_decoder(decoder, -EBADMSG);
}

void codec_read(struct decoder *decoder, const struct layout *layout, void *to)
{
	memset(to, 0, layout->size);
	read_struct(decoder, layout, to, decoder->is_lenient);
	if (decoder->error < 0) {
		codec_done(layout, to);
		memset(to, 0, layout->size);
	}
}

int decoder_end(const struct decoder *decoder)
{
	if (decoder->error < 0)
		return decoder->error;
	return decoder->at == decoder->end ? 0 : -EBADMSG;
}

int codec_read_all(const struct strbuf *message, const struct layout *layout, void *to)
{
	struct decoder decoder = decoder_of(message);
	int r;

	codec_read(&decoder, layout, to);
	r = decoder_end(&decoder);
	if (r < 0)
		codec_done(layout, to);
	return r;
}

/* --- what is owned --------------------------------------------------------------------------- */

/* How many structs are in the struct itself. */
static uint64_t structs_inside(const struct field *field, const char *value)
{
	switch (field->kind) {
	case FIELD_STRUCT:
		return 1;
	case FIELD_REPEAT:
		return field->max;
	case FIELD_ARRAY:
		return count_of(field, value);
	default:
		return 0;
	}
}

static bool owns_memory(const struct layout *layout)
{
	for (const struct field *f = layout->fields; f->kind; f++)
		if (is_owned_string(f) || f->kind == FIELD_LIST || f->kind == FIELD_POINTER ||
		    ((f->kind == FIELD_STRUCT || f->kind == FIELD_REPEAT ||
		      f->kind == FIELD_ARRAY) &&
		     owns_memory(f->of)))
			return true;
	return false;
}

static void done_elements(const struct layout *of, char *elements, uint64_t n)
{
	if (n == 0 || !owns_memory(of))
		return;
	for (uint64_t i = 0; i < n; i++)
		codec_done(of, elements + i * of->size);
}

static void done_field(const struct field *field, char *value)
{
	char *member = value + field->offset;
	char **pointer = (char **)member;

	if (field->kind == FIELD_LIST) {
		done_elements(field->of, *pointer, count_of(field, value));
		set_integer(value + field->count, field->count_size, 0);
	} else if (field->kind == FIELD_POINTER) {
		done_elements(field->of, *pointer, *pointer != NULL);
	} else if (!is_owned_string(field)) {
		done_elements(field->of, member, structs_inside(field, value));
		return;
	}
	free(*pointer);
	*pointer = NULL;
}

void codec_done(const struct layout *layout, void *value)
{
	for (const struct field *f = layout->fields; f->kind; f++)
		done_field(f, value);
}
