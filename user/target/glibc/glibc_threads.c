/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each descriptor (nptl/descr.h) is linked into one of three lists, whose heads are side by side in
 * ld.so's _rtld_global (sysdeps/generic/ldsodefs.h):
 *
 *   _dl_stack_used, _dl_stack_user, _dl_stack_cache, _dl_stack_cache_actsize
 *
 * of stacks that are in use, stacks that the program gave (and the first thread), and stacks that
 * are kept, with the sum of these. Where in a descriptor the links are depends on the version: they
 * are found by how they look, and the sum tells that what was found is right.
 */
#include "target/glibc/glibc_threads.h"

#include "target/memory.h"

#include <errno.h>
#include <stdbool.h>

#define WORD sizeof(uint64_t)
#define SMALLEST_PAGE 4096U
#define HEAD_BYTES (2 * WORD)
#define MOST_THREADS (1U << 20)
#define MOST_KEPT (1U << 16)

/* The thread pointer is at its begin, or at its end, and before or behind that is the DTV. */
#define DESCRIPTOR_WORDS 512
#if defined(__x86_64__)
#define WORDS_BEFORE 0U
#define VECTOR_WORD 1U
#else
#define WORDS_BEFORE (DESCRIPTOR_WORDS - 1U)
#define VECTOR_WORD WORDS_BEFORE
#endif

/* list_t of glibc's include/list.h */
struct links {
	uint64_t next, prev;
};

struct descriptor {
	uint64_t tls, start; /* of the words */
	uint64_t words[DESCRIPTOR_WORDS];
};

static bool read_words(const struct memory *memory, uint64_t addr, void *buf, size_t len)
{
	return memory_read_some(memory, addr, buf, len) == (ssize_t)len;
}

static bool read_descriptor(const struct memory *memory, uint64_t tls, struct descriptor *ret)
{
	size_t got;

	ret->tls = tls;
	ret->start = tls - WORDS_BEFORE * WORD;
	/* What is not mapped is no links. */
	return memory_find(memory, tls) &&
	       memory_read(memory, ret->start, ret->words, sizeof(ret->words), &got) == 0;
}

static bool is_node(const struct memory *memory, uint64_t addr, const struct links *links)
{
	struct links next, prev;

	return links->next % WORD == 0 && links->prev % WORD == 0 && links->next != addr &&
	       memory_find(memory, links->next) && memory_find(memory, links->prev) &&
	       read_words(memory, links->next, &next, sizeof(next)) && next.prev == addr &&
	       read_words(memory, links->prev, &prev, sizeof(prev)) && prev.next == addr;
}

/* nptl/descr.h: stackblock, stackblock_size, guardsize. */
static bool find_block(const struct descriptor *descriptor, struct glibc_kept_stack *ret_stack)
{
	for (size_t i = 0; i + 3 <= DESCRIPTOR_WORDS; i++) {
		const uint64_t *words = &descriptor->words[i];
		uint64_t start = words[0], size = words[1], guard = words[2];

		if (start == 0 || (start | size | guard) % SMALLEST_PAGE || guard >= size ||
		    descriptor->tls - start >= size)
			continue;
		*ret_stack = (struct glibc_kept_stack){
			.start = start,
			.end = start + size,
			.vector = descriptor->words[VECTOR_WORD],
		};
		return true;
	}
	return false;
}

/* Does the list of kept stacks begin there? `links_at`: of links, from the thread pointer on. */
static int read_kept(const struct memory *memory, uint64_t head, uint64_t links_at,
		     struct glibc_kept_stacks *stacks)
{
	struct {
		struct links links;
		uint64_t sum;
	} begin;
	uint64_t before = head, at, sum = 0;

	if (!read_words(memory, head, &begin, sizeof(begin)))
		return -ENOENT;
	for (at = begin.links.next; at != head && stacks->list.len < MOST_KEPT;) {
		struct glibc_kept_stack stack;
		struct descriptor descriptor;
		struct links links;
		int r;

		if (!read_words(memory, at, &links, sizeof(links)) || links.prev != before ||
		    !read_descriptor(memory, at - links_at, &descriptor) ||
		    !find_block(&descriptor, &stack))
			return -ENOENT;
		r = vec_push(&stacks->list, stack);
		if (r < 0)
			return r;
		sum += stack.end - stack.start;
		before = at;
		at = links.next;
	}
	return at == head && begin.links.prev == before && sum == begin.sum ? 0 : -ENOENT;
}

/* The list with this node is that of stacks in use, or that of stacks that were given. */
static int find_kept(const struct memory *memory, uint64_t node, uint64_t links_at,
		     struct glibc_kept_stacks *stacks)
{
	struct links links;
	uint64_t at = node;
	int r = -ENOENT;

	for (unsigned int i = 0; i < MOST_THREADS && r == -ENOENT; i++) {
		const struct memory_map *map = memory_find(memory, at);

		for (unsigned int head = 1; map && map->kind == MEMORY_FILE && head <= 2; head++) {
			if (r != -ENOENT)
				break;
			stacks->list.len = 0;
			r = read_kept(memory, at + head * HEAD_BYTES, links_at, stacks);
		}
		if (!read_words(memory, at, &links, sizeof(links)) || links.next == node)
			break;
		at = links.next;
	}
	return r;
}

int glibc_kept_stacks_find(const struct memory *memory, uint64_t tls,
			   struct glibc_kept_stacks *ret_stacks)
{
	struct glibc_kept_stacks stacks = { 0 };
	struct descriptor descriptor;
	int r = -ENOENT;

	if (!read_descriptor(memory, tls, &descriptor))
		return r;
	for (size_t i = 0; i + 2 <= DESCRIPTOR_WORDS && r == -ENOENT; i++) {
		const struct links links = { descriptor.words[i], descriptor.words[i + 1] };
		uint64_t addr = descriptor.start + i * WORD;

		if (is_node(memory, addr, &links))
			r = find_kept(memory, addr, addr - tls, &stacks);
	}
	if (r < 0)
		vec_done(&stacks.list);
	else
		*ret_stacks = stacks;
	return r;
}
