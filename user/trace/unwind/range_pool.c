/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/range_pool.h"

#include "base/vec.h"

#include <string.h>

struct range {
	uint32_t first, end;
};

struct retired {
	struct range range;
	bool graced;
};

struct range_pool {
	VEC(struct range) free; /* ascending; none touches the next */
	VEC(struct retired) retired;
	uint32_t used, waiting;
};

int range_pool_new(uint32_t first, uint32_t end, struct range_pool **ret_pool)
{
	_cleanup_(range_pool_free_p) struct range_pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	r = vec_push(&pool->free, (struct range){ first, end });
	if (r)
		return r;
	*ret_pool = TAKE_PTR(pool);
	return 0;
}

void range_pool_free(struct range_pool *pool)
{
	if (!pool)
		return;
	vec_done(&pool->free);
	vec_done(&pool->retired);
	free(pool);
}

static void remove_free(struct range_pool *pool, size_t at)
{
	pool->free.len--;
	memmove(pool->free.data + at, pool->free.data + at + 1,
		(pool->free.len - at) * sizeof(pool->free.data[0]));
}

int range_pool_take(struct range_pool *pool, uint32_t n, uint32_t *ret_first)
{
	for (size_t i = 0; i < pool->free.len; i++) {
		struct range *range = &pool->free.data[i];

		if (range->end - range->first < n)
			continue;
		*ret_first = range->first;
		range->first += n;
		pool->used += n;
		if (range->first == range->end)
			remove_free(pool, i);
		return 0;
	}
	return -ENOSPC;
}

void range_pool_retire(struct range_pool *pool, uint32_t first, uint32_t n)
{
	pool->used -= n;
	if (vec_push(&pool->retired, (struct retired){ .range = { first, first + n } }))
		return;
	pool->waiting += n;
}

uint32_t range_pool_retired(const struct range_pool *pool)
{
	return pool->waiting;
}

uint32_t range_pool_used(const struct range_pool *pool)
{
	return pool->used;
}

void range_pool_grace(struct range_pool *pool)
{
	vec_foreach(&pool->retired, retired)
		retired->graced = true;
}

/* Joins it with its free neighbours. Without memory it stays what it is: not free. */
static int insert_free(struct range_pool *pool, struct range range)
{
	size_t at = 0;
	int r;

	while (at < pool->free.len && pool->free.data[at].end < range.first)
		at++;
	if (at < pool->free.len && pool->free.data[at].end == range.first) {
		range.first = pool->free.data[at].first;
		remove_free(pool, at);
	}
	if (at < pool->free.len && pool->free.data[at].first == range.end) {
		range.end = pool->free.data[at].end;
		remove_free(pool, at);
	}
	r = vec_reserve(&pool->free, pool->free.len + 1);
	if (r)
		return r;
	memmove(pool->free.data + at + 1, pool->free.data + at,
		(pool->free.len - at) * sizeof(pool->free.data[0]));
	pool->free.data[at] = range;
	pool->free.len++;
	return 0;
}

void range_pool_reuse(struct range_pool *pool)
{
	size_t kept = 0;

	for (size_t i = 0; i < pool->retired.len; i++) {
		struct retired *retired = &pool->retired.data[i];

		if (retired->graced && insert_free(pool, retired->range) == 0)
			pool->waiting -= retired->range.end - retired->range.first;
		else
			pool->retired.data[kept++] = *retired;
	}
	pool->retired.len = kept;
}
