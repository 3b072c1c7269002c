/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/unwind_tables.h"

#include "base/log.h"
#include "elf/cfi/cfi_cache.h"
#include "elf/cfi/cfi_rows.h"
#include "probe/object_reader.h"
#include "sandbox/worker.h"
#include "target/proc_maps.h"
#include "trace/bpf/grace.h"
#include "trace/bpf/programs.h"
#include "trace/unwind/unwind_objects.h"
#include "trace/unwind/unwind_spaces.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Up to this much code the rows for any instruction are taken: 200 KB for glibc's 1.4 MB, where
 * those for return addresses take 20.
 */
#define FITTING_CODE (4U << 20)

/* Retired mappings and rows from which on it is worth to wait for a grace period: 8 to 20 ms. */
#define RETIRED_MAPPINGS (UNWIND_MAPPINGS / 4)
#define RETIRED_ROWS UNWIND_FIRST_ROWS

struct unwind_tables {
	struct worker *worker;
	struct cfi_cache *cache; /* NULL: there is no place for it */
	struct unwind_objects *objects;
	struct unwind_spaces *spaces;
	uint32_t vdso;
	bool vdso_known;
	bool graced; /* some has had its grace period and waits for a drain */
	size_t n_objects;
	uint64_t refused;
	uint64_t unread;
	uint64_t given_up;
};

int unwind_tables_new(struct programs *programs, struct worker *worker,
		      struct unwind_tables **ret_tables)
{
	_cleanup_(unwind_tables_free_p) struct unwind_tables *tables = calloc(1, sizeof(*tables));
	int r;

	if (!tables)
		return -ENOMEM;
	tables->worker = worker;
	/* Without it, files are compiled in each run: 4 ms for glibc. */
	if (cfi_cache_open(NULL, CFI_CACHE_BYTES, &tables->cache))
		log_debug("unwind rows are not kept: no folder for them");
	r = unwind_objects_new(programs->skel, &tables->objects);
	if (r == 0)
		r = unwind_spaces_new(programs->skel, &tables->spaces);
	if (r)
		return r;
	*ret_tables = TAKE_PTR(tables);
	return 0;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	if (tables->objects && tables->spaces)
		log_debug("unwind tables: %zu files, %" PRIu64 " given up, %zu rules, %" PRIu64
			  " KiB of rows, %" PRIu64 " bytes of processes",
			  tables->n_objects, tables->given_up,
			  unwind_objects_rules(tables->objects),
			  unwind_objects_bytes(tables->objects) / 1024,
			  unwind_spaces_bytes(tables->spaces));
	if (tables->cache) {
		const struct cfi_cache_counts *counts = cfi_cache_counts(tables->cache);

		log_debug("unwind rows on disk: %u found, %u not, of which %u refused",
			  counts->hits, counts->misses, counts->refused);
	}
	unwind_spaces_free(tables->spaces);
	unwind_objects_free(tables->objects);
	cfi_cache_free(tables->cache);
	free(tables);
}

static int find_rows(struct unwind_tables *tables, int fd, const struct cfi_key *key,
		     struct cfi_rows **ret_rows)
{
	int r = tables->cache ? cfi_cache_get(tables->cache, key, ret_rows) : -ENOENT;

	if (r != -ENOENT)
		return r;
	r = object_read_rows(tables->worker, fd, key, ret_rows);
	if (r == 0 && tables->cache)
		(void)cfi_cache_put(tables->cache, key, *ret_rows); /* else compiled each time */
	return r;
}

static int add_rows(struct unwind_tables *tables, int fd, const struct cfi_facts *facts,
		    bool pruned, uint32_t *ret_object)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct cfi_key key = facts->key;
	int r;

	key.pruned = pruned;
	r = find_rows(tables, fd, &key, &rows);
	if (r == -EPIPE || r == -EAGAIN)
		tables->unread++;
	return r ? r :
		   unwind_objects_add(tables->objects, rows, facts->segments, facts->n_segments,
				      ret_object);
}

int unwind_tables_add(struct unwind_tables *tables, int fd, const struct cfi_facts *facts,
		      enum unwind_rows_kind kind, uint32_t *ret_object)
{
	uint64_t code = 0;
	bool large;
	int r;

	*ret_object = 0;
	for (uint32_t i = 0; i < facts->n_segments; i++)
		code += facts->segments[i].end - facts->segments[i].offset;
	large = code > FITTING_CODE;
	r = add_rows(tables, fd, facts, large && kind == UNWIND_ROWS_FITTING, ret_object);
	if (r == -ENOSPC) {
		tables->refused++;
		if (large && kind == UNWIND_ROWS_FULL)
			r = add_rows(tables, fd, facts, true, ret_object);
	}
	if (r == 0)
		tables->n_objects++;
	return r == -ENOMEM ? r : 0;
}

bool unwind_tables_pruned(const struct unwind_tables *tables, uint32_t object)
{
	return unwind_objects_at(tables->objects, object)->flags & ABI_UNWIND_PRUNED;
}

int unwind_tables_replace(struct unwind_tables *tables, uint32_t old, uint32_t now)
{
	int r = unwind_spaces_replace(tables->spaces, old, now);

	if (r)
		return r;
	unwind_objects_retire(tables->objects, old);
	tables->n_objects--;
	tables->given_up++;
	return 0;
}

bool unwind_tables_short(const struct unwind_tables *tables)
{
	return unwind_objects_are_many(tables->objects);
}

void unwind_tables_mark_used(const struct unwind_tables *tables, bool *used)
{
	unwind_spaces_mark_used(tables->spaces, used);
	used[tables->vdso] = true;
}

int unwind_tables_space(struct unwind_tables *tables, uint32_t slot,
			struct unwind_space **ret_space)
{
	return unwind_space_new(tables->spaces, slot, ret_space);
}

int unwind_tables_map(struct unwind_tables *tables, struct unwind_space *space, uint64_t start,
		      uint64_t end, uint64_t offset, uint32_t object, uint32_t number)
{
	struct abi_unwind_mapping map = { .start = start, .len = end - start };

	if (end - start > ABI_UNWIND_MAX_LEN)
		return 0;
	if (object &&
	    !unwind_object_rel(unwind_objects_at(tables->objects, object), offset, &map.rel))
		map.object = object;
	return unwind_space_put(space, &map, number);
}

/* Our own: all 64-bit processes have the same. */
static int vdso_copy(int *ret_fd)
{
	_cleanup_(proc_maps_done) struct proc_maps maps = {};
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : proc_maps_read(getpid(), &maps);

	for (size_t i = 0; r == 0 && i < maps.n_maps; i++) {
		const struct proc_map *map = &maps.maps[i];
		size_t len = map->end - map->start;

		if (strcmp(map->path, "[vdso]") != 0)
			continue;
		/* a memory file takes it all or fails */
		r = write(fd, (const void *)(uintptr_t)map->start, len) == (ssize_t)len ? 0 : -EIO;
		if (r == 0)
			*ret_fd = TAKE_FD(fd);
		return r;
	}
	return r ? r : -ENOENT;
}

static int vdso_add(struct unwind_tables *tables)
{
	const struct object_wants wants = { .path = "[vdso]", .unwinding = true };
	_cleanup_(object_facts_done) struct object_facts facts = {};
	_cleanup_close_ int fd = -1;
	int r = vdso_copy(&fd);

	if (r == 0)
		r = worker_believe(tables->worker, fd);
	if (r == 0)
		r = object_read_facts(tables->worker, fd, &wants, &facts);
	if (r == -EPIPE || r == -EAGAIN)
		tables->unread++;
	if (r == 0 && facts.is_elf)
		r = unwind_tables_add(tables, fd, &facts.unwind, UNWIND_ROWS_FULL, &tables->vdso);
	(void)worker_believe(tables->worker, -1); /* cannot fail */
	/* Without it, stacks through it are cut there. */
	return r == -ENOMEM ? r : 0;
}

int unwind_tables_map_vdso(struct unwind_tables *tables, struct unwind_space *space, uint64_t start,
			   uint64_t end)
{
	if (!tables->vdso_known) {
		int r = vdso_add(tables);

		if (r)
			return r;
		tables->vdso_known = true;
	}
	return unwind_tables_map(tables, space, start, end, 0, tables->vdso, 0);
}

int unwind_tables_sync(struct unwind_tables *tables)
{
	return unwind_spaces_sync(tables->spaces);
}

/*
 * What is retired now may still be read by a program that has found it, until a grace period is
 * over; and by a forked child that has copied it, until its fork has been drained, and with it the
 * child's space is ours to change.
 */
void unwind_tables_drained(struct unwind_tables *tables)
{
	if (tables->graced) {
		unwind_objects_reuse(tables->objects);
		unwind_spaces_reuse(tables->spaces);
		tables->graced = false;
	}
	if (unwind_spaces_retired(tables->spaces) < RETIRED_MAPPINGS &&
	    unwind_objects_retired(tables->objects) < RETIRED_ROWS)
		return;
	if (grace_wait())
		return;
	unwind_objects_grace(tables->objects);
	unwind_spaces_grace(tables->spaces);
	tables->graced = true;
}

uint64_t unwind_tables_unread(const struct unwind_tables *tables)
{
	return tables->unread;
}

uint64_t unwind_tables_refused(const struct unwind_tables *tables)
{
	return tables->refused + unwind_spaces_refused(tables->spaces);
}
