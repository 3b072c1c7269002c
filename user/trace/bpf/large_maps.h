/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of an object that take the kernel milliseconds to make, since it clears arrays and the
 * buckets of hash maps page by page: made before libbpf would make them, one after the other.
 */
#ifndef MEMTRACED_TRACE_BPF_LARGE_MAPS_H
#define MEMTRACED_TRACE_BPF_LARGE_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct bpf_map;
struct bpf_object;

struct later_map {
	struct bpf_map *map;
	uint32_t entries;
};

/* After all sizes are set, before the object is loaded. 0 or negative errno. */
int large_maps_make(struct bpf_object *object);

/*
 * The same of these n, which the object has loaded without, or which stand for those that it has
 * loaded with: its programs go on with theirs.
 */
int large_maps_make_later(const struct later_map *later, size_t n);

#endif
