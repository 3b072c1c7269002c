/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/open_ahead.h"

#include "target/file_open.h"
#include "target/proc_maps.h"

#include <string.h>
#include <unistd.h>

void open_ahead_done(struct open_ahead *ahead)
{
	for (size_t i = 0; i < ahead->n; i++)
		close(ahead->files[i].fd);
	ahead->n = 0;
}

int open_ahead_find(const struct open_ahead *ahead, uint32_t dev, uint64_t ino)
{
	for (size_t i = 0; i < ahead->n; i++)
		if (ahead->files[i].dev == dev && ahead->files[i].ino == ino)
			return ahead->files[i].fd;
	return -1;
}

int open_ahead_take(struct open_ahead *ahead, uint32_t dev, uint64_t ino)
{
	for (size_t i = 0; i < ahead->n; i++) {
		int fd = ahead->files[i].fd;

		if (ahead->files[i].dev != dev || ahead->files[i].ino != ino)
			continue;
		memmove(&ahead->files[i], &ahead->files[i + 1],
			(--ahead->n - i) * sizeof(ahead->files[0]));
		return fd;
	}
	return -1;
}

void open_ahead_add(struct open_ahead *ahead, pid_t pid, const struct proc_map *map)
{
	struct opened_file file = { map->dev_major << 20 | map->dev_minor, map->ino, -1 };

	for (size_t i = 0; i < ahead->n; i++)
		if (ahead->files[i].dev == file.dev && ahead->files[i].ino == file.ino)
			return;
	file.fd = proc_map_open(pid, map);
	if (file.fd < 0)
		return;
	if (ahead->n == OPEN_AHEAD_MOST) {
		close(ahead->files[0].fd);
		memmove(&ahead->files[0], &ahead->files[1], --ahead->n * sizeof(ahead->files[0]));
	}
	ahead->files[ahead->n++] = file;
}
