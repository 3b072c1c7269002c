/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record_codec.h"

#include "base/vec.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>

_Static_assert(sizeof(bool) == 1, "FIELD_BOOL");
_Static_assert(sizeof(int) == 4 && sizeof(enum record_end) == 4, "FIELD_U32");

enum field_kind {
	FIELD_U8 = 1,
	FIELD_BOOL,
	FIELD_U16,
	FIELD_U32, /* also int and enum */
	FIELD_U64, /* also int64_t */
	FIELD_STRING,
	FIELD_BYTES_20, /* RECORD_BUILD_ID_MAX bytes as they are */
	FIELD_ADDRESSES,
	FIELD_LOSSES,
	FIELD_FRAMES,
};

struct field {
	uint16_t offset; /* in the struct; of the pointer, for arrays */
	uint16_t count;	 /* arrays: where their number of elements is */
	uint8_t kind;
};

#define F(type, member, kind)                                                                      \
	{                                                                                          \
		offsetof(struct type, member), 0, kind                                             \
	}
#define ARRAY(type, member, n, kind)                                                               \
	{                                                                                          \
		offsetof(struct type, member), offsetof(struct type, n), kind                      \
	}
#define END                                                                                        \
	{                                                                                          \
		0, 0, 0                                                                            \
	}

/* In the order of the payload. New fields go to the end. */
static const struct field run_fields[] = {
	F(record_run, tool, FIELD_STRING),
	F(record_run, kernel, FIELD_STRING),
	F(record_run, attach_path, FIELD_STRING),
	F(record_run, start_realtime_ns, FIELD_U64),
	F(record_run, start_ns, FIELD_U64),
	F(record_run, age_resolution_ns, FIELD_U64),
	END,
};
static const struct field function_fields[] = {
	F(record_function, id, FIELD_U16),
	F(record_function, name, FIELD_STRING),
	F(record_function, object, FIELD_STRING),
	F(record_function, file_offset, FIELD_U64),
	END,
};
static const struct field process_fields[] = {
	F(record_process, slot, FIELD_U32),
	F(record_process, pid, FIELD_U32),
	F(record_process, ppid, FIELD_U32),
	F(record_process, parent_slot, FIELD_U32),
	F(record_process, prev_slot, FIELD_U32),
	F(record_process, root, FIELD_BOOL),
	F(record_process, inherits, FIELD_BOOL),
	F(record_process, time_ns, FIELD_U64),
	F(record_process, comm, FIELD_STRING),
	F(record_process, exe, FIELD_STRING),
	END,
};
static const struct field process_end_fields[] = {
	F(record_process_end, slot, FIELD_U32),	   F(record_process_end, how, FIELD_U32),
	F(record_process_end, value, FIELD_U32),   F(record_process_end, oom, FIELD_BOOL),
	F(record_process_end, time_ns, FIELD_U64), END,
};
static const struct field mapping_fields[] = {
	F(record_mapping, slot, FIELD_U32),
	F(record_mapping, start, FIELD_U64),
	F(record_mapping, end, FIELD_U64),
	F(record_mapping, file_offset, FIELD_U64),
	F(record_mapping, time_ns, FIELD_U64),
	F(record_mapping, dev, FIELD_U64),
	F(record_mapping, ino, FIELD_U64),
	F(record_mapping, path, FIELD_STRING),
	F(record_mapping, local_path, FIELD_STRING),
	F(record_mapping, build_id, FIELD_BYTES_20),
	F(record_mapping, build_id_len, FIELD_U8),
	F(record_mapping, executable, FIELD_BOOL),
	END,
};
static const struct field unmapping_fields[] = {
	F(record_unmapping, slot, FIELD_U32),
	F(record_unmapping, start, FIELD_U64),
	F(record_unmapping, end, FIELD_U64),
	F(record_unmapping, time_ns, FIELD_U64),
	END,
};
static const struct field stack_fields[] = {
	F(record_stack, id, FIELD_U64),
	F(record_stack, slot, FIELD_U32),
	F(record_stack, time_ns, FIELD_U64),
	F(record_stack, truncated, FIELD_BOOL),
	ARRAY(record_stack, frames, n_frames, FIELD_ADDRESSES),
	END,
};
static const struct field region_fields[] = {
	F(record_region, slot, FIELD_U32),
	F(record_region, start, FIELD_U64),
	F(record_region, end, FIELD_U64),
	F(record_region, stack, FIELD_U64),
	F(record_region, time_ns, FIELD_U64),
	F(record_region, fn, FIELD_U16),
	END,
};
static const struct field region_gone_fields[] = {
	F(record_region_gone, slot, FIELD_U32),
	F(record_region_gone, start, FIELD_U64),
	F(record_region_gone, end, FIELD_U64),
	F(record_region_gone, time_ns, FIELD_U64),
	END,
};
static const struct field cut_fields[] = {
	F(record_cut, time_ns, FIELD_U64),
	END,
};
static const struct field totals_fields[] = {
	F(record_totals, slot, FIELD_U32),
	F(record_totals, comm, FIELD_STRING),
	F(record_totals, allocs, FIELD_U64),
	F(record_totals, frees, FIELD_U64),
	F(record_totals, failed, FIELD_U64),
	F(record_totals, bytes, FIELD_U64),
	F(record_totals, live_bytes, FIELD_U64),
	F(record_totals, live_blocks, FIELD_U64),
	F(record_totals, peak_bytes, FIELD_U64),
	F(record_totals, peak_error_bytes, FIELD_U64),
	F(record_totals, temporary, FIELD_U64),
	F(record_totals, missed_frees, FIELD_U64),
	F(record_totals, unknown_frees, FIELD_U64),
	F(record_totals, lost, FIELD_U64),
	END,
};
static const struct field site_fields[] = {
	F(record_site, slot, FIELD_U32),	F(record_site, fn, FIELD_U16),
	F(record_site, stack, FIELD_U64),	F(record_site, live_bytes, FIELD_U64),
	F(record_site, live_blocks, FIELD_U64), F(record_site, allocs, FIELD_U64),
	F(record_site, bytes, FIELD_U64),	F(record_site, temporary, FIELD_U64),
	F(record_site, peak_bytes, FIELD_U64),	F(record_site, oldest_ns, FIELD_U64),
	F(record_site, newest_ns, FIELD_U64),	END,
};
static const struct field coverage_fields[] = {
	F(record_coverage, exact, FIELD_BOOL),
	F(record_coverage, events, FIELD_U64),
	F(record_coverage, stacks_complete, FIELD_U64),
	F(record_coverage, stacks_truncated, FIELD_U64),
	ARRAY(record_coverage, losses, n_losses, FIELD_LOSSES),
	END,
};
static const struct field no_fields[] = { END };
static const struct field unprobed_fields[] = {
	F(record_unprobed, function, FIELD_STRING),
	F(record_unprobed, object, FIELD_STRING),
	F(record_unprobed, why, FIELD_STRING),
	END,
};
static const struct field symbol_fields[] = {
	F(record_symbol, object, FIELD_STRING),
	F(record_symbol, dev, FIELD_U64),
	F(record_symbol, ino, FIELD_U64),
	F(record_symbol, slot, FIELD_U32),
	F(record_symbol, file_offset, FIELD_U64),
	F(record_symbol, is_call, FIELD_BOOL),
	F(record_symbol, vaddr, FIELD_U64),
	ARRAY(record_symbol, frames, n_frames, FIELD_FRAMES),
	END,
};
/* Elements of arrays: all their fields are there, or they could not be counted. */
static const struct field loss_fields[] = {
	F(record_loss, cause, FIELD_STRING),
	F(record_loss, count, FIELD_U64),
	END,
};
static const struct field frame_fields[] = {
	F(record_symbol_frame, function, FIELD_STRING), F(record_symbol_frame, offset, FIELD_U64),
	F(record_symbol_frame, file, FIELD_STRING),	F(record_symbol_frame, line, FIELD_U32),
	F(record_symbol_frame, is_inline, FIELD_BOOL),	END,
};

#define LAYOUT(type, member, table) [type] = { offsetof(struct record, member), table }

/* What a record's type is made of. */
static const struct layout {
	size_t offset;
	const struct field *fields;
} layouts[] = {
	LAYOUT(RECORD_RUN, run, run_fields),
	LAYOUT(RECORD_FUNCTION, function, function_fields),
	LAYOUT(RECORD_PROCESS, process, process_fields),
	LAYOUT(RECORD_PROCESS_END, process_end, process_end_fields),
	LAYOUT(RECORD_MAPPING, mapping, mapping_fields),
	LAYOUT(RECORD_UNMAPPING, unmapping, unmapping_fields),
	LAYOUT(RECORD_STACK, stack, stack_fields),
	LAYOUT(RECORD_REGION, region, region_fields),
	LAYOUT(RECORD_REGION_GONE, region_gone, region_gone_fields),
	LAYOUT(RECORD_CUT, cut, cut_fields),
	LAYOUT(RECORD_TOTALS, totals, totals_fields),
	LAYOUT(RECORD_SITE, site, site_fields),
	LAYOUT(RECORD_COVERAGE, coverage, coverage_fields),
	LAYOUT(RECORD_CUT_END, cut, no_fields),
	LAYOUT(RECORD_UNPROBED, unprobed, unprobed_fields),
	LAYOUT(RECORD_SYMBOL, symbol, symbol_fields),
};

static const struct layout *find_layout(uint32_t type)
{
	if (type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[type].fields)
		return NULL;
	return &layouts[type];
}

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

static void encode_array(struct strbuf *out, const struct field *field, const char *from)
{
	size_t n = *(const size_t *)(from + field->count);
	const void *const *data = (const void *const *)(from + field->offset);

	if (n >= UINT32_MAX)
		out->error = -ENOMEM;
	encode_u32(out, (uint32_t)n);
	if (field->kind == FIELD_ADDRESSES && n > 0)
		strbuf_add(out, *data, n * sizeof(uint64_t));
	for (size_t i = 0; i < n && field->kind == FIELD_LOSSES; i++)
		encode_fields(out, loss_fields, (const struct record_loss *)*data + i);
	for (size_t i = 0; i < n && field->kind == FIELD_FRAMES; i++)
		encode_fields(out, frame_fields, (const struct record_symbol_frame *)*data + i);
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
			encode_string(out, *(const char *const *)member);
			break;
		default:
			encode_array(out, f, from);
		}
	}
}

int record_encode(const struct record *record, struct strbuf *out)
{
	const struct layout *layout = find_layout(record->type);

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
	VEC(uint64_t) addresses;
	VEC(struct record_loss) losses;
	VEC(struct record_symbol_frame) frames;
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
	vec_done(&decoder->addresses);
	vec_done(&decoder->losses);
	vec_done(&decoder->frames);
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

/* Fewest bytes of an element: a number that cannot fit is refused before memory is taken for it. */
static size_t element_min(uint8_t kind)
{
	switch (kind) {
	case FIELD_ADDRESSES:
		return 8;
	case FIELD_LOSSES:
		return 4 + 8;
	default:
		return 4 + 8 + 4 + 4 + 1;
	}
}

static int decode_addresses(struct record_decoder *d, size_t n)
{
	int r = vec_reserve(&d->addresses, n);

	for (size_t i = 0; r == 0 && i < n; i++)
		d->addresses.data[i] = take_integer(d, 8);
	return r;
}

static int decode_losses(struct record_decoder *d, size_t n)
{
	int r = vec_reserve(&d->losses, n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		d->losses.data[i] = (struct record_loss){ 0 };
		decode_fields(d, loss_fields, &d->losses.data[i], false);
	}
	return r;
}

static int decode_frames(struct record_decoder *d, size_t n)
{
	int r = vec_reserve(&d->frames, n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		d->frames.data[i] = (struct record_symbol_frame){ 0 };
		decode_fields(d, frame_fields, &d->frames.data[i], false);
	}
	return r;
}

static void decode_array(struct record_decoder *d, const struct field *field, char *to)
{
	size_t n = take_integer(d, 4);
	const void *data;
	int r;

	if (d->error == 0 && n > (size_t)(d->end - d->pos) / element_min(field->kind))
		d->error = -EBADMSG;
	if (d->error < 0)
		return;
	switch (field->kind) {
	case FIELD_ADDRESSES:
		r = decode_addresses(d, n);
		data = d->addresses.data;
		break;
	case FIELD_LOSSES:
		r = decode_losses(d, n);
		data = d->losses.data;
		break;
	default:
		r = decode_frames(d, n);
		data = d->frames.data;
	}
	if (r < 0)
		d->error = r;
	*(size_t *)(to + field->count) = n;
	memcpy(to + field->offset, &data, sizeof(data));
}

static void decode_field(struct record_decoder *d, const struct field *f, char *to)
{
	char *member = to + f->offset;
	const char *bytes;

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
		*(const char **)member = take_string(d);
		break;
	default:
		decode_array(d, f, to);
	}
}

static void decode_fields(struct record_decoder *d, const struct field *fields, void *to,
			  bool may_end)
{
	for (const struct field *f = fields; f->kind && d->error == 0; f++) {
		if (may_end && d->pos == d->end)
			return;
		decode_field(d, f, to);
	}
}

/* What the types of C cannot hold, or would make readers fail. */
static bool is_sound(const struct record *record)
{
	switch (record->type) {
	case RECORD_PROCESS_END:
		return record->process_end.how <= RECORD_END_UNKNOWN;
	case RECORD_MAPPING:
		return record->mapping.build_id_len <= RECORD_BUILD_ID_MAX;
	default:
		return true;
	}
}

int record_decode(struct record_decoder *decoder, uint32_t type, const void *payload, size_t len,
		  struct record *ret_record)
{
	const struct layout *layout = find_layout(type);

	if (!layout)
		return -ENOENT;
	decoder->error = 0;
	decoder->pos = len > 0 ? payload : "";
	decoder->end = decoder->pos + len;
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->type = type;
	decode_fields(decoder, layout->fields, (char *)ret_record + layout->offset, true);
	if (decoder->error == 0 && !is_sound(ret_record))
		decoder->error = -EBADMSG;
	return decoder->error;
}
