/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_blocks.h"

#include "base/vec.h"
#include "bpf/abi_sample.h"
#include "probe/allocators.h"
#include "trace/bpf/programs.h"
#include "trace/live/cuts/block_walk.h"
#include "trace/live/cuts/inheritance.h"
#include "trace/live/live_state.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <stdlib.h>

struct collection {
	slot_t slot;
	bool sampled;			 /* bpf/abi_sample.h */
	struct inheritance *inheritance; /* NULL: the process is no child of a traced one */
	size_t most;			 /* blocks */
	VEC(struct live_block) blocks;
};

int live_slot_of(const struct live *live, pid_t pid, slot_t *ret_slot)
{
	/* The newest image is the last one. */
	for (size_t slot = live->slots.all.len; slot-- > 0;) {
		const struct live_process *process = live->slots.all.data[slot];

		if (!process || process->pid != pid || process->ended || process->placeholder)
			continue;
		*ret_slot = (slot_t){ (uint32_t)slot };
		return 0;
	}
	return -ESRCH;
}

image_t live_image_of(const struct live *live, slot_t slot)
{
	return live_process_at(live, slot)->image;
}

enum live_older live_older_blocks(const struct live *live, slot_t slot)
{
	const struct live_process *process = live_process_at(live, slot);

	if (!process->older_blocks)
		return LIVE_OLDER_NONE;
	if (process->before.all)
		return LIVE_OLDER_READ;
	return process->before.was_read ? LIVE_OLDER_PARTLY : LIVE_OLDER_UNKNOWN;
}

const struct ranges *live_areas(const struct live *live, slot_t slot)
{
	return &live_process_at(live, slot)->regions.areas;
}

const struct allocator_family *live_family_behind(const struct live *live, slot_t slot)
{
	vec_foreach(&live_process_at(live, slot)->code.ranges, range) {
		const struct allocator_family *family = allocator_family_numbered(
			range->object ? object_malloc_family(range->object) : 0);

		if (family && family->traces)
			return family;
	}
	return NULL;
}

const struct allocator_family *live_family_of(const struct live *live, uint16_t fn,
					      const struct allocator_family *behind)
{
	uint16_t book_fn = (uint16_t)(fn - live->books.first_fn);

	if (live->books.first_fn && book_fn && book_fn < ABI_BOOK_FUNCTIONS)
		return behind;
	return allocator_family_numbered(ABI_FAMILY(live->programs->traits[fn]));
}

int live_pids(const struct live *live, pid_t **ret_pids, size_t *ret_n)
{
	pid_t *pids = calloc(live->slots.all.len + 1, sizeof(*pids));
	size_t n = 0;

	if (!pids)
		return -ENOMEM;
	vec_foreach(&live->slots.all, p)
		if (*p && !(*p)->ended && !(*p)->placeholder)
			pids[n++] = (*p)->pid;
	*ret_pids = pids;
	*ret_n = n;
	return 0;
}

static bool holds(const struct collection *c, const struct walked_block *walked)
{
	if (ABI_BLOCK_SLOT(walked->key) == c->slot.n)
		return walked->freed_era == BLOCK_LIVE;
	return c->inheritance && inheritance_got(c->inheritance, c->slot.n, walked) &&
	       !inheritance_has_freed(c->inheritance, c->slot.n, walked->key);
}

static int on_block(const struct walked_block *walked, void *userdata)
{
	struct collection *c = userdata;

	if (!holds(c, walked))
		return 0;
	if (c->blocks.len == c->most)
		return -EFBIG;
	return vec_push(&c->blocks,
			(struct live_block){ .addr = ABI_BLOCK_ADDR(walked->key),
					     .size = c->sampled ? abi_sampled_size(walked->block) :
								  ABI_BLOCK_SIZE(walked->block),
					     .stack = walked->block->stack,
					     .fn = c->sampled ? ABI_FN_SAMPLED :
								ABI_BLOCK_FN(walked->block) });
}

DEFINE_COMPARE(by_address, struct live_block, addr)

/* A block can pass from a table into a map, or to another process, between the readings of both. */
static size_t without_repeats(struct live_block *blocks, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (kept == 0 || blocks[kept - 1].addr != blocks[i].addr)
			blocks[kept++] = blocks[i];
	return kept;
}

/* Of ancestors' blocks those that it inherits come last. */
static void forget_blocks(uint32_t slot, void *userdata)
{
	struct collection *c = userdata;

	if (slot == c->slot.n)
		c->blocks.len = 0;
}

int live_blocks(struct live *live, slot_t slot, uint64_t deadline_ns,
		struct live_block **ret_blocks, size_t *ret_n)
{
	struct collection c = { .slot = slot,
				.sampled = programs_has_samples(live->programs, slot.n),
				.most = live->opts.run.room.copies };
	struct block_walk_opts walk = {
		.deadline_ns = deadline_ns, .fn = on_block, .forget = forget_blocks, .userdata = &c
	};
	int r = 0;

	if (shared_proc(live->programs, slot)->parent != ABI_NO_SLOT)
		r = inheritance_new(live, &c.inheritance);
	walk.with_freed = c.inheritance != NULL;
	if (r == 0)
		r = block_walk(live, &walk);
	inheritance_free(c.inheritance);
	if (r < 0) {
		vec_done(&c.blocks);
		return r;
	}
	vec_sort(&c.blocks, by_address);
	*ret_n = without_repeats(c.blocks.data, c.blocks.len);
	*ret_blocks = c.blocks.data;
	return 0;
}

/* --- of all processes ------------------------------------------------------------------------- */

struct image_list {
	struct live_image *images;
	size_t n;
	struct live_image **by_slot; /* n_slots, NULL where there is none */
	size_t n_slots;
	VEC(struct live_image *) forked; /* may hold blocks of their ancestors */
	struct inheritance *inheritance; /* NULL: no process was forked */
	size_t blocks, most;		 /* of all together */
};

static void forget_image(struct image_list *c, struct live_image *image)
{
	c->blocks -= image->blocks.len;
	image->blocks.len = 0;
}

/* Each child has a copy of what it inherits: the largest one makes room for the others. */
static void leave_out_largest(struct image_list *c)
{
	struct live_image *largest = c->images;

	for (size_t i = 1; i < c->n; i++)
		if (c->images[i].blocks.len > largest->blocks.len)
			largest = &c->images[i];
	forget_image(c, largest);
	vec_done(&largest->blocks);
	largest->left_out = true;
}

static int add_block(struct image_list *c, struct live_image *image,
		     const struct walked_block *walked)
{
	uint64_t addr = ABI_BLOCK_ADDR(walked->key), size = ABI_BLOCK_SIZE(walked->block);

	if (c->blocks == c->most)
		leave_out_largest(c);
	if (image->left_out)
		return 0;
	c->blocks++;
	return vec_push(&image->blocks, (struct range){ addr, addr + size });
}

static int on_block_of_image(const struct walked_block *walked, void *userdata)
{
	struct image_list *c = userdata;
	uint32_t slot = ABI_BLOCK_SLOT(walked->key);
	int r = 0;

	if (walked->freed_era == BLOCK_LIVE && slot < c->n_slots && c->by_slot[slot])
		r = add_block(c, c->by_slot[slot], walked);
	vec_foreach(&c->forked, it) {
		uint32_t child = (*it)->slot.n;

		if (r == 0 && inheritance_got(c->inheritance, child, walked) &&
		    !inheritance_has_freed(c->inheritance, child, walked->key))
			r = add_block(c, *it, walked);
	}
	return r;
}

/* As forget_blocks(). */
static void forget_blocks_of_image(uint32_t slot, void *userdata)
{
	struct image_list *c = userdata;

	if (slot < c->n_slots && c->by_slot[slot])
		forget_image(c, c->by_slot[slot]);
}

DEFINE_COMPARE(by_start, struct range, start)

/* A block can pass from a table into a map between the readings of both. */
static void sort_blocks(struct live_image *image)
{
	size_t kept = 0;

	if (!image->blocks.len)
		return;
	vec_sort(&image->blocks, by_start);
	for (size_t i = 0; i < image->blocks.len; i++)
		if (kept == 0 || image->blocks.data[kept - 1].start != image->blocks.data[i].start)
			image->blocks.data[kept++] = image->blocks.data[i];
	image->blocks.len = kept;
}

static int list_images(const struct live *live, pid_t pid, struct image_list *c)
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
		image->slot = process->slot;
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

static int collect_blocks(struct live *live, pid_t pid, struct image_list *c)
{
	struct block_walk_opts walk = { .fn = on_block_of_image,
					.forget = forget_blocks_of_image,
					.userdata = c };
	int r = list_images(live, pid, c);

	if (r < 0 || c->n == 0)
		return r;
	if (c->forked.len)
		r = inheritance_new(live, &c->inheritance);
	walk.with_freed = c->inheritance != NULL;
	if (r == 0)
		r = block_walk(live, &walk);
	for (size_t i = 0; i < c->n; i++)
		sort_blocks(&c->images[i]);
	return r;
}

int live_images_new(struct live *live, pid_t pid, struct live_image **ret_images, size_t *ret_n)
{
	struct image_list c = { .most = live->opts.run.room.copies };
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
