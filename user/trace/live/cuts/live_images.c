/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_images.h"

#include "base/vec.h"
#include "trace/live/cuts/block_walk.h"
#include "trace/live/cuts/inheritance.h"
#include "trace/live/live_state.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <stdlib.h>

struct collection {
	struct live_image *images;
	size_t n;
	struct live_image **by_slot; /* n_slots, NULL where there is none */
	size_t n_slots;
	VEC(struct live_image *) forked; /* may hold blocks of their ancestors */
	struct inheritance *inheritance; /* NULL: no process was forked */
};

static int add_block(struct live_image *image, const struct walked_block *walked)
{
	uint64_t addr = ABI_BLOCK_ADDR(walked->key), size = ABI_BLOCK_SIZE(walked->block);

	return vec_push(&image->blocks, (struct range){ addr, addr + size });
}

static int on_block(const struct walked_block *walked, void *userdata)
{
	struct collection *c = userdata;
	uint32_t slot = ABI_BLOCK_SLOT(walked->key);
	int r = 0;

	if (walked->freed_era == BLOCK_LIVE && slot < c->n_slots && c->by_slot[slot])
		r = add_block(c->by_slot[slot], walked);
	vec_foreach(&c->forked, it) {
		uint32_t child = (*it)->slot;

		if (r == 0 && inheritance_got(c->inheritance, child, walked) &&
		    !inheritance_has_freed(c->inheritance, child, walked->key))
			r = add_block(*it, walked);
	}
	return r;
}

DEFINE_COMPARE(by_address, struct range, start)

/* A block can pass from a table into a map between the readings of both. */
static void sort_blocks(struct live_image *image)
{
	size_t kept = 0;

	if (!image->blocks.len)
		return;
	vec_sort(&image->blocks, by_address);
	for (size_t i = 0; i < image->blocks.len; i++)
		if (kept == 0 || image->blocks.data[kept - 1].start != image->blocks.data[i].start)
			image->blocks.data[kept++] = image->blocks.data[i];
	image->blocks.len = kept;
}

static int list_images(const struct live *live, pid_t pid, struct collection *c)
{
	int r = 0;

	c->n_slots = live->slots.all.len;
	c->images = calloc(c->n_slots + 1, sizeof(*c->images));
	c->by_slot = calloc(c->n_slots + 1, sizeof(*c->by_slot));
	if (!c->images || !c->by_slot)
		return -ENOMEM;
	for (size_t slot = 0; slot < c->n_slots && r == 0; slot++) {
		const struct live_process *process = live->slots.all.data[slot];
		struct live_image *image = &c->images[c->n];

		if (!process || process->ended || process->placeholder ||
		    (pid && process->pid != pid))
			continue;
		image->slot = (uint32_t)slot;
		image->image = process->image;
		image->pid = process->pid;
		image->from_start = !process->older_blocks;
		image->areas = &process->regions.areas;
		c->by_slot[slot] = image;
		c->n++;
		if (shared_proc(live->programs, process->slot)->parent != ABI_NO_SLOT)
			r = vec_push(&c->forked, image);
	}
	return r;
}

static int collect_blocks(const struct live *live, pid_t pid, struct collection *c)
{
	int r = list_images(live, pid, c);

	if (r < 0 || c->n == 0)
		return r;
	if (c->forked.len)
		r = inheritance_new(live, &c->inheritance);
	if (r == 0)
		r = block_walk(live, c->inheritance != NULL, 0, on_block, c);
	for (size_t i = 0; i < c->n; i++)
		sort_blocks(&c->images[i]);
	return r;
}

int live_images_new(const struct live *live, pid_t pid, struct live_image **ret_images,
		    size_t *ret_n)
{
	struct collection c = { 0 };
	int r = collect_blocks(live, pid, &c);

	inheritance_free(c.inheritance);
	vec_done(&c.forked);
	free(c.by_slot);
	if (r < 0) {
		live_images_free(c.images, c.n);
		return r;
	}
	*ret_images = c.images;
	*ret_n = c.n;
	return 0;
}

void live_images_free(struct live_image *images, size_t n)
{
	for (size_t i = 0; images && i < n; i++)
		vec_done(&images[i].blocks);
	free(images);
}
