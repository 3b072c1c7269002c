/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/unwind_objects.h"

#include "base/hashmap.h"
#include "base/page.h"
#include "base/vec.h"
#include "elf/cfi/cfi_rows.h"
#include "memtraced.skel.h"
#include "trace/bpf/map_memory.h"
#include "trace/kernel/beside_loop.h"
#include "trace/kernel/urgent.h"
#include "trace/unwind/range_pool.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* 56 MB, and 8 or less for the first chunk: for processes with libraries of 8 GB of text. */
#define MAX_ADDED_ROWS (7U << 20)
static_assert(MAX_ADDED_ROWS <= 1U << ABI_UNWIND_CHUNK_SHIFT, "a chunk has all of them");

struct chunk {
	struct abi_unwind_row *rows;
	size_t len; /* bytes mapped */
	int fd;	    /* -1: the first */
	struct range_pool *pool;
};

struct known_rule {
	struct abi_unwind_rule rule;
	uint16_t number;
};

struct unwind_objects {
	int chunks_fd;
	VEC(struct chunk) chunks;
	uint32_t added_rows; /* of all chunks but the first */
	struct abi_unwind_rule *rules;
	size_t rules_len;
	struct hashmap known; /* struct known_rule */
	struct abi_unwind_object *objects;
	size_t objects_len;
	struct range_pool *indexes;
};

static uint64_t rule_word(const struct abi_unwind_rule *rule)
{
	uint64_t word;

	memcpy(&word, rule, sizeof(word));
	return word;
}

static uint64_t rule_hash(const void *item)
{
	return hash_u64(rule_word(&((const struct known_rule *)item)->rule));
}

static bool rule_equal(const void *a, const void *b)
{
	const struct known_rule *x = a, *y = b;

	return rule_word(&x->rule) == rule_word(&y->rule);
}

static const struct hashmap_ops rule_ops = { rule_hash, rule_equal, free };

/* The number of a rule, which is given one when it is new. */
static int rule_number(struct unwind_objects *objects, const struct abi_unwind_rule *rule,
		       uint16_t *ret_number)
{
	size_t n = objects->known.len;
	const struct known_rule added = { *rule, n };
	const struct known_rule *known = hashmap_find(&objects->known, &added);

	if (!known) {
		if (n == ABI_UNWIND_RULES)
			return -ENOSPC;
		known = hashmap_intern(&objects->known, &added, sizeof(added), NULL);
		if (!known)
			return -ENOMEM;
		objects->rules[n] = *rule;
	}
	*ret_number = known->number;
	return 0;
}

static int add_first_chunk(struct unwind_objects *objects, struct memtraced_bpf *skel)
{
	struct chunk chunk = { .fd = -1 };
	int r = map_memory(skel->maps.unwind_rows, (void **)&chunk.rows, &chunk.len);

	if (r)
		return r;
	r = range_pool_new(0, bpf_map__max_entries(skel->maps.unwind_rows), &chunk.pool);
	if (r == 0)
		r = vec_push(&objects->chunks, chunk);
	if (r) {
		range_pool_free(chunk.pool);
		(void)munmap(chunk.rows, chunk.len); /* it is not used */
	}
	return r;
}

static void chunk_done(struct chunk *chunk)
{
	range_pool_free(chunk->pool);
	if (chunk->rows)
		(void)munmap(chunk->rows, chunk->len); /* nothing is lost by a failure */
	if (chunk->fd >= 0)
		close(chunk->fd);
}

/* As its size may be another than the model's, look-ups in it are no inline code. */
#define CHUNK_FLAGS (BPF_F_MMAPABLE | BPF_F_INNER_MAP)

static int make_chunk(uint32_t rows)
{
	_beside_loop_;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = CHUNK_FLAGS);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_rows", sizeof(uint32_t),
			      sizeof(struct abi_unwind_row), rows, &opts);
}

int unwind_objects_model(struct memtraced_bpf *skel)
{
	_cleanup_close_ int fd = make_chunk(1);
	int r = fd < 0 ? fd : bpf_map__set_inner_map_fd(skel->maps.unwind_chunks, fd);

	return r ? r : TAKE_FD(fd);
}

static int chunk_new(uint32_t n_rows, struct chunk *ret_chunk)
{
	size_t len = page_round_up(n_rows * sizeof(struct abi_unwind_row));
	int fd = make_chunk(n_rows);
	void *rows;

	if (fd < 0)
		return fd;
	rows = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret_chunk = (struct chunk){ .rows = rows, .len = len, .fd = fd };
	return 0;
}

/* For n rows or more. */
static int add_chunk(struct unwind_objects *objects, size_t n)
{
	uint32_t at = objects->chunks.len, left = MAX_ADDED_ROWS - objects->added_rows;
	uint32_t usual = left < ABI_UNWIND_CHUNK_ROWS ? left : ABI_UNWIND_CHUNK_ROWS;
	uint32_t n_rows = n > usual ? (uint32_t)n : usual;
	struct chunk chunk;
	int r;

	if (n > left || !left)
		return -ENOSPC;
	r = chunk_new(n_rows, &chunk);
	if (r)
		return r;
	r = range_pool_new(0, n_rows, &chunk.pool);
	if (r == 0)
		r = urgent_update(objects->chunks_fd, &at, &chunk.fd);
	if (r == 0)
		r = vec_push(&objects->chunks, chunk);
	if (r)
		chunk_done(&chunk);
	else
		objects->added_rows += n_rows;
	return r;
}

/* Room for n rows within one chunk. */
static int reserve_rows(struct unwind_objects *objects, size_t n, uint32_t *ret_first)
{
	int r;

	if (n > MAX_ADDED_ROWS)
		return -ENOSPC;
	for (size_t i = 0;; i++) {
		if (i == objects->chunks.len) {
			r = add_chunk(objects, n);
			if (r)
				return r;
		}
		r = range_pool_take(objects->chunks.data[i].pool, n, ret_first);
		if (r == 0)
			*ret_first |= (uint32_t)i << ABI_UNWIND_CHUNK_SHIFT;
		if (r != -ENOSPC)
			return r;
	}
}

static struct chunk *chunk_of(struct unwind_objects *objects, uint32_t row)
{
	return &objects->chunks.data[row >> ABI_UNWIND_CHUNK_SHIFT];
}

static void retire_rows(struct unwind_objects *objects, uint32_t first, uint32_t n)
{
	range_pool_retire(chunk_of(objects, first)->pool, ABI_UNWIND_CHUNK_ROW(first), n);
}

static void write_rows(struct unwind_objects *objects, uint32_t first, const struct cfi_rows *rows,
		       const uint16_t *numbers)
{
	struct abi_unwind_row *to = chunk_of(objects, first)->rows + ABI_UNWIND_CHUNK_ROW(first);

	for (size_t i = 0; i < rows->n_rows; i++)
		to[i] = (struct abi_unwind_row){ .pc = rows->rows[i].pc,
						 .rule = numbers[rows->rows[i].rule] };
}

int unwind_objects_add(struct unwind_objects *objects, const struct cfi_rows *rows,
		       const struct abi_unwind_segment *segments, size_t n_segments,
		       uint32_t *ret_object)
{
	_cleanup_free_ uint16_t *numbers = calloc(rows->n_rules, sizeof(*numbers));
	struct abi_unwind_object *object;
	uint32_t first;
	int r = 0;

	if (!numbers)
		return -ENOMEM;
	if (n_segments > ABI_UNWIND_SEGMENTS)
		return -ENOSPC;
	for (size_t i = 0; i < rows->n_rules && r == 0; i++)
		r = rule_number(objects, &rows->rules[i], &numbers[i]);
	if (r == 0)
		r = reserve_rows(objects, rows->n_rows, &first);
	if (r)
		return r;
	write_rows(objects, first, rows, numbers);
	r = range_pool_take(objects->indexes, 1, ret_object);
	if (r) {
		retire_rows(objects, first, rows->n_rows);
		return r;
	}
	object = &objects->objects[*ret_object];
	*object = (struct abi_unwind_object){
		.first_row = first,
		.rows = rows->n_rows,
		.flags = rows->pruned ? ABI_UNWIND_PRUNED : 0,
		.segments = n_segments,
	};
	memcpy(object->segment, segments, n_segments * sizeof(*segments));
	return 0;
}

void unwind_objects_retire(struct unwind_objects *objects, uint32_t object)
{
	const struct abi_unwind_object *o = &objects->objects[object];

	retire_rows(objects, o->first_row, o->rows);
	range_pool_retire(objects->indexes, object, 1);
}

const struct abi_unwind_object *unwind_objects_at(const struct unwind_objects *objects,
						  uint32_t object)
{
	return &objects->objects[object];
}

int unwind_object_rel(const struct abi_unwind_object *object, uint64_t offset, uint32_t *ret_rel)
{
	for (uint32_t i = 0; i < object->segments; i++) {
		const struct abi_unwind_segment *s = &object->segment[i];

		/* mmap begins with whole pages, segments anywhere in them */
		if (offset < page_round_down(s->offset) || offset >= s->end)
			continue;
		*ret_rel = s->rel + (uint32_t)(offset - s->offset);
		return 0;
	}
	return -ENOENT;
}

static size_t rows_used(const struct unwind_objects *objects)
{
	size_t used = 0;

	vec_foreach(&objects->chunks, chunk)
		used += range_pool_used(chunk->pool);
	return used;
}

bool unwind_objects_are_many(const struct unwind_objects *objects)
{
	return range_pool_used(objects->indexes) > ABI_UNWIND_OBJECTS / 4 * 3 ||
	       rows_used(objects) > (ABI_UNWIND_CHUNK_ROWS + MAX_ADDED_ROWS) / 4 * 3;
}

uint32_t unwind_objects_retired(const struct unwind_objects *objects)
{
	uint32_t n = 0;

	vec_foreach(&objects->chunks, chunk)
		n += range_pool_retired(chunk->pool);
	return n;
}

void unwind_objects_grace(struct unwind_objects *objects)
{
	range_pool_grace(objects->indexes);
	vec_foreach(&objects->chunks, chunk)
		range_pool_grace(chunk->pool);
}

void unwind_objects_reuse(struct unwind_objects *objects)
{
	range_pool_reuse(objects->indexes);
	vec_foreach(&objects->chunks, chunk)
		range_pool_reuse(chunk->pool);
}

uint64_t unwind_objects_bytes(const struct unwind_objects *objects)
{
	return rows_used(objects) * sizeof(struct abi_unwind_row);
}

size_t unwind_objects_rules(const struct unwind_objects *objects)
{
	return objects->known.len;
}

int unwind_objects_new(struct memtraced_bpf *skel, struct unwind_objects **ret_objects)
{
	_cleanup_(unwind_objects_free_p) struct unwind_objects *objects =
		calloc(1, sizeof(*objects));
	static const struct abi_unwind_rule none = { .kind = ABI_UNWIND_NONE };
	uint16_t first;
	int r;

	if (!objects)
		return -ENOMEM;
	objects->chunks_fd = bpf_map__fd(skel->maps.unwind_chunks);
	objects->known.ops = &rule_ops;
	r = map_memory(skel->maps.unwind_rules, (void **)&objects->rules, &objects->rules_len);
	if (r == 0)
		r = map_memory(skel->maps.unwind_objects, (void **)&objects->objects,
			       &objects->objects_len);
	if (r == 0)
		r = add_first_chunk(objects, skel);
	if (r == 0) /* number 0 is none */
		r = range_pool_new(1, ABI_UNWIND_OBJECTS, &objects->indexes);
	if (r == 0)
		r = rule_number(objects, &none, &first);
	if (r)
		return r;
	*ret_objects = TAKE_PTR(objects);
	return 0;
}

void unwind_objects_free(struct unwind_objects *objects)
{
	if (!objects)
		return;
	vec_foreach(&objects->chunks, chunk)
		chunk_done(chunk);
	vec_done(&objects->chunks);
	if (objects->rules)
		(void)munmap(objects->rules, objects->rules_len); /* as in chunk_done() */
	if (objects->objects)
		(void)munmap(objects->objects, objects->objects_len);
	range_pool_free(objects->indexes);
	hashmap_done(&objects->known);
	free(objects);
}
