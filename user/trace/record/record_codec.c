/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record/record_codec.h"

#include "base/vec.h"
#include "trace/record/record_layout.h"

#include <assert.h>
#include <byteswap.h>
#include <errno.h>
#include <string.h>

/* --- to bytes --- */

#define NO_STRING UINT32_MAX

static void encode_fields(struct strbuf *out, const struct field *fields, const void *from);

static void encode_u32(struct strbuf *out, uint32_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

/* Length, bytes and a NUL, so that a reader can use it where it is. */
static void encode_string(struct strbuf *out, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len >= NO_STRING)
		out->error = -ENOMEM;
	encode_u32(out, s ? (uint32_t)len : NO_STRING);
	if (s)
		strbuf_add(out, s, len + 1);
}

static void encode_list(struct strbuf *out, const struct field *field, const char *from)
{
	const struct list_kind *kind = record_list_kind(field->kind);
	size_t n = *(const size_t *)(from + field->count);
	const char *data = *(const char *const *)(from + field->offset);

	if (n >= UINT32_MAX)
		out->error = -ENOMEM;
	encode_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		encode_fields(out, kind->fields, data + i * kind->size);
}

static void encode_fields(struct strbuf *out, const struct field *fields, const void *from)
{
	for (const struct field *f = fields; f->kind; f++) {
		const char *member = (const char *)from + f->offset;

		switch (f->kind) {
		case FIELD_U8:
		case FIELD_BOOL:
			strbuf_add(out, member, 1);
			break;
		case FIELD_U16:
			strbuf_add(out, member, 2);
			break;
		case FIELD_U32:
			strbuf_add(out, member, 4);
			break;
		case FIELD_U64:
			strbuf_add(out, member, 8);
			break;
		case FIELD_BYTES_20:
			strbuf_add(out, member, RECORD_BUILD_ID_MAX);
			break;
		case FIELD_STRING:
		case FIELD_OPTIONAL_STRING:
			encode_string(out, *(const char *const *)member);
			break;
		default:
			encode_list(out, f, from);
		}
	}
}

int record_encode(const struct record *record, struct strbuf *out)
{
	const struct record_layout *layout = record_layout_find(record->type);

	if (!layout)
		return -EINVAL;
	encode_fields(out, layout->fields, (const char *)record + layout->offset);
	return strbuf_error(out);
}

/* --- from bytes --- */

struct record_decoder {
	bool swap;
	int error; /* of the payload at hand; sticks */
	const char *pos, *end;
	struct {
		char *data;
		size_t size;   /* bytes */
	} lists[RECORD_LISTS]; /* elements of the payload at hand, in the order of its lists */
	size_t n_lists;	       /* of the record at hand, so far */
};

int record_decoder_new(bool swap, struct record_decoder **ret_decoder)
{
	struct record_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	decoder->swap = swap;
	*ret_decoder = decoder;
	return 0;
}

void record_decoder_free(struct record_decoder *decoder)
{
	if (!decoder)
		return;
	for (size_t i = 0; i < RECORD_LISTS; i++)
		free(decoder->lists[i].data);
	free(decoder);
}

/* The next n bytes, or NULL and an error. */
static const char *take(struct record_decoder *d, size_t n)
{
	const char *at = d->pos;

	if (d->error == 0 && (size_t)(d->end - d->pos) < n)
		d->error = -EBADMSG;
	if (d->error < 0)
		return NULL;
	d->pos += n;
	return at;
}

static uint64_t take_integer(struct record_decoder *d, size_t n)
{
	const char *at = take(d, n);
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	if (!at)
		return 0;
	switch (n) {
	case 1:
		memcpy(&u8, at, 1);
		return u8;
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

static const char *take_string(struct record_decoder *d)
{
	uint32_t len = take_integer(d, 4);
	const char *s;

	if (d->error < 0 || len == NO_STRING)
		return NULL;
	s = take(d, (size_t)len + 1);
	if (s && (s[len] != '\0' || memchr(s, '\0', len)))
		d->error = -EBADMSG;
	return d->error < 0 ? NULL : s;
}

static void decode_fields(struct record_decoder *d, const struct field *fields, void *to,
			  bool may_end);

/* Room for n elements of the record's next list; -ENOMEM. */
static int reserve_list(struct record_decoder *d, enum field_kind kind, size_t n, char **ret_data)
{
	size_t i = d->n_lists++, size = n * record_list_kind(kind)->size;
	char *data;

	assert(i < RECORD_LISTS);
	if (size > d->lists[i].size) {
		data = realloc(d->lists[i].data, size);
		if (!data)
			return -ENOMEM;
		d->lists[i].data = data;
		d->lists[i].size = size;
	}
	*ret_data = d->lists[i].data;
	return 0;
}

static void decode_list(struct record_decoder *d, const struct field *field, char *to)
{
	const struct list_kind *kind = record_list_kind(field->kind);
	size_t n = take_integer(d, 4);
	char *data = NULL;

	/* A number that cannot fit is refused before memory is taken for it. */
	if (d->error == 0 && n > (size_t)(d->end - d->pos) / kind->min_size)
		d->error = -EBADMSG;
	if (d->error == 0)
		d->error = reserve_list(d, field->kind, n, &data);
	if (d->error < 0)
		return;
	if (n > 0)
		memset(data, 0, n * kind->size);
	for (size_t i = 0; i < n; i++)
		decode_fields(d, kind->fields, data + i * kind->size, false);
	*(size_t *)(to + field->count) = n;
	memcpy(to + field->offset, &data, sizeof(data));
}

static void decode_field(struct record_decoder *d, const struct field *f, char *to)
{
	char *member = to + f->offset;
	const char *bytes, *text;

	switch (f->kind) {
	case FIELD_U8:
		*(uint8_t *)member = take_integer(d, 1);
		break;
	case FIELD_BOOL:
		*(bool *)member = take_integer(d, 1) != 0;
		break;
	case FIELD_U16:
		*(uint16_t *)member = take_integer(d, 2);
		break;
	case FIELD_U32:
		*(uint32_t *)member = take_integer(d, 4);
		break;
	case FIELD_U64:
		*(uint64_t *)member = take_integer(d, 8);
		break;
	case FIELD_BYTES_20:
		bytes = take(d, RECORD_BUILD_ID_MAX);
		if (bytes)
			memcpy(member, bytes, RECORD_BUILD_ID_MAX);
		break;
	case FIELD_STRING:
		text = take_string(d);
		*(const char **)member = text ? text : "";
		break;
	case FIELD_OPTIONAL_STRING:
		*(const char **)member = take_string(d);
		break;
	default:
		decode_list(d, f, to);
	}
}

/* What an older writer did not know: zero, as all is before it is read. */
static void leave_out(const struct field *f, char *to)
{
	for (; f->kind; f++)
		if (f->kind == FIELD_STRING)
			*(const char **)(to + f->offset) = "";
}

static void decode_fields(struct record_decoder *d, const struct field *fields, void *to,
			  bool may_end)
{
	for (const struct field *f = fields; f->kind && d->error == 0; f++) {
		if (may_end && d->pos == d->end) {
			leave_out(f, to);
			return;
		}
		decode_field(d, f, to);
	}
}

/* What the types of C cannot hold, or would make readers fail. */
static bool is_sound(const struct record *record)
{
	switch (record->type) {
	case RECORD_PROCESS_END:
		return record->process_end.how <= RECORD_END_HIDDEN;
	case RECORD_PROCESS:
		return record->process.depth <= RECORD_DEPTH_GROWTH;
	case RECORD_DEPTH:
		return record->depth_change.depth <= RECORD_DEPTH_GROWTH;
	case RECORD_MAPPING:
		return record->mapping.build_id_len <= RECORD_BUILD_ID_MAX;
	default:
		return true;
	}
}

int record_decode(struct record_decoder *decoder, uint32_t type, const void *payload, size_t len,
		  struct record *ret_record)
{
	const struct record_layout *layout = record_layout_find(type);

	if (!layout)
		return -ENOENT;
	decoder->error = 0;
	decoder->n_lists = 0;
	decoder->pos = len > 0 ? payload : "";
	decoder->end = decoder->pos + len;
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->type = type;
	decode_fields(decoder, layout->fields, (char *)ret_record + layout->offset, true);
	if (decoder->error == 0 && !is_sound(ret_record))
		decoder->error = -EBADMSG;
	return decoder->error;
}
