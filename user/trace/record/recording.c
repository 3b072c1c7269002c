/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record/recording.h"

#include "base/strbuf.h"
#include "base/vec.h"
#include "base/zstd_frame.h"
#include "trace/record/record_codec.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/*
 *   header  | magic (8) | version u32 | order u32 |
 *   record  | type u32 | length u32 | crc32 of both and the payload u32 | payload |
 *   packed  | type u32 | length u32 | crc32 | zstd frame: records of type, length, payload |
 * Integers are in the writer's byte order, which `order` shows.
 */
static const char magic[8] = { '\x89', 'M', 'T', 'R', 'E', 'C', '\r', '\n' };
#define ORDER_MARK 0x01020304U
/* The run was recorded to its end: nothing follows. Without it the file was cut off. */
#define TYPE_END 64
/* Records without checksums of their own, one after the other, compressed by zstd. */
#define TYPE_PACKED 65
#define VERSION_WITHOUT_END 1

struct header {
	char magic[8];
	uint32_t version;
	uint32_t order;
};

/* So many bytes of records are packed at once; what a reader allows is the largest payload. */
#define PACK_AT (256U << 10)
#define PACKED_MAX (2 * RECORDING_MAX_PAYLOAD)
/* Half the time of zstd's own choice, 3, for files that are a tenth larger. */
#define PACK_LEVEL 1

struct record_header {
	uint32_t type;
	uint32_t length;
	uint32_t crc; /* within what is packed there is none */
};
#define PACKED_HEADER offsetof(struct record_header, crc)

struct recording_writer {
	FILE *file;
	struct strbuf payload;
	uint64_t written; /* bytes */
	bool packs;
	struct strbuf pack; /* records that wait */
	char *packed;	    /* room for them, compressed */
	size_t packed_room;
};

int recording_writer_new(FILE *file, struct recording_writer **ret_writer)
{
	_cleanup_(recording_writer_free_p) struct recording_writer *writer =
		calloc(1, sizeof(*writer));
	struct header header = { .version = RECORDING_VERSION, .order = ORDER_MARK };

	if (!writer)
		return -ENOMEM;
	writer->file = file;
	memcpy(header.magic, magic, sizeof(magic));
	if (fwrite(&header, sizeof(header), 1, file) != 1)
		return -EIO;
	*ret_writer = TAKE_PTR(writer);
	return 0;
}

void recording_writer_free(struct recording_writer *writer)
{
	if (!writer)
		return;
	strbuf_done(&writer->payload);
	strbuf_done(&writer->pack);
	free(writer->packed);
	free(writer);
}

/* Of type and length as they stand in the file, and the payload. */
static uint32_t checksum(const struct record_header *header, const void *payload, size_t len)
{
	uint32_t crc = crc32(0, (const Bytef *)header, offsetof(struct record_header, crc));

	/* zlib takes a NULL for "begin anew". */
	return len == 0 ? crc : (uint32_t)crc32_z(crc, payload, len);
}

static int write_record(struct recording_writer *writer, uint32_t type, const void *payload,
			size_t len)
{
	struct record_header header = { .type = type, .length = (uint32_t)len };

	header.crc = checksum(&header, payload, len);
	if (fwrite(&header, sizeof(header), 1, writer->file) != 1 ||
	    fwrite(payload, 1, len, writer->file) != len)
		return -EIO;
	writer->written += sizeof(header) + len;
	return 0;
}

void recording_pack(struct recording_writer *writer)
{
	writer->packs = true;
}

int recording_flush(struct recording_writer *writer)
{
	size_t room = ZSTD_compressBound(writer->pack.len), len;

	if (writer->pack.len == 0)
		return 0;
	if (room > writer->packed_room) {
		char *more = realloc(writer->packed, room);

		if (!more)
			return -ENOMEM;
		writer->packed = more;
		writer->packed_room = room;
	}
	len = ZSTD_compress(writer->packed, room, strbuf_str(&writer->pack), writer->pack.len,
			    PACK_LEVEL);
	if (ZSTD_isError(len))
		return -ENOMEM;
	strbuf_reset(&writer->pack);
	return write_record(writer, TYPE_PACKED, writer->packed, len);
}

static int write_packed(struct recording_writer *writer, uint32_t type,
			const struct strbuf *payload)
{
	const struct record_header header = { .type = type, .length = (uint32_t)payload->len };
	int r;

	strbuf_add(&writer->pack, &header, PACKED_HEADER);
	strbuf_add(&writer->pack, strbuf_str(payload), payload->len);
	r = strbuf_error(&writer->pack);
	if (r == 0 && writer->pack.len >= PACK_AT)
		r = recording_flush(writer);
	return r;
}

int recording_write(const struct record *record, void *userdata)
{
	struct recording_writer *writer = userdata;
	int r;

	strbuf_reset(&writer->payload);
	r = record_encode(record, &writer->payload);
	if (r < 0)
		return r;
	if (writer->payload.len > RECORDING_MAX_PAYLOAD)
		return -EINVAL;
	if (!writer->packs)
		return write_record(writer, record->type, strbuf_str(&writer->payload),
				    writer->payload.len);
	/* what is too large to be packed with others, and could not be compressed, fits alone */
	if (writer->payload.len < RECORDING_MAX_PAYLOAD / 2)
		return write_packed(writer, record->type, &writer->payload);
	r = recording_flush(writer);
	return r ? r :
		   write_record(writer, record->type, strbuf_str(&writer->payload),
				writer->payload.len);
}

int recording_end(struct recording_writer *writer)
{
	int r = recording_flush(writer);

	return r ? r : write_record(writer, TYPE_END, "", 0);
}

uint64_t recording_written(const struct recording_writer *writer)
{
	return writer->written;
}

struct recording_source {
	struct source source;
	FILE *file;
	bool swap;
	bool has_end; /* as its version has it */
	bool ended, truncated, in_cut;
	VEC(char) payload;
	VEC(char) pack; /* what was packed, */
	size_t pack_at; /* and how far it was read */
};

/* 1, 0 at the end of the file, -EBADMSG when it ends in the middle, -EIO. */
static int read_exactly(FILE *file, void *to, size_t n)
{
	size_t have = fread(to, 1, n, file);

	if (have == n)
		return 1;
	if (ferror(file))
		return -EIO;
	return have == 0 ? 0 : -EBADMSG;
}

static uint32_t native(const struct recording_source *s, uint32_t value)
{
	return s->swap ? bswap_32(value) : value;
}

/* Reads in pieces: a length that lies costs no more memory than there is file. */
static int read_payload(struct recording_source *s, size_t length)
{
	size_t have = 0;

	while (have < length) {
		size_t n = length - have < 65536 ? length - have : 65536;
		int r = vec_reserve(&s->payload, have + n);

		if (r < 0)
			return r;
		r = read_exactly(s->file, s->payload.data + have, n);
		if (r <= 0)
			return r == 0 ? -EBADMSG : r;
		have += n;
	}
	return 0;
}

/* The payload is a zstd frame: what is in it is read next. 0, -ENOMEM or -EBADMSG. */
static int unpack(struct recording_source *s, size_t length)
{
	unsigned long long size = ZSTD_getFrameContentSize(s->payload.data, length);
	int r;

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > PACKED_MAX)
		return -EBADMSG;
	r = vec_reserve(&s->pack, (size_t)size + 1);
	if (r < 0)
		return r;
	r = zstd_frame_unpack(s->pack.data, (size_t)size, s->payload.data, length);
	if (r < 0)
		return r;
	s->pack.len = (size_t)size;
	s->pack_at = 0;
	return 0;
}

/* As next_record, of what was packed and is not read so far. */
static int next_packed(struct recording_source *s, struct record *ret_record)
{
	const char *data = s->pack.data + s->pack_at;
	size_t left = s->pack.len - s->pack_at, length;
	struct record_header header;
	int r;

	if (left < PACKED_HEADER)
		return -EBADMSG;
	memcpy(&header, data, PACKED_HEADER);
	length = native(s, header.length);
	if (length > left - PACKED_HEADER)
		return -EBADMSG;
	s->pack_at += PACKED_HEADER + length;
	r = record_decode(s->swap, native(s, header.type), data + PACKED_HEADER, length,
			  ret_record);
	return r < 0 ? r : 1;
}

/* The next record as it stands in the file, in s->payload: 1, 0 at the end, negative errno. */
static int next_payload(struct recording_source *s, uint32_t *ret_type, size_t *ret_length)
{
	struct record_header header;
	int r = read_exactly(s->file, &header, sizeof(header));
	size_t length;

	if (r <= 0)
		return r == 0 && s->has_end ? -EBADMSG : r;
	length = native(s, header.length);
	if (length > RECORDING_MAX_PAYLOAD)
		return -EBADMSG;
	r = read_payload(s, length);
	if (r < 0)
		return r;
	if (checksum(&header, s->payload.data, length) != native(s, header.crc))
		return -EBADMSG;
	*ret_type = native(s, header.type);
	*ret_length = length;
	return *ret_type != TYPE_END;
}

/*
 * 1 with a record, 0 at the end, -ENOENT for an unknown one, else negative errno: -EBADMSG also
 * where the end should be and is not.
 */
static int next_record(struct recording_source *s, struct record *ret_record)
{
	uint32_t type;
	size_t length;
	int r;

	while (s->pack_at == s->pack.len) {
		r = next_payload(s, &type, &length);
		if (r <= 0)
			return r;
		if (type != TYPE_PACKED) {
			r = record_decode(s->swap, type, s->payload.data, length, ret_record);
			return r < 0 ? r : 1;
		}
		r = unpack(s, length);
		if (r < 0)
			return r;
	}
	return next_packed(s, ret_record);
}

static int recording_drain(struct source *source, record_fn fn, void *userdata)
{
	static const struct record cut_off = { .type = RECORD_CUT_OFF };
	struct recording_source *s = (struct recording_source *)source;

	while (!s->ended) {
		struct record record;
		int r = next_record(s, &record);

		if (r == -ENOENT)
			continue;
		if (r == 0 || r == -EBADMSG) {
			s->ended = true;
			s->truncated = r < 0 || s->in_cut;
			r = s->truncated ? fn(&cut_off, userdata) : 0;
			return r < 0 ? r : 1;
		}
		if (r > 0 && (record.type == RECORD_CUT || record.type == RECORD_CUT_END))
			s->in_cut = record.type == RECORD_CUT;
		if (r > 0) {
			r = fn(&record, userdata);
			record_done(&record);
		}
		if (r < 0)
			return r;
	}
	return 1;
}

static int recording_cut(struct source *source, record_fn fn, void *userdata)
{
	(void)source;
	(void)fn;
	(void)userdata;
	return 0;
}

static void recording_free(struct source *source)
{
	struct recording_source *s = (struct recording_source *)source;

	vec_done(&s->payload);
	vec_done(&s->pack);
	free(s);
}

static const struct source_ops recording_ops = {
	.drain = recording_drain,
	.cut = recording_cut,
	.free = recording_free,
};

static int read_header(FILE *file, bool *ret_swap, bool *ret_has_end)
{
	struct header header;
	int r = read_exactly(file, &header, sizeof(header));
	uint32_t version;

	if (r <= 0)
		return r == 0 ? -EBADMSG : r;
	if (memcmp(header.magic, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (header.order != ORDER_MARK && header.order != bswap_32(ORDER_MARK))
		return -EBADMSG;
	*ret_swap = header.order != ORDER_MARK;
	version = *ret_swap ? bswap_32(header.version) : header.version;
	if (version == 0 || version > RECORDING_VERSION)
		return -EPROTONOSUPPORT;
	*ret_has_end = version > VERSION_WITHOUT_END;
	return 0;
}

int recording_open(FILE *file, struct source **ret_source)
{
	_cleanup_free_ struct recording_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->source.ops = &recording_ops;
	s->file = file;
	r = read_header(file, &s->swap, &s->has_end);
	if (r < 0)
		return r;
	*ret_source = &TAKE_PTR(s)->source;
	return 0;
}

bool recording_truncated(const struct source *source)
{
	return ((const struct recording_source *)source)->truncated;
}
