/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jitdump.h"

#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x4A695444U
#define VERSION 1U
#define FLAG_ARCH_CLOCK 1U /* times are not CLOCK_MONOTONIC's */
#define MAX_RECORD_BYTES (32U << 20)

enum record_id { JIT_LOAD, JIT_MOVE, JIT_DEBUG_INFO, JIT_CLOSE };

/* All are naturally aligned in the file, but records need not be. */
struct file_header {
	uint32_t magic, version, total_size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct record_header {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_addr, addr, size, index;
};

struct debug_info {
	uint64_t addr, n;
};

struct debug_entry {
	uint64_t addr;
	uint32_t line, discriminator;
};

struct jitdump {
	struct jitdump_state state;
	/* Of the DEBUG_INFO before a LOAD. */
	uint64_t lines_addr;
	VEC(struct record_jit_line) lines;
	char *files;
};

/* The payload of a record. */
struct reader {
	const char *pos, *end;
};

int jitdump_new(const struct jitdump_state *state, struct jitdump **ret_dump)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));

	if (!dump)
		return -ENOMEM;
	dump->state = *state;
	*ret_dump = dump;
	return 0;
}

static void drop_lines(struct jitdump *dump)
{
	vec_done(&dump->lines);
	free(dump->files);
	dump->files = NULL;
	dump->state.lines_offset = 0;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	drop_lines(dump);
	free(dump);
}

static bool read_bytes(struct reader *reader, void *to, size_t n)
{
	if ((size_t)(reader->end - reader->pos) < n)
		return false;
	memcpy(to, reader->pos, n);
	reader->pos += n;
	return true;
}

/* A string that ends within the record. */
static const char *read_string(struct reader *reader)
{
	const char *s = reader->pos;
	const char *nul = s < reader->end ? memchr(s, '\0', (size_t)(reader->end - s)) : NULL;

	if (!nul)
		return NULL;
	reader->pos = nul + 1;
	return s;
}

DEFINE_COMPARE(line_compare, struct record_jit_line, offset)

/* The name \xff stands for that of the entry before. */
static bool is_same_file(const char *name)
{
	return (unsigned char)name[0] == 0xff && name[1] == '\0';
}

/* Its lines belong to the next LOAD of that address. */
static int on_debug_info(struct jitdump *dump, struct reader reader)
{
	struct debug_info info;
	struct debug_entry entry;
	const char *file = "", *name;
	size_t size = (size_t)(reader.end - reader.pos);
	int r = 0;

	drop_lines(dump);
	if (!read_bytes(&reader, &info, sizeof(info)))
		return -EBADMSG;
	dump->files = malloc(size);
	if (!dump->files)
		return -ENOMEM;
	memcpy(dump->files, reader.pos, (size_t)(reader.end - reader.pos));
	reader = (struct reader){ dump->files, dump->files + (reader.end - reader.pos) };
	dump->lines_addr = info.addr;
	for (uint64_t i = 0; r == 0 && i < info.n && i < JIT_MAX_LINES; i++) {
		if (!read_bytes(&reader, &entry, sizeof(entry)) || !(name = read_string(&reader)))
			return -EBADMSG;
		if (!is_same_file(name))
			file = name;
		/* What lies before the code can be no line of it. */
		if (entry.addr >= info.addr)
			r = vec_push(&dump->lines, (struct record_jit_line){ entry.addr - info.addr,
									     entry.line, file });
	}
	if (r == 0)
		vec_sort(&dump->lines, line_compare);
	return r;
}

static int on_load(struct jitdump *dump, struct reader reader, uint64_t time_ns, jit_item_fn fn,
		   void *userdata)
{
	struct jit_item item = {};
	const char *name;
	struct load load;
	int r;

	if (!read_bytes(&reader, &load, sizeof(load)) || !(name = read_string(&reader)))
		return -EBADMSG;
	item.index = load.index;
	item.start = load.addr;
	item.size_bytes = load.size;
	item.since_ns = dump->state.other_clock ? 0 : time_ns;
	item.name = name;
	if (dump->lines_addr == load.addr) {
		item.lines = dump->lines.data;
		item.n_lines = dump->lines.len;
	}
	r = fn(&item, userdata);
	drop_lines(dump);
	return r;
}

static int on_move(const struct jitdump *dump, struct reader reader, uint64_t time_ns,
		   jit_item_fn fn, void *userdata)
{
	struct jit_item item = { .is_move = true };
	struct move move;

	if (!read_bytes(&reader, &move, sizeof(move)))
		return -EBADMSG;
	item.index = move.index;
	item.start = move.addr;
	item.size_bytes = move.size;
	item.since_ns = dump->state.other_clock ? 0 : time_ns;
	return fn(&item, userdata);
}

static int on_header(struct jitdump *dump, const char *data, size_t len, size_t *ret_used)
{
	struct file_header header;

	*ret_used = 0;
	if (len < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	if (header.magic != MAGIC || header.version != VERSION ||
	    header.total_size < sizeof(header) || header.total_size > MAX_RECORD_BYTES)
		return -EBADMSG;
	if (len < header.total_size)
		return 0;
	dump->state.other_clock = header.flags & FLAG_ARCH_CLOCK;
	*ret_used = header.total_size;
	return 0;
}

static int on_record(struct jitdump *dump, const struct record_header *header, struct reader reader,
		     jit_item_fn fn, void *userdata)
{
	int r;

	switch (header->id) {
	case JIT_LOAD:
		return on_load(dump, reader, header->timestamp, fn, userdata);
	case JIT_MOVE:
		return on_move(dump, reader, header->timestamp, fn, userdata);
	case JIT_DEBUG_INFO:
		r = on_debug_info(dump, reader);
		dump->state.lines_offset = dump->state.offset;
		return r;
	case JIT_CLOSE:
		dump->state.closed = true;
		return 0;
	}
	return 0; /* unwinding information, and what newer writers may have */
}

static bool is_sane(const struct record_header *header)
{
	return header->total_size >= sizeof(*header) && header->total_size <= MAX_RECORD_BYTES;
}

int jitdump_feed_lines(struct jitdump *dump, const char *data, size_t len)
{
	uint64_t lines_offset = dump->state.lines_offset;
	struct record_header header;
	int r;

	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, data, sizeof(header));
	if (header.id != JIT_DEBUG_INFO || !is_sane(&header) || header.total_size > len)
		return -EBADMSG;
	r = on_debug_info(dump, (struct reader){ data + sizeof(header), data + header.total_size });
	dump->state.lines_offset = lines_offset;
	return r;
}

int jitdump_feed(struct jitdump *dump, const char *data, size_t len, jit_item_fn fn, void *userdata,
		 size_t *ret_used)
{
	struct jitdump_state *state = &dump->state;
	struct record_header header;
	int r = 0;

	*ret_used = 0;
	if (state->offset == 0) {
		r = on_header(dump, data, len, ret_used);
		state->offset = *ret_used;
	}
	while (r == 0 && state->offset > 0 && !state->closed && len - *ret_used >= sizeof(header)) {
		const char *at = data + *ret_used;

		memcpy(&header, at, sizeof(header));
		if (!is_sane(&header))
			return -EBADMSG;
		if (header.total_size > len - *ret_used)
			return 0;
		r = on_record(dump, &header,
			      (struct reader){ at + sizeof(header), at + header.total_size }, fn,
			      userdata);
		*ret_used += header.total_size;
		state->offset += header.total_size;
	}
	return r;
}

const struct jitdump_state *jitdump_state(const struct jitdump *dump)
{
	return &dump->state;
}
