/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a BPF map in our memory, shared with the programs. */
#ifndef MEMTRACED_TRACE_BPF_MAP_MEMORY_H
#define MEMTRACED_TRACE_BPF_MAP_MEMORY_H

#include <stddef.h>

struct bpf_map;

/* Maps a loaded BPF_F_MMAPABLE map, for munmap(*ret_mem, *ret_len). 0 or negative errno. */
int map_memory(const struct bpf_map *map, void **ret_mem, size_t *ret_len);

#endif
