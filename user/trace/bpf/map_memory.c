/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/map_memory.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int map_memory(const struct bpf_map *map, void **ret_mem, size_t *ret_len)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t len = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *mem;

	len = (len + page - 1) / page * page;
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (mem == MAP_FAILED)
		return -errno;
	*ret_mem = mem;
	*ret_len = len;
	return 0;
}
