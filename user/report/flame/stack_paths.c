/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/flame/stack_paths.h"

#include "base/saturate.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void stack_paths_done(struct stack_paths *paths)
{
	interns_done(&paths->names);
	strbuf_done(&paths->key);
	vec_done(&paths->frames);
	vec_done(&paths->paths);
	vec_done(&paths->by_rank);
	vec_done(&paths->open);
	vec_done(&paths->path);
}

int stack_paths_begin(struct stack_paths *paths, unsigned int side, uint64_t value)
{
	return vec_push(&paths->paths, (struct stack_path){ .first = paths->frames.len,
							    .side = side,
							    .value = value });
}

int stack_paths_push(struct stack_paths *paths, enum path_kind kind, const char *name)
{
	size_t number;
	int r;

	strbuf_reset(&paths->key);
	strbuf_addch(&paths->key, (char)('0' + kind));
	strbuf_adds(&paths->key, name);
	r = strbuf_error(&paths->key);
	if (r == 0)
		r = interns_add_string(&paths->names, strbuf_str(&paths->key), &number);
	if (r < 0)
		return r;
	r = vec_push(&paths->frames, (uint32_t)number);
	if (r == 0)
		paths->paths.data[paths->paths.len - 1].n++;
	return r;
}

struct ranked {
	const char *key;
	uint32_t number;
};

static int compare_names(const void *item_a, const void *item_b)
{
	const struct ranked *a = item_a, *b = item_b;
	int by_name = strcmp(a->key + 1, b->key + 1);

	return by_name ? by_name : a->key[0] - b->key[0];
}

/* Numbers of names become their ranks. */
static int rank_names(struct stack_paths *paths)
{
	size_t n = interns_count(&paths->names);
	_cleanup_free_ struct ranked *ranked = calloc(n + 1, sizeof(*ranked));
	_cleanup_free_ uint32_t *ranks = calloc(n + 1, sizeof(*ranks));
	int r = vec_reserve(&paths->by_rank, n);

	if (r < 0 || !ranked || !ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){ interns_get(&paths->names, i), (uint32_t)i };
	qsort(ranked, n, sizeof(*ranked), compare_names);
	for (size_t i = 0; i < n; i++) {
		ranks[ranked[i].number] = (uint32_t)i;
		paths->by_rank.data[i] = ranked[i].key;
	}
	paths->by_rank.len = n;
	vec_foreach(&paths->frames, frame)
		*frame = ranks[*frame];
	return 0;
}

/* How many frames two paths have in common, from the root on. */
static size_t common(const struct stack_paths *paths, const struct stack_path *a,
		     const struct stack_path *b)
{
	const uint32_t *frames_a = paths->frames.data + a->first;
	const uint32_t *frames_b = paths->frames.data + b->first;
	size_t n = 0;

	while (n < a->n && n < b->n && frames_a[n] == frames_b[n])
		n++;
	return n;
}

static int compare_paths(const void *item_a, const void *item_b, void *userdata)
{
	const struct stack_paths *paths = userdata;
	const struct stack_path *a = item_a, *b = item_b;
	size_t n = common(paths, a, b);
	uint32_t frame_a, frame_b;

	if (n == a->n || n == b->n)
		return (a->n > b->n) - (a->n < b->n);
	frame_a = paths->frames.data[a->first + n];
	frame_b = paths->frames.data[b->first + n];
	return frame_a < frame_b ? -1 : 1;
}

/* The first walk sorts. */
static int sort_paths(struct stack_paths *paths)
{
	int r;

	if (paths->by_rank.len > 0 || paths->paths.len == 0)
		return 0;
	r = rank_names(paths);
	if (r == 0)
		qsort_r(paths->paths.data, paths->paths.len, sizeof(paths->paths.data[0]),
			compare_paths, paths);
	return r;
}

/* Hands over the open nodes beyond the first n. */
static int close_nodes(struct stack_paths *paths, size_t n, path_fn fn, void *userdata)
{
	int r = 0;

	while (r == 0 && paths->open.len > n)
		r = fn(&paths->open.data[--paths->open.len], userdata);
	return r;
}

static int open_nodes(struct stack_paths *paths, const struct stack_path *path, uint64_t start)
{
	int r = 0;

	while (r == 0 && paths->open.len <= path->n) {
		size_t depth = paths->open.len;
		const char *key = paths->by_rank.data[paths->frames.data[path->first + depth - 1]];

		r = vec_push(&paths->open,
			     (struct path_node){ .name = key + 1,
						 .kind = (enum path_kind)(key[0] - '0'),
						 .depth = depth,
						 .start = start });
	}
	return r;
}

int stack_paths_walk(struct stack_paths *paths, unsigned int side, path_fn fn, void *userdata)
{
	static const struct path_node root = { .name = "all", .kind = PATH_ROOT };
	const struct stack_path *before = NULL;
	uint64_t start = 0;
	int r = sort_paths(paths);

	paths->open.len = 0;
	if (r == 0)
		r = vec_push(&paths->open, root);
	for (size_t i = 0; r == 0 && i < paths->paths.len; i++) {
		const struct stack_path *path = &paths->paths.data[i];

		r = close_nodes(paths, before ? 1 + common(paths, before, path) : 1, fn, userdata);
		if (r == 0)
			r = open_nodes(paths, path, start);
		if (r != 0)
			break;
		vec_foreach(&paths->open, node)
			node->values[path->side] =
				saturate_add_u64(node->values[path->side], path->value);
		if (path->side == side)
			start = saturate_add_u64(start, path->value);
		before = path;
	}
	return r == 0 ? close_nodes(paths, 0, fn, userdata) : r;
}

static bool same_path(const struct stack_paths *paths, const struct stack_path *a,
		      const struct stack_path *b)
{
	return a->n == b->n && common(paths, a, b) == a->n;
}

static int name_frames(struct stack_paths *paths, const struct stack_path *path)
{
	int r = 0;

	paths->path.len = 0;
	for (size_t i = 0; r == 0 && i < path->n; i++) {
		uint32_t rank = paths->frames.data[path->first + i];

		r = vec_push(&paths->path, paths->by_rank.data[rank] + 1);
	}
	return r;
}

int stack_paths_each(struct stack_paths *paths, path_stack_fn fn, void *userdata)
{
	int r = sort_paths(paths);

	for (size_t i = 0, next; r == 0 && i < paths->paths.len; i = next) {
		const struct stack_path *first = &paths->paths.data[i];
		struct path_stack stack = { .n = first->n };

		for (next = i;
		     next < paths->paths.len && same_path(paths, first, &paths->paths.data[next]);
		     next++) {
			const struct stack_path *path = &paths->paths.data[next];

			stack.values[path->side] =
				saturate_add_u64(stack.values[path->side], path->value);
		}
		r = name_frames(paths, first);
		stack.names = paths->path.data;
		if (r == 0)
			r = fn(&stack, userdata);
	}
	return r;
}
