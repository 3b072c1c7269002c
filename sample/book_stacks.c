// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_stacks.h"

#include "sample/walk_rules.h"

#include <string.h>
#include <time.h>

#define FIRST_PLACES 1024

/* Numbers of all nodes by what they are: a hash table, to be looked into under the lock. */
static struct {
	uint32_t lock;
	uint32_t *places;
	uint32_t n_places; /* a power of two */
} known;

static uint64_t hash_of(uint32_t parent, uint64_t address, uint32_t flags)
{
	uint64_t hash = (address ^ (uint64_t)parent << 40 ^ flags) * UINT64_C(0xff51afd7ed558ccd);

	return (hash ^ hash >> 32 ^ parent) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static bool is_node(uint32_t node, uint32_t parent, uint64_t address, uint32_t flags)
{
	const struct abi_book_node *n = &book.nodes[node];

	/* Of a beginning the address is a time. */
	return node && (!parent || n->address == address) && n->parent == parent &&
	       n->flags == flags;
}

/* Where it is or would be put. */
static uint32_t *place_of(uint32_t parent, uint64_t address, uint32_t flags)
{
	uint64_t at = hash_of(parent, address, flags);

	for (;; at++) {
		uint32_t *place = &known.places[at & (known.n_places - 1)];

		if (!*place || is_node(*place, parent, address, flags))
			return place;
	}
}

static bool make_room(void)
{
	uint32_t *old = known.places, n_old = known.n_places;
	uint32_t n = n_old ? n_old * 2 : FIRST_PLACES;
	uint32_t *places;

	if (n_old && book.header->nodes < n_old / 2)
		return true;
	places = book_pages(n * sizeof(*places));
	if (!places)
		return n_old && book.header->nodes + 1 < n_old;
	known.places = places;
	known.n_places = n;
	for (uint32_t i = 0; i < n_old; i++) {
		const struct abi_book_node *node = &book.nodes[old[i]];

		if (old[i])
			*place_of(node->parent, node->parent ? node->address : 0, node->flags) =
				old[i];
	}
	book_pages_free(old, n_old * sizeof(*old));
	return true;
}

static uint64_t time_now(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) ?
		       0 :
		       (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint32_t get_locked(uint32_t parent, uint64_t address, uint32_t flags)
{
	uint32_t *place, number;

	if (!make_room())
		return ABI_BOOK_NO_NODE;
	place = place_of(parent, address, flags);
	if (*place)
		return *place;
	number = book.header->nodes + 1;
	if (number >= ABI_BOOK_NODES)
		return ABI_BOOK_NO_NODE;
	book.nodes[number] = (struct abi_book_node){ parent ? address : time_now(), parent, flags };
	__atomic_store_n(&book.header->nodes, number, __ATOMIC_RELEASE);
	*place = number;
	return number;
}

static uint32_t get(struct book_thread *thread, uint32_t parent, uint64_t address, uint32_t flags)
{
	uint32_t *near = &thread->nodes_near[hash_of(parent, address, flags) % BOOK_NODES_NEAR];

	if (is_node(*near, parent, address, flags))
		return *near;
	if (!book_lock(&known.lock))
		return ABI_BOOK_NO_NODE;
	*near = get_locked(parent, address, flags);
	book_unlock(&known.lock);
	return *near;
}

/* The node that all that was joined comes from, or where the new frames begin. */
static uint32_t begin(struct book_thread *thread)
{
	struct walker *w = &thread->walker;

	if (w->joined)
		return w->path[w->joined - 1].node;
	return get(thread, 0, 0, ABI_BOOK_ROOT((uint32_t)w->cut, walk_epoch()));
}

uint32_t book_stack(struct book_thread *thread, const struct walk_registers *from)
{
	struct walker *w = &thread->walker;
	uint32_t node;

	walk(w, from);
	node = begin(thread);
	for (uint32_t i = w->n_fresh; i-- > 0 && node;) {
		struct walk_frame *frame = &w->fresh[i];

		node = get(thread, node, frame->pc, frame->flags);
		frame->node = node;
	}
	if (!node) {
		w->n_path = 0;
		book_lose(ABI_BOOK_LOST_NODES);
		return ABI_BOOK_NO_NODE;
	}
	walk_keep(w);
	return node;
}

uint32_t book_stack_of(struct book_thread *thread, const struct abi_book_node *nodes, uint32_t node)
{
	uint32_t path[ABI_MAX_FRAMES + 1], n = 0, own = 0;

	for (; node && n < sizeof(path) / sizeof(path[0]); node = nodes[node].parent)
		path[n++] = node % ABI_BOOK_NODES;
	while (n-- > 0) {
		const struct abi_book_node *is = &nodes[path[n]];

		own = get(thread, own, own ? is->address : 0, is->flags);
		if (!own)
			break;
	}
	return own;
}

void book_stacks_begin(void)
{
	book_pages_free(known.places, known.n_places * sizeof(*known.places));
	memset(&known, 0, sizeof(known));
}
