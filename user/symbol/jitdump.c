/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jitdump.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x4A695444U
#define VERSION 1U
#define FLAG_ARCH_CLOCK 1U /* times are not CLOCK_MONOTONIC's */
#define MAX_RECORD_BYTES (32U << 20)
#define MAX_CODES (1U << 20)
#define MAX_LINES (1U << 16) /* of one function */
#define MAX_NAME_BYTES 4096

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

/* What was loaded, for when it moves. Its strings follow it. */
struct code {
	uint64_t index;
	const char *name;
	size_t n_lines;
	struct record_jit_line *lines; /* the code's own, as are their files */
	char *files;
	char name_copy[];
};

struct jitdump {
	struct hashmap *codes;
	bool has_header, arch_clock, closed;
	/* Of the DEBUG_INFO before a LOAD. */
	uint64_t lines_addr;
	VEC(struct record_jit_line) lines;
	char *files;
};

/* The payload of a record. */
struct reader {
	const char *pos, *end;
};

static uint64_t code_hash(const void *item)
{
	return hash_u64(((const struct code *)item)->index);
}

static bool code_equal(const void *a, const void *b)
{
	return ((const struct code *)a)->index == ((const struct code *)b)->index;
}

static void code_free(void *item)
{
	struct code *code = item;

	free(code->lines);
	free(code->files);
	free(code);
}

static const struct hashmap_ops code_ops = { code_hash, code_equal, code_free };

int jitdump_new(struct jitdump **ret_dump)
{
	_cleanup_(jitdump_free_p) struct jitdump *dump = calloc(1, sizeof(*dump));
	int r;

	if (!dump)
		return -ENOMEM;
	r = hashmap_new(&code_ops, &dump->codes);
	if (r < 0)
		return r;
	*ret_dump = TAKE_PTR(dump);
	return 0;
}

static void drop_lines(struct jitdump *dump)
{
	vec_done(&dump->lines);
	free(dump->files);
	dump->files = NULL;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	hashmap_free(dump->codes);
	drop_lines(dump);
	free(dump);
}

static bool take(struct reader *reader, void *to, size_t n)
{
	if ((size_t)(reader->end - reader->pos) < n)
		return false;
	memcpy(to, reader->pos, n);
	reader->pos += n;
	return true;
}

/* A string that ends within the record. */
static const char *take_string(struct reader *reader)
{
	const char *s = reader->pos;
	const char *nul = s < reader->end ? memchr(s, '\0', (size_t)(reader->end - s)) : NULL;

	if (!nul)
		return NULL;
	reader->pos = nul + 1;
	return s;
}

static int line_compare(const void *item_a, const void *item_b)
{
	const struct record_jit_line *a = item_a, *b = item_b;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

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
	if (!take(&reader, &info, sizeof(info)))
		return -EBADMSG;
	dump->files = malloc(size);
	if (!dump->files)
		return -ENOMEM;
	memcpy(dump->files, reader.pos, (size_t)(reader.end - reader.pos));
	reader = (struct reader){ dump->files, dump->files + (reader.end - reader.pos) };
	dump->lines_addr = info.addr;
	for (uint64_t i = 0; r == 0 && i < info.n && i < MAX_LINES; i++) {
		if (!take(&reader, &entry, sizeof(entry)) || !(name = take_string(&reader)))
			return -EBADMSG;
		if (!is_same_file(name))
			file = name;
		/* What lies before the code can be no line of it. */
		if (entry.addr >= info.addr)
			r = vec_push(&dump->lines, (struct record_jit_line){ entry.addr - info.addr,
									     entry.line, file });
	}
	if (r == 0 && dump->lines.len > 1)
		qsort(dump->lines.data, dump->lines.len, sizeof(dump->lines.data[0]), line_compare);
	return r;
}

static int code_new(struct jitdump *dump, const struct load *load, const char *name,
		    struct code **ret_code)
{
	size_t len = strnlen(name, MAX_NAME_BYTES);
	struct code *code = calloc(1, sizeof(*code) + len + 1);

	if (!code)
		return -ENOMEM;
	code->index = load->index;
	memcpy(code->name_copy, name, len);
	code->name = code->name_copy;
	if (dump->lines.len > 0 && dump->lines_addr == load->addr) {
		code->lines = dump->lines.data;
		code->n_lines = dump->lines.len;
		code->files = dump->files;
		memset(&dump->lines, 0, sizeof(dump->lines));
		dump->files = NULL;
	}
	*ret_code = code;
	return 0;
}

/* Where whole records of the file go. */
struct sink {
	uint32_t slot;
	const char *source;
	record_fn fn;
	void *userdata;
};

static int hand_over(const struct jitdump *dump, const struct code *code, uint64_t addr,
		     uint64_t size, uint64_t time_ns, const struct sink *sink)
{
	struct record record = {
		.type = RECORD_JIT_CODE,
		.jit_code = { .slot = sink->slot,
			      .start = addr,
			      .size_bytes = size,
			      .since_ns = dump->arch_clock ? 0 : time_ns,
			      .name = code->name,
			      .source = sink->source,
			      .n_lines = code->n_lines,
			      .lines = code->lines },
	};

	/* An empty or endless range is damage that harms nobody else. */
	if (size == 0 || addr + size < addr)
		return 0;
	return sink->fn(&record, sink->userdata);
}

static int on_load(struct jitdump *dump, struct reader reader, uint64_t time_ns,
		   const struct sink *sink)
{
	struct code *code, *older;
	const char *name;
	struct load load;
	int r;

	if (!take(&reader, &load, sizeof(load)) || !(name = take_string(&reader)))
		return -EBADMSG;
	if (hashmap_size(dump->codes) >= MAX_CODES)
		return -E2BIG;
	r = code_new(dump, &load, name, &code);
	drop_lines(dump);
	if (r < 0)
		return r;
	/* An index used twice: what moves is the newer one. */
	older = hashmap_remove(dump->codes, code);
	if (older)
		code_free(older);
	r = hashmap_insert(dump->codes, code);
	if (r < 0) {
		code_free(code);
		return r;
	}
	return hand_over(dump, code, load.addr, load.size, time_ns, sink);
}

static int on_move(struct jitdump *dump, struct reader reader, uint64_t time_ns,
		   const struct sink *sink)
{
	struct move move;
	struct code key = {};
	const struct code *code;

	if (!take(&reader, &move, sizeof(move)))
		return -EBADMSG;
	key.index = move.index;
	code = hashmap_find(dump->codes, &key);
	return code ? hand_over(dump, code, move.addr, move.size, time_ns, sink) : 0;
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
	dump->arch_clock = header.flags & FLAG_ARCH_CLOCK;
	dump->has_header = true;
	*ret_used = header.total_size;
	return 0;
}

static int on_record(struct jitdump *dump, const struct record_header *header, struct reader reader,
		     const struct sink *sink)
{
	switch (header->id) {
	case JIT_LOAD:
		return on_load(dump, reader, header->timestamp, sink);
	case JIT_MOVE:
		return on_move(dump, reader, header->timestamp, sink);
	case JIT_DEBUG_INFO:
		return on_debug_info(dump, reader);
	case JIT_CLOSE:
		dump->closed = true;
		return 0;
	}
	return 0; /* unwinding information, and what newer writers may have */
}

int jitdump_feed(struct jitdump *dump, const char *data, size_t len, uint32_t slot,
		 const char *source, record_fn fn, void *userdata, size_t *ret_used)
{
	const struct sink sink = { slot, source, fn, userdata };
	struct record_header header;
	int r = 0;

	*ret_used = 0;
	if (!dump->has_header)
		r = on_header(dump, data, len, ret_used);
	while (r == 0 && dump->has_header && !dump->closed && len - *ret_used >= sizeof(header)) {
		const char *at = data + *ret_used;

		memcpy(&header, at, sizeof(header));
		if (header.total_size < sizeof(header) || header.total_size > MAX_RECORD_BYTES)
			return -EBADMSG;
		if (header.total_size > len - *ret_used)
			return 0;
		r = on_record(dump, &header,
			      (struct reader){ at + sizeof(header), at + header.total_size },
			      &sink);
		*ret_used += header.total_size;
	}
	return r;
}
