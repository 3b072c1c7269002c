/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/large_maps.h"

#include "base/cleanup.h"
#include "base/threads.h"
#include "base/vec.h"
#include "trace/kernel/beside_loop.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>

/* Below it a map is made in less than a thread is started. */
#define LARGE_BYTES (1U << 20)
/* Of a hash map: struct bucket in kernel/bpf/hashtab.c. */
#define BUCKET_BYTES 16

struct large_map {
	struct bpf_map *map;
	uint32_t entries;
	uint64_t bytes;
	int fd; /* or negative errno */
};

struct large_maps {
	VEC(struct large_map) all;
};

static void large_maps_done(struct large_maps *maps)
{
	vec_foreach(&maps->all, large)
		if (large->fd >= 0)
			close(large->fd);
	vec_done(&maps->all);
}

/* What is allocated at once, more or less; 0 for types that the programs have no large ones of. */
static uint64_t first_bytes(const struct bpf_map *map, uint64_t n)
{
	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_ARRAY:
		return n * bpf_map__value_size(map);
	case BPF_MAP_TYPE_HASH:
		return n * BUCKET_BYTES;
	default:
		return 0;
	}
}

static void make_map(size_t i, void *userdata)
{
	struct large_maps *maps = userdata;
	struct large_map *large = &maps->all.data[i];
	const struct bpf_map *map = large->map;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(map));

	large->fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
				   bpf_map__value_size(map), large->entries, &opts);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct large_map *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* What is charged to a cgroup is allocated and cleared page by page without a look at the clock. */
static int make_all(struct large_maps *maps)
{
	_beside_loop_;
	int r = 0;

	vec_sort(&maps->all, compare_bytes);
	parallel_each(maps->all.len, make_map, maps);
	for (size_t i = 0; i < maps->all.len && r == 0; i++) {
		const struct large_map *large = &maps->all.data[i];

		r = large->fd < 0 ? large->fd : bpf_map__reuse_fd(large->map, large->fd);
	}
	return r;
}

int large_maps_make(struct bpf_object *object)
{
	_cleanup_(large_maps_done) struct large_maps maps = {};
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const uint32_t entries = bpf_map__max_entries(map);
		const uint64_t bytes = first_bytes(map, entries);

		/* Those that libbpf fills are its own. */
		if (bytes < LARGE_BYTES || !bpf_map__autocreate(map) || bpf_map__is_internal(map) ||
		    bpf_map__fd(map) >= 0)
			continue;
		if (vec_push(&maps.all, (struct large_map){ map, entries, bytes, -1 }))
			return -ENOMEM;
	}
	return make_all(&maps);
}

int large_maps_make_later(const struct later_map *later, size_t n)
{
	_cleanup_(large_maps_done) struct large_maps maps = {};

	for (size_t i = 0; i < n; i++) {
		const struct large_map large = { later[i].map, later[i].entries,
						 first_bytes(later[i].map, later[i].entries), -1 };

		if (vec_push(&maps.all, large))
			return -ENOMEM;
	}
	return make_all(&maps);
}
