/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/unwind_spaces.h"

#include "base/vec.h"
#include "memtraced.skel.h"
#include "trace/bpf/map_memory.h"
#include "trace/kernel/urgent.h"
#include "trace/unwind/code_list.h"
#include "trace/unwind/range_pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Recent mappings that are left to the programs: they are searched one by one. */
#define RECENTS_LEFT 8

/* Sorted mappings in the map; several spaces may use them. */
struct sorted {
	uint32_t first, n;
	uint32_t users;
};

struct unwind_space {
	struct unwind_spaces *owner;
	uint32_t slot;
	struct code_list code;
	struct sorted *sorted; /* NULL: none yet */
	struct code_numbers numbers;
	uint64_t word;	 /* as written at the last sync */
	uint32_t merged; /* numbers.merged then */
	bool changed;
};

struct unwind_spaces {
	int fd;
	struct abi_unwind_mapping *mappings;
	uint64_t *words; /* ABI_UNWIND_SORTED by slot */
	size_t mappings_len, words_len;
	struct range_pool *pool;
	VEC(struct unwind_space *) all;
	VEC(struct unwind_space *) changed;
	uint64_t refused;
};

int unwind_spaces_new(struct memtraced_bpf *skel, struct unwind_spaces **ret_spaces)
{
	_cleanup_(unwind_spaces_free_p) struct unwind_spaces *spaces = calloc(1, sizeof(*spaces));
	int r;

	if (!spaces)
		return -ENOMEM;
	spaces->fd = bpf_map__fd(skel->maps.unwind_spaces);
	r = map_memory(skel->maps.unwind_mappings, (void **)&spaces->mappings,
		       &spaces->mappings_len);
	if (r == 0)
		r = map_memory(skel->maps.unwind_sorted, (void **)&spaces->words,
			       &spaces->words_len);
	if (r == 0)
		r = range_pool_new(0, bpf_map__max_entries(skel->maps.unwind_mappings),
				   &spaces->pool);
	if (r)
		return r;
	*ret_spaces = TAKE_PTR(spaces);
	return 0;
}

static void space_done(struct unwind_space *space)
{
	code_list_done(&space->code);
	free(space);
}

void unwind_spaces_free(struct unwind_spaces *spaces)
{
	if (!spaces)
		return;
	vec_foreach(&spaces->all, space) {
		if ((*space)->sorted && --(*space)->sorted->users == 0)
			free((*space)->sorted);
		space_done(*space);
	}
	vec_done(&spaces->all);
	vec_done(&spaces->changed);
	range_pool_free(spaces->pool);
	if (spaces->mappings)
		(void)munmap(spaces->mappings, spaces->mappings_len); /* it is not used */
	if (spaces->words)
		(void)munmap(spaces->words, spaces->words_len);
	free(spaces);
}

static void leave_sorted(struct unwind_space *space)
{
	struct sorted *sorted = space->sorted;

	space->sorted = NULL;
	if (!sorted || --sorted->users > 0)
		return;
	if (sorted->n)
		range_pool_retire(space->owner->pool, sorted->first, sorted->n);
	free(sorted);
}

static int mark_changed(struct unwind_space *space)
{
	int r;

	if (space->changed)
		return 0;
	r = vec_push(&space->owner->changed, space);
	space->changed = r == 0;
	return r;
}

int unwind_space_new(struct unwind_spaces *spaces, uint32_t slot, struct unwind_space **ret_space)
{
	const struct abi_unwind_space empty = { .slot = slot };
	struct unwind_space *space = calloc(1, sizeof(*space));
	int r;

	if (!space)
		return -ENOMEM;
	space->owner = spaces;
	space->slot = slot;
	r = vec_push(&spaces->all, space);
	if (r) {
		space_done(space);
		return r;
	}
	*ret_space = space;
	/* From now on programs append to it. -EEXIST: they do already. */
	r = urgent_add(spaces->fd, &slot, &empty);
	if (r && r != -EEXIST)
		spaces->refused++;
	return 0;
}

void unwind_space_begin(struct unwind_space *space, uint32_t noted)
{
	for (uint32_t number = 1; number <= noted; number++)
		code_numbers_add(&space->numbers, number);
}

/* What another thread appended to the parent's space after the copy is told of before the fork. */
static struct code_numbers numbers_of_child(const struct unwind_space *child,
					    const struct code_numbers *parent)
{
	struct abi_unwind_space copied;

	if (urgent_lookup(child->owner->fd, &child->slot, &copied) ||
	    (int32_t)(copied.appended - parent->merged) >= 0)
		return *parent;
	return (struct code_numbers){ .merged = copied.appended };
}

int unwind_space_fork(struct unwind_space *parent, uint32_t slot, struct unwind_space **ret_space)
{
	struct unwind_spaces *spaces = parent->owner;
	struct unwind_space *space;
	uint64_t copied = __atomic_load_n(&spaces->words[slot], __ATOMIC_RELAXED);
	int r = unwind_space_new(spaces, slot, &space);

	if (r)
		return r;
	*ret_space = space;
	r = code_list_copy(&parent->code, &space->code);
	if (r)
		return r;
	space->numbers = numbers_of_child(space, &parent->numbers);
	/* The programs have copied what the parent has still, if it was not changed since. */
	if (!parent->sorted || parent->changed || copied != parent->word)
		return mark_changed(space);
	space->sorted = parent->sorted;
	space->sorted->users++;
	space->word = parent->word;
	space->merged = parent->merged;
	return 0;
}

static void remove_from(struct unwind_space **list, size_t *n, const struct unwind_space *space)
{
	for (size_t i = *n; i > 0; i--) {
		if (list[i - 1] != space)
			continue;
		list[i - 1] = list[--*n];
		return;
	}
}

void unwind_space_free(struct unwind_space *space)
{
	struct unwind_spaces *spaces;

	if (!space)
		return;
	spaces = space->owner;
	(void)urgent_delete(spaces->fd, &space->slot); /* -ENOENT: there was no room for it */
	/* The slot's next image begins with nothing. */
	__atomic_store_n(&spaces->words[space->slot], 0, __ATOMIC_RELEASE);
	leave_sorted(space);
	remove_from(spaces->all.data, &spaces->all.len, space);
	if (space->changed)
		remove_from(spaces->changed.data, &spaces->changed.len, space);
	space_done(space);
}

int unwind_space_put(struct unwind_space *space, const struct abi_unwind_mapping *map,
		     uint32_t number)
{
	int r = code_list_put(&space->code, map);

	if (r)
		return r;
	if (number) {
		code_numbers_add(&space->numbers, number);
		if (number - space->merged < RECENTS_LEFT)
			return 0;
	}
	return mark_changed(space);
}

/* Whether the object stood in the list. */
static bool replace_in(struct code_list *code, uint32_t old, uint32_t now)
{
	size_t kept = 0;
	bool any = false;

	for (size_t i = 0; i < code->maps.len; i++) {
		struct abi_unwind_mapping *map = &code->maps.data[i];

		if (map->object == old) {
			any = true;
			map->object = now;
		}
		if (map->object)
			code->maps.data[kept++] = *map;
	}
	code->maps.len = kept;
	return any;
}

int unwind_spaces_replace(struct unwind_spaces *spaces, uint32_t old, uint32_t now)
{
	vec_foreach(&spaces->all, space) {
		int r = replace_in(&(*space)->code, old, now) ? mark_changed(*space) : 0;

		if (r)
			return r;
	}
	return 0;
}

void unwind_spaces_mark_used(const struct unwind_spaces *spaces, bool *used)
{
	vec_foreach(&spaces->all, space)
		vec_foreach(&(*space)->code.maps, map)
			used[map->object] = true;
}

static int write_sorted(struct unwind_space *space, struct sorted **ret_sorted)
{
	const struct code_list *code = &space->code;
	struct sorted *sorted = calloc(1, sizeof(*sorted));
	int r;

	if (!sorted)
		return -ENOMEM;
	*sorted = (struct sorted){ .n = code->maps.len, .users = 1 };
	r = sorted->n ? range_pool_take(space->owner->pool, sorted->n, &sorted->first) : 0;
	if (r) {
		free(sorted);
		return r;
	}
	if (sorted->n)
		memcpy(space->owner->mappings + sorted->first, code->maps.data,
		       sorted->n * sizeof(code->maps.data[0]));
	*ret_sorted = sorted;
	return 0;
}

/* One word: programs see the old or the new. */
static int sync_space(struct unwind_space *space)
{
	struct unwind_spaces *spaces = space->owner;
	struct sorted *sorted;
	int r = write_sorted(space, &sorted);

	if (r)
		return r;
	space->word = ABI_UNWIND_SORTED(sorted->first, sorted->n, space->numbers.merged);
	space->merged = space->numbers.merged;
	__atomic_store_n(&spaces->words[space->slot], space->word, __ATOMIC_RELEASE);
	leave_sorted(space);
	space->sorted = sorted;
	return 0;
}

int unwind_spaces_sync(struct unwind_spaces *spaces)
{
	vec_foreach(&spaces->changed, space) {
		int r = sync_space(*space);

		if (r == -ENOMEM)
			return r;
		if (r)
			spaces->refused++;
		(*space)->changed = false;
	}
	spaces->changed.len = 0;
	return 0;
}

uint64_t unwind_spaces_refused(const struct unwind_spaces *spaces)
{
	return spaces->refused;
}

uint64_t unwind_spaces_bytes(const struct unwind_spaces *spaces)
{
	const size_t each = sizeof(struct abi_unwind_space) + sizeof(spaces->words[0]);

	return spaces->all.len * each +
	       range_pool_used(spaces->pool) * sizeof(struct abi_unwind_mapping);
}

uint32_t unwind_spaces_retired(const struct unwind_spaces *spaces)
{
	return range_pool_retired(spaces->pool);
}

void unwind_spaces_grace(struct unwind_spaces *spaces)
{
	range_pool_grace(spaces->pool);
}

void unwind_spaces_reuse(struct unwind_spaces *spaces)
{
	range_pool_reuse(spaces->pool);
}
