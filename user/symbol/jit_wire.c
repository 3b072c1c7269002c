/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names of 4 KiB demangle to longer ones; beyond that the name itself shows. */
#define MAX_FUNCTION (64 << 10)
#define LEAST_ITEM_BYTES 33
#define LEAST_FILE_BYTES 4
#define LINE_BYTES 16

/* --- requests and heads ---------------------------------------------------------------------- */

static void put_state(struct strbuf *out, const struct jitdump_state *state)
{
	wire_put_u64(out, state->offset);
	wire_put_u64(out, state->lines_offset);
	wire_put_u8(out, state->other_clock);
	wire_put_u8(out, state->closed);
}

static void get_state(struct wire_reader *reader, struct jitdump_state *state)
{
	state->offset = wire_get_u64(reader);
	state->lines_offset = wire_get_u64(reader);
	state->other_clock = wire_get_bool(reader);
	state->closed = wire_get_bool(reader);
	/* Files end there. */
	if (state->offset > INT64_MAX ||
	    (state->lines_offset > 0 && state->lines_offset >= state->offset))
		reader->bad = true;
}

void jit_put_asked(struct strbuf *request, const struct jit_asked *asked)
{
	wire_put_u8(request, asked->to_the_end);
	put_state(request, &asked->state);
}

bool jit_get_asked(struct wire_reader *reader, struct jit_asked *ret_asked)
{
	ret_asked->to_the_end = wire_get_bool(reader);
	get_state(reader, &ret_asked->state);
	return wire_is_read(reader);
}

void jit_put_head(struct strbuf *answer, const struct jit_head *head)
{
	wire_put_u8(answer, head->more);
	wire_put_u8(answer, head->is_damaged);
	put_state(answer, &head->state);
	wire_put_u64(answer, head->malformed);
	wire_put_u32(answer, head->n_items);
}

struct jit_head jit_get_head(struct wire_reader *reader, const struct jit_asked *asked)
{
	struct jit_head head = {};
	uint64_t taken;

	head.more = wire_get_bool(reader);
	head.is_damaged = wire_get_bool(reader);
	get_state(reader, &head.state);
	head.malformed = wire_get_u64(reader);
	head.n_items = wire_get_count(reader, LEAST_ITEM_BYTES);
	taken = head.state.offset - asked->state.offset;
	/* Without progress it would be asked for ever. */
	if (head.state.offset < asked->state.offset || (head.more && taken == 0) ||
	    (head.more && head.is_damaged) || head.malformed > taken)
		reader->bad = true;
	return head;
}

/* --- items ----------------------------------------------------------------------------------- */

static void put_bytes(struct strbuf *answer, const char *text, size_t len)
{
	static const char end = '\0';

	wire_put_u32(answer, (uint32_t)len);
	strbuf_add(answer, text, len);
	strbuf_add(answer, &end, 1);
}

static int pointer_compare(const void *item_a, const void *item_b)
{
	uintptr_t a = (uintptr_t) * (const char *const *)item_a;
	uintptr_t b = (uintptr_t) * (const char *const *)item_b;

	return a < b ? -1 : a > b;
}

/* Lines of a file share its name, which is put once. */
static size_t list_files(const struct jit_item *item, const char **files)
{
	size_t n = 0;

	for (size_t i = 0; i < item->n_lines; i++)
		files[i] = item->lines[i].file;
	qsort(files, item->n_lines, sizeof(files[0]), pointer_compare);
	for (size_t i = 0; i < item->n_lines; i++)
		if (n == 0 || files[n - 1] != files[i])
			files[n++] = files[i];
	return n;
}

static int put_lines(struct strbuf *answer, const struct jit_item *item)
{
	_cleanup_free_ const char **files = calloc(item->n_lines, sizeof(files[0]));
	size_t n;

	if (!files)
		return -ENOMEM;
	n = list_files(item, files);
	wire_put_u32(answer, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		wire_put_string(answer, strlen(files[i]) <= JIT_MAX_NAME ? files[i] : "");
	for (size_t i = 0; i < item->n_lines; i++) {
		const char **file =
			bsearch(&item->lines[i].file, files, n, sizeof(files[0]), pointer_compare);

		wire_put_u64(answer, item->lines[i].offset);
		wire_put_u32(answer, item->lines[i].line);
		wire_put_u32(answer, (uint32_t)(file - files));
	}
	return 0;
}

int jit_put_item(struct strbuf *answer, const struct jit_item *item)
{
	bool bounded = item->function && strnlen(item->function, MAX_FUNCTION + 1) <= MAX_FUNCTION;

	wire_put_u64(answer, item->index);
	wire_put_u64(answer, item->start);
	wire_put_u64(answer, item->size_bytes);
	wire_put_u64(answer, item->since_ns);
	wire_put_u8(answer, item->is_move);
	if (item->is_move)
		return strbuf_error(answer);
	put_bytes(answer, item->name, strnlen(item->name, JIT_MAX_NAME));
	wire_put_string(answer, bounded ? item->function : NULL);
	wire_put_u32(answer, (uint32_t)item->n_lines);
	if (item->n_lines > 0 && put_lines(answer, item) < 0)
		return -ENOMEM;
	return strbuf_error(answer);
}

void jit_item_room_done(struct jit_item_room *room)
{
	vec_done(&room->files);
	vec_done(&room->lines);
}

static int get_files(struct wire_reader *reader, struct jit_item_room *room)
{
	uint32_t n = wire_get_count(reader, LEAST_FILE_BYTES);
	int r = 0;

	room->files.len = 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const char *file = wire_get_string(reader, JIT_MAX_NAME);

		r = file ? vec_push(&room->files, file) : -EBADMSG;
	}
	return r;
}

static int get_lines(struct wire_reader *reader, uint32_t n, struct jit_item_room *room)
{
	int r = get_files(reader, room);

	room->lines.len = 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct record_jit_line line = {};
		uint32_t file;

		line.offset = wire_get_u64(reader);
		line.line = wire_get_u32(reader);
		file = wire_get_u32(reader);
		if (reader->bad || file >= room->files.len ||
		    (i > 0 && line.offset < room->lines.data[i - 1].offset))
			return -EBADMSG;
		line.file = room->files.data[file];
		r = vec_push(&room->lines, line);
	}
	return r;
}

int jit_get_item(struct wire_reader *reader, struct jit_item_room *room, struct jit_item *ret_item)
{
	struct jit_item item = {};
	uint32_t n;
	int r;

	item.index = wire_get_u64(reader);
	item.start = wire_get_u64(reader);
	item.size_bytes = wire_get_u64(reader);
	item.since_ns = wire_get_u64(reader);
	item.is_move = wire_get_bool(reader);
	if (!item.is_move) {
		item.name = wire_get_string(reader, JIT_MAX_NAME);
		item.function = wire_get_string(reader, MAX_FUNCTION);
		n = wire_get_count(reader, LINE_BYTES);
		if (reader->bad || !item.name || n > JIT_MAX_LINES)
			return -EBADMSG;
		r = n > 0 ? get_lines(reader, n, room) : 0;
		if (r < 0)
			return r;
		item.lines = n > 0 ? room->lines.data : NULL;
		item.n_lines = n;
	}
	if (reader->bad)
		return -EBADMSG;
	*ret_item = item;
	return 0;
}
