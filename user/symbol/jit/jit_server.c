/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jit_server.h"

#include "symbol/jit/jit_wire.h"
#include "symbol/jit/perf_map.h"
#include "symbol/names.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#define CHUNK_BYTES (1U << 20)
/* The longest record of a jitdump must fit. */
#define MAX_CHUNK_BYTES (64U << 20)

/* The answer at hand. */
struct reading {
	struct jit_head head;
	struct strbuf items;
	bool is_full;
};

static void reading_done(struct reading *reading)
{
	strbuf_done(&reading->items);
}

/* 1: so that no more come. */
static int add_item(const struct jit_item *item, void *userdata)
{
	_cleanup_free_ char *function = item->name ? demangle(item->name) : NULL;
	struct reading *reading = userdata;
	struct jit_item copy = *item;
	int r;

	copy.function = function;
	r = jit_put_item(&reading->items, &copy);
	reading->head.n_items++;
	reading->is_full = reading->items.len >= JIT_FULL_ANSWER;
	return r < 0 ? r : reading->is_full;
}

/* --- maps ------------------------------------------------------------------------------------ */

/* How much of a piece of the file is whole lines. The last may still be written, at its end not. */
static size_t whole_lines(const char *text, size_t len, bool to_the_end)
{
	const char *end = len > 0 ? memrchr(text, '\n', len) : NULL;

	if (to_the_end && len < CHUNK_BYTES)
		return len;
	/* A line that is as long is none. */
	if (!end && len == CHUNK_BYTES)
		return len;
	return end ? (size_t)(end - text) + 1 : 0;
}

/* *len: what was taken of it. */
static int add_lines(struct reading *reading, const char *text, size_t *len)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = NULL, *part = NULL;
	int r = perf_map_new(text, *len, &map);

	for (size_t i = 0; r == 0 && i < perf_map_count(map); i++) {
		const struct perf_map_entry *entry = perf_map_at(map, i);
		const struct jit_item item = { .start = entry->start,
					       .size_bytes = entry->size_bytes,
					       .name = entry->name };

		r = add_item(&item, reading);
		if (r > 0)
			*len = entry->end;
	}
	if (r < 0)
		return r;
	/* Lines behind are counted when they are taken. */
	if (r > 0)
		r = perf_map_new(text, *len, &part);
	if (r == 0)
		reading->head.malformed = perf_map_malformed(part ? part : map);
	return r;
}

static int read_map(const struct jit_asked *asked, int fd, struct reading *reading)
{
	_cleanup_free_ char *text = malloc(CHUNK_BYTES);
	size_t len;
	ssize_t n;
	int r;

	reading->head.state.offset = asked->state.offset;
	if (!text)
		return -ENOMEM;
	n = pread(fd, text, CHUNK_BYTES, (off_t)asked->state.offset);
	len = n > 0 ? whole_lines(text, (size_t)n, asked->to_the_end) : 0;
	if (len == 0)
		return 0;
	r = add_lines(reading, text, &len);
	reading->head.state.offset += len;
	reading->head.more = n == (ssize_t)CHUNK_BYTES || reading->is_full;
	return r;
}

/* --- jitdumps -------------------------------------------------------------------------------- */

static int read_at(int fd, uint64_t offset, size_t want, char **ret_data, size_t *ret_len)
{
	_cleanup_free_ char *data = malloc(want);
	ssize_t n;

	if (!data)
		return -ENOMEM;
	n = pread(fd, data, want, (off_t)offset);
	*ret_len = n > 0 ? (size_t)n : 0;
	*ret_data = TAKE_PTR(data);
	return 0;
}

/* Whose code had not come the last time. */
static int read_lines(struct jitdump *dump, int fd)
{
	uint64_t offset = jitdump_state(dump)->lines_offset;
	bool more = true;
	int r = -EBADMSG;

	/* Until the piece holds all of the record. */
	for (size_t want = CHUNK_BYTES; r == -EBADMSG && more && want <= MAX_CHUNK_BYTES;
	     want *= 4) {
		_cleanup_free_ char *data = NULL;
		size_t len = 0;

		r = read_at(fd, offset, want, &data, &len);
		if (r == 0)
			r = jitdump_feed_lines(dump, data, len);
		more = len == want;
	}
	return r;
}

/* From where the dump is; an answer is of one piece. */
static int read_records(struct jitdump *dump, int fd, struct reading *reading)
{
	bool more = true;
	size_t used = 0;
	int r = 0;

	/* Until the piece holds a whole record. */
	for (size_t want = CHUNK_BYTES; r == 0 && used == 0 && more && want <= MAX_CHUNK_BYTES;
	     want *= 4) {
		_cleanup_free_ char *data = NULL;
		size_t len = 0;

		r = read_at(fd, jitdump_state(dump)->offset, want, &data, &len);
		if (r == 0)
			r = jitdump_feed(dump, data, len, add_item, reading, &used);
		more = len == want;
	}
	reading->head.more = used > 0 && (more || reading->is_full);
	return r < 0 ? r : 0;
}

static int read_dump(const struct jit_asked *asked, int fd, struct reading *reading)
{
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	int r = jitdump_new(&asked->state, &dump);

	if (r == 0 && asked->state.lines_offset > 0)
		r = read_lines(dump, fd);
	if (r == 0)
		r = read_records(dump, fd, reading);
	if (r == -ENOMEM)
		return r;
	reading->head.is_damaged = r < 0;
	reading->head.state = *jitdump_state(dump);
	reading->head.more &= !reading->head.is_damaged && !reading->head.state.closed;
	return 0;
}

/* --- requests -------------------------------------------------------------------------------- */

bool jit_server_knows(const struct strbuf *request)
{
	struct decoder decoder = decoder_of(request);
	uint8_t first = decoder_byte(&decoder);

	return first == JIT_READ_MAP || first == JIT_READ_DUMP;
}

int jit_serve(const struct strbuf *request, const int *fds, size_t n_fds, struct strbuf *answer)
{
	_cleanup_(reading_done) struct reading reading = {};
	struct decoder decoder = decoder_of(request);
	uint8_t first = decoder_byte(&decoder);
	struct jit_asked asked;
	int r;

	codec_read(&decoder, &jit_asked_layout, &asked);
	if (n_fds != 1 || decoder_end(&decoder) < 0)
		return -EBADMSG;
	if (first == JIT_READ_MAP)
		r = read_map(&asked, fds[0], &reading);
	else
		r = read_dump(&asked, fds[0], &reading);
	if (r < 0)
		return r;
	codec_write(answer, &jit_head_layout, &reading.head, NULL);
	strbuf_add(answer, strbuf_str(&reading.items), reading.items.len);
	return 0;
}
