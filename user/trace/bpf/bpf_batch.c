/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/bpf_batch.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "trace/kernel/urgent.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

struct chosen {
	bpf_batch_choose_fn choose;
	const void *userdata;
	size_t key_size;
	VEC(unsigned char) keys;
};

static int collect_chosen(const void *keys, const void *values, size_t n, void *userdata)
{
	struct chosen *chosen = userdata;

	(void)values; /* keys are what is chosen by */
	for (size_t i = 0; i < n; i++) {
		const unsigned char *key = (const unsigned char *)keys + i * chosen->key_size;

		if (!chosen->choose(key, chosen->userdata))
			continue;
		if (vec_reserve(&chosen->keys, chosen->keys.len + chosen->key_size))
			return -ENOMEM;
		memcpy(chosen->keys.data + chosen->keys.len, key, chosen->key_size);
		chosen->keys.len += chosen->key_size;
	}
	return 0;
}

int bpf_batch_purge(int map_fd, size_t key_size, size_t value_size, bpf_batch_choose_fn choose,
		    const void *userdata, void **ret_keys, size_t *ret_len)
{
	struct chosen chosen = { choose, userdata, key_size, { 0 } };
	int r = bpf_batch_read(map_fd, key_size, value_size, collect_chosen, &chosen);

	if (r == 0)
		bpf_batch_delete(map_fd, key_size, chosen.keys.data, chosen.keys.len);
	if (r == 0 && ret_keys) {
		*ret_keys = chosen.keys.data;
		*ret_len = chosen.keys.len;
		return 0;
	}
	vec_done(&chosen.keys);
	return r;
}
