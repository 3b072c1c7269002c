// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_stacks.h"

#include "sample/book_clock.h"
#include "sample/walk_rules.h"

/* Numbers of all nodes by what they are, to be looked into under the lock. */
static struct {
	uint32_t lock;
	struct book_index nodes;
} known;

/* Of a beginning the address is a time, and none in a key. */
static uint64_t hash_of(const struct abi_book_node *key)
{
	uint64_t hash = (key->address ^ (uint64_t)key->parent << 40 ^ key->flags) *
			UINT64_C(0xff51afd7ed558ccd);

	return (hash ^ hash >> 32 ^ key->parent) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static uint64_t hash_of_node(uint32_t number)
{
	struct abi_book_node key = book.nodes[number];

	if (key.parent)
		key.flags = ABI_BOOK_FRAME_FLAGS(key.flags);
	else
		key.address = 0;
	return hash_of(&key);
}

static bool is_node(uint32_t number, const void *key)
{
	const struct abi_book_node *n = &book.nodes[number], *k = key;

	if (!k->parent)
		return !n->parent && n->flags == k->flags;
	return n->address == k->address && n->parent == k->parent &&
	       ABI_BOOK_FRAME_FLAGS(n->flags) == k->flags;
}

/* Until code is unloaded, which begins other stacks, an address is in one object. */
static uint32_t flags_of(const struct abi_book_node *key)
{
	uint32_t number = walk_rules_object(key->address);

	return key->flags |
	       ABI_BOOK_IN_OBJECT(number < ABI_BOOK_UNKNOWN_OBJECT ? number :
								     ABI_BOOK_UNKNOWN_OBJECT);
}

static uint32_t get_locked(const struct abi_book_node *key)
{
	uint32_t number = book_index_find(&known.nodes, hash_of(key), is_node, key);

	if (number)
		return number;
	number = book.header->nodes + 1;
	if (number >= ABI_BOOK_NODES ||
	    !book_index_make_room(&known.nodes, BOOK_INDEX_SMALL, hash_of_node))
		return ABI_BOOK_NO_NODE;
	book.nodes[number] = *key;
	if (key->parent)
		book.nodes[number].flags = flags_of(key);
	else
		book.nodes[number].address = book_now_ns();
	__atomic_store_n(&book.header->nodes, number, __ATOMIC_RELEASE);
	book_index_put(&known.nodes, hash_of(key), number);
	return number;
}

/* A stack's new frames are numbered from its root on: mostly the next number is the caller's. */
static bool is_next(const struct abi_book_node *key)
{
	return key->parent &&
	       key->parent < __atomic_load_n(&book.header->nodes, __ATOMIC_ACQUIRE) &&
	       is_node(key->parent + 1, key);
}

static uint32_t *near_of(struct book_thread *thread, const struct abi_book_node *key)
{
	return &thread->nodes_near[hash_of(key) & (thread->n_near - 1)];
}

/* Their memory grows with their use: what is not in its new place is looked up once more. */
static void note_near(struct book_thread *thread, const struct abi_book_node *key, uint32_t number)
{
	if (thread->n_near < BOOK_NODES_NEAR && ++thread->not_near == thread->n_near)
		thread->n_near *= 2;
	*near_of(thread, key) = number;
}

/* What is near takes as many loads as the index, which alone needs the lock of several threads. */
static uint32_t get(struct book_thread *thread, uint32_t parent, uint64_t address, uint32_t flags)
{
	const struct abi_book_node key = { address, parent, flags };
	uint32_t *near = book_is_alone() ? NULL : near_of(thread, &key);
	uint32_t number;

	if (is_next(&key))
		return parent + 1;
	if (near && *near && is_node(*near, &key))
		return *near;
	if (!book_lock(&known.lock))
		return ABI_BOOK_NO_NODE;
	number = get_locked(&key);
	book_unlock(&known.lock);
	if (near)
		note_near(thread, &key, number);
	return number;
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
	/* By which form a block was made or freed is read off the stack that was walked. */
	bool is_read = book_wants() & ABI_BOOK_ERRORS;
	uint32_t node = BOOK_RARELY(is_read) ? 0 : walk_recall(w, from);

	if (node)
		return node;
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
	walk_note(w, from, node);
	return node;
}

uint32_t book_stack_of(struct book_thread *thread, const struct abi_book_node *nodes, uint32_t node)
{
	uint32_t path[ABI_MAX_FRAMES + 1], n = 0, own = 0;

	for (; node && n < sizeof(path) / sizeof(path[0]); node = nodes[node].parent)
		path[n++] = node % ABI_BOOK_NODES;
	while (n-- > 0) {
		const struct abi_book_node *is = &nodes[path[n]];

		own = own ? get(thread, own, is->address, ABI_BOOK_FRAME_FLAGS(is->flags)) :
			    get(thread, 0, 0, is->flags);
		if (!own)
			break;
	}
	return own;
}

static uint32_t number_object(void)
{
	uint64_t *times = (uint64_t *)(void *)((char *)book.header + ABI_BOOK_AT_OBJECTS);
	uint32_t number = ABI_BOOK_UNKNOWN_OBJECT;

	if (!book_lock(&known.lock))
		return number;
	if (book.header->loaded + 1 < number) {
		number = book.header->loaded + 1;
		times[number] = book_now_ns();
		__atomic_store_n(&book.header->loaded, number, __ATOMIC_RELEASE);
	}
	book_unlock(&known.lock);
	return number;
}

void book_stacks_begin(void)
{
	book_index_free(&known.nodes);
	known.lock = 0;
	walk_rules_number(number_object);
}

BOOK_SELDOM void book_note_gone(uint64_t start, uint64_t end)
{
	struct abi_book_gone *all, *entry;
	uint32_t n;

	if (!book.header)
		return;
	all = (struct abi_book_gone *)(void *)((char *)book.header + ABI_BOOK_AT_GONE);
	n = __atomic_fetch_add(&book.header->gone, 1, __ATOMIC_RELAXED);
	if (n >= ABI_BOOK_GONE - 1) {
		n = ABI_BOOK_GONE - 1;
		__atomic_store_n(&book.header->gone, ABI_BOOK_GONE, __ATOMIC_RELAXED);
		start = 0;
		end = UINT64_MAX;
	}
	entry = &all[n];
	entry->start = start;
	entry->end = end;
	__atomic_store_n(&entry->time_ns, book_now_ns(), __ATOMIC_RELEASE);
}
