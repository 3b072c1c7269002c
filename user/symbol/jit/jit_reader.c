/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jit_reader.h"

#include "base/hashmap.h"
#include "sandbox/worker.h"
#include "symbol/names.h"

#include <errno.h>
#include <string.h>

/* 0, -EBADMSG, -ENOMEM or what fn returned, which has no -EBADMSG. */
static int read_items(struct decoder *decoder, uint32_t n, jit_item_fn fn, void *userdata)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct jit_item item;

		r = jit_get_item(decoder, &room, &item);
		if (r == 0)
			r = fn(&item, userdata);
	}
	return r == 0 ? decoder_end(decoder) : r;
}

int jit_read(struct worker *worker, enum jit_request what, int fd, const struct jit_asked *asked,
	     jit_item_fn fn, void *userdata, struct jit_head *ret_head)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	struct decoder decoder;
	struct jit_head head;
	int r;

	strbuf_addch(&request, (char)what);
	codec_write(&request, &jit_asked_layout, asked, NULL);
	r = worker_call(worker, &request, &fd, 1, &answer);
	if (r < 0)
		return r;
	decoder = decoder_of(&answer);
	head = jit_get_head(&decoder, asked);
	r = decoder.error < 0 ? decoder.error : read_items(&decoder, head.n_items, fn, userdata);
	if (r == -EBADMSG)
		return worker_distrust(worker);
	if (r == 0)
		*ret_head = head;
	return r;
}

#define MAX_CODES (1U << 20)

struct code {
	uint64_t index;
	const char *name, *function;   /* the pool's */
	struct record_jit_line *lines; /* NULL: none; files are the pool's */
	size_t n_lines;
};

struct jit_loads {
	struct hashmap codes;
	struct names names;
};

static void code_free(struct code *code)
{
	if (!code)
		return;
	free(code->lines);
	free(code);
}
DEFINE_CLEANUP(struct code, code_free)

static void free_code_item(void *item)
{
	code_free(item);
}

DEFINE_HASHMAP_OPS(code_ops, struct code, free_code_item, index);

int jit_loads_new(struct jit_loads **ret_loads)
{
	struct jit_loads *loads = calloc(1, sizeof(*loads));

	if (!loads)
		return -ENOMEM;
	loads->codes.ops = &code_ops;
	names_init(&loads->names);
	*ret_loads = loads;
	return 0;
}

void jit_loads_free(struct jit_loads *loads)
{
	if (!loads)
		return;
	hashmap_done(&loads->codes);
	names_done(&loads->names);
	free(loads);
}

static int copy_string(struct jit_loads *loads, const char *text, const char **ret_copy)
{
	return text ? names_add(&loads->names, text, strlen(text), ret_copy) : 0;
}

static int copy_lines(struct jit_loads *loads, const struct jit_item *item, struct code *code)
{
	int r = 0;

	if (item->n_lines == 0)
		return 0;
	code->lines = calloc(item->n_lines, sizeof(code->lines[0]));
	if (!code->lines)
		return -ENOMEM;
	code->n_lines = item->n_lines;
	for (size_t i = 0; r == 0 && i < item->n_lines; i++) {
		code->lines[i] = item->lines[i];
		r = copy_string(loads, item->lines[i].file, &code->lines[i].file);
	}
	return r;
}

/* An index used twice: what moves is the newer one. */
static int remember_load(struct jit_loads *loads, const struct jit_item *item)
{
	_cleanup_(code_free_p) struct code *code = NULL;
	int r;

	if (loads->codes.len >= MAX_CODES)
		return -E2BIG;
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	code->index = item->index;
	r = copy_string(loads, item->name, &code->name);
	if (r == 0)
		r = copy_string(loads, item->function, &code->function);
	if (r == 0)
		r = copy_lines(loads, item, code);
	if (r < 0)
		return r;
	code_free(hashmap_remove(&loads->codes, code));
	r = hashmap_insert(&loads->codes, code);
	if (r == 0)
		(void)TAKE_PTR(code); /* the map's now */
	return r;
}

static const struct code *find_load(const struct jit_loads *loads, uint64_t index)
{
	const struct code key = { .index = index };

	return hashmap_find(&loads->codes, &key);
}

static int hand_over(const struct jit_item *item, jit_item_fn fn, void *userdata)
{
	if (item->size_bytes == 0 || item->start + item->size_bytes < item->start)
		return 0;
	return fn(item, userdata);
}

int jit_loads_pass(struct jit_loads *loads, const struct jit_item *item, jit_item_fn fn,
		   void *userdata)
{
	const struct code *code;
	struct jit_item moved;
	int r;

	if (!item->is_move) {
		r = remember_load(loads, item);
		return r < 0 ? r : hand_over(item, fn, userdata);
	}
	code = find_load(loads, item->index);
	if (!code)
		return 0;
	moved = *item;
	moved.name = code->name;
	moved.function = code->function;
	moved.lines = code->lines;
	moved.n_lines = code->n_lines;
	return hand_over(&moved, fn, userdata);
}
