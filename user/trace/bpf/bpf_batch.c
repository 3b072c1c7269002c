/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/bpf_batch.h"

#include "base/cleanup.h"
#include "trace/kernel/urgent.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* A bucket must fit whole, else the kernel says ENOSPC; then the room is doubled. */
#define BATCH_FIRST 4096
#define BATCH_MOST (1U << 20)

static int resize(void **keys, void **values, size_t key_size, size_t value_size, size_t n)
{
	void *p = reallocarray(*keys, n, key_size);

	if (!p)
		return -ENOMEM;
	*keys = p;
	p = reallocarray(*values, n, value_size);
	if (!p)
		return -ENOMEM;
	*values = p;
	return 0;
}

static int lookup_urgently(int map_fd, void *position, void *next, void *keys, void *values,
			   uint32_t *n)
{
	_urgent_;

	return bpf_map_lookup_batch(map_fd, position, next, keys, values, n, NULL);
}

void bpf_batch_delete(int map_fd, size_t key_size, const void *keys, size_t len)
{
	_urgent_;

	for (size_t at = 0; at < len; at += key_size)
		(void)bpf_map_delete_elem(map_fd, (const char *)keys + at); /* gone: fine */
}

int bpf_batch_read(int map_fd, size_t key_size, size_t value_size, bpf_batch_fn fn, void *userdata)
{
	_cleanup_free_ void *keys = NULL, *values = NULL;
	uint32_t room = BATCH_FIRST, n, position = 0, next = 0;
	bool first = true;
	int r = resize(&keys, &values, key_size, value_size, room);

	if (r)
		return r;
	for (;;) {
		int last;

		n = room;
		last = lookup_urgently(map_fd, first ? NULL : &position, &next, keys, values, &n);
		if (last == -ENOSPC && room < BATCH_MOST) {
			room *= 2;
			r = resize(&keys, &values, key_size, value_size, room);
			if (r)
				return r;
			continue;
		}
		if (last && last != -ENOENT)
			return last;
		r = n ? fn(keys, values, n, userdata) : 0;
		if (r || last)
			return r;
		first = false;
		position = next;
	}
}
