/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of an object that take the kernel milliseconds to make, since it clears arrays and the
 * buckets of hash maps page by page: made before libbpf would make them, one after the other.
 */
#ifndef MEMTRACED_TRACE_BPF_LARGE_MAPS_H
#define MEMTRACED_TRACE_BPF_LARGE_MAPS_H

#include <stddef.h>

struct bpf_map;
struct bpf_object;

/* After all sizes are set, before the object is loaded. 0 or negative errno. */
int large_maps_make(struct bpf_object *object);

/* The same of these n, which the object has loaded without. */
int large_maps_make_later(struct bpf_map *const *later, size_t n);

#endif
