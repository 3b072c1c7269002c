/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in a process's book, with the ids that records have of stacks and functions. */
#include "base/hashmap.h"
#include "trace/books/book_read.h"
#include "trace/live/books/live_books.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/stacks/live_stacks.h"

#include <errno.h>
#include <string.h>

struct node_stack {
	uint32_t node;
	uint64_t id;
};

DEFINE_HASHMAP_OPS(node_ops, struct node_stack, free, node);

/* An image's number is in it, as in ids that the programs make: no other image has the same. */
static uint64_t id_by(const struct live_process *process, const struct book_stack *stack)
{
	uint64_t seed = hash_u64((uint64_t)process->image.n << 32 | stack->epoch) + stack->cut;

	seed = hash_bytes(stack->exact, sizeof(stack->exact), seed);
	return ABI_STACK_ID(hash_bytes(stack->frame, stack->n * sizeof(stack->frame[0]), seed));
}

/*
 * What the process allocates and frees of a stack that it has from an ancestor is at one site with
 * the blocks that it has from there: such a stack has the ancestor's id.
 */
static uint64_t id_of(const struct live *live, const struct live_process *process,
		      const struct book_stack *stack)
{
	const struct live_process *ancestor = process;

	while ((ancestor = live_book_ancestor(live, ancestor))) {
		uint64_t id = id_by(ancestor, stack);

		if (stack_index_find(live->stacks, id))
			return id;
	}
	return id_by(process, stack);
}

/*
 * When all of its code was there. What went before the process was traced is cut off; the process
 * may say anything.
 */
static uint64_t time_of(const struct live_process *process, const struct book_stack *stack)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t time_ns = stack->time_ns < now_ns ? stack->time_ns : now_ns;

	return time_ns > process->mapped_ns ? time_ns : process->mapped_ns;
}

/* As the programs would have told of it. */
static int tell_stack(struct live *live, const struct live_process *process, uint64_t id,
		      const struct book_stack *stack)
{
	struct abi_ev_stack ev = {
		.head = { .type = ABI_EV_STACK,
			  .slot = process->slot.n,
			  .time_ns = time_of(process, stack) },
		.hash = id,
		.frames = stack->n,
		.flags = ABI_STACK_CFI | (stack->guided ? ABI_STACK_FRAME_POINTERS : 0) |
			 (uint32_t)stack->cut << ABI_STACK_CUT_SHIFT,
	};

	memcpy(ev.exact, stack->exact, sizeof(ev.exact));
	memcpy(ev.frame, stack->frame, stack->n * sizeof(ev.frame[0]));
	return live_on_stack(live, &ev);
}

static int keep_id(struct live_process *process, uint32_t node, uint64_t id)
{
	const struct node_stack item = { node, id };

	return hashmap_intern(&process->book_stacks, &item, sizeof(item), NULL) ? 0 : -ENOMEM;
}

/* The stack of a node that was not read before. */
static int read_stack(struct live *live, struct live_process *process, uint32_t node,
		      uint64_t *ret_id)
{
	struct book_stack stack;
	int r;

	*ret_id = ABI_STACK_OTHER;
	if (process->book_stacks.len >= live->programs->stack_room) {
		process->stacks_left_out++;
		return 0;
	}
	r = book_read_stack(process->book.book, node, live->opts.run.max_stack, &stack);
	if (r == -ENOMEM)
		return r;
	if (r) {
		live_count_loss(live, process, LOSS_BOOK);
		return keep_id(process, node, *ret_id);
	}
	*ret_id = id_of(live, process, &stack);
	r = keep_id(process, node, *ret_id);
	/* Another node may be the same. */
	if (r == 0 && !stack_index_find(live->stacks, *ret_id))
		r = tell_stack(live, process, *ret_id, &stack);
	return r;
}

static int find_stack(struct live *live, struct live_process *process, uint32_t node,
		      uint64_t *ret_id)
{
	const struct node_stack key = { .node = node }, *known;

	*ret_id = live->opts.run.max_stack ? ABI_STACK_OTHER : 0;
	if (node == ABI_BOOK_NO_NODE || !live->opts.run.max_stack)
		return 0;
	process->book_stacks.ops = &node_ops;
	known = hashmap_find(&process->book_stacks, &key);
	if (!known)
		return read_stack(live, process, node, ret_id);
	*ret_id = known->id;
	return 0;
}

/* An error other than -ENOMEM is no end of the run: the reading of sites has counted it. */
static int end_reading(struct live *live, struct live_process *process, int r)
{
	book_forget_nodes(process->book.book);
	return r == -ENOMEM ? r : live_release_stacks(live, process);
}

struct reading {
	struct live *live;
	struct live_process *process;
	live_book_site_fn fn;
	void *userdata;
};

static int on_site(const struct book_site *site, void *userdata)
{
	const struct reading *reading = userdata;
	struct live_book_site told = { .fn = reading->live->books.first_fn + site->function,
				       .counts = &site->counts,
				       .peak_bytes = site->peak_bytes };
	int r = find_stack(reading->live, reading->process, site->node, &told.stack);

	return r ? r : reading->fn(&told, reading->userdata);
}

/* Each reading has them again. */
static void count_stacks_left_out(struct live *live, struct live_process *process)
{
	if (process->stacks_left_out <= process->told_stacks_left_out)
		return;
	live_count_losses(live, NULL, LOSS_BOOK_FIRST + ABI_BOOK_LOST_NODES,
			  process->stacks_left_out - process->told_stacks_left_out);
	process->told_stacks_left_out = process->stacks_left_out;
}

int live_book_sites(struct live *live, struct live_process *process, live_book_site_fn fn,
		    void *userdata)
{
	struct reading reading = { live, process, fn, userdata };
	int r;

	if (!process->book.book)
		return 0;
	process->stacks_left_out = 0;
	r = book_read_sites(process->book.book, live->programs->control->cut_epoch, on_site,
			    &reading);
	count_stacks_left_out(live, process);
	if (r && r != -ENOMEM)
		live_count_loss(live, process, LOSS_BOOK);
	return end_reading(live, process, r);
}

static int ignore_site(const struct live_book_site *site, void *userdata)
{
	(void)site, (void)userdata;
	return 0;
}

int live_book_read_stacks(struct live *live, struct live_process *process)
{
	return live_book_sites(live, process, ignore_site, NULL);
}

struct block_reading {
	const struct live *live;
	const struct live_process *process;
	live_book_block_fn fn;
	void *userdata;
};

/* What was made before tick 0 has that. */
static uint32_t tick_of(const struct live *live, uint64_t tick)
{
	uint64_t first = live_clock_tick(live, 0);

	return tick > first ? (uint32_t)(tick - first) : 0;
}

static int on_block(const struct book_block *block, void *userdata)
{
	const struct block_reading *reading = userdata;
	const struct node_stack key = { .node = block->node }, *known = NULL;
	uint16_t fn = reading->live->books.first_fn + block->function;
	struct live_book_block told = {
		.address = block->address,
		.is_shed = block->is_shed,
		.block = { .stack = reading->live->opts.run.max_stack ? ABI_STACK_OTHER : 0,
			   .size_fn = ABI_SIZE_FN(block->size, (uint64_t)block->form, fn),
			   .tick = tick_of(reading->live, block->tick),
			   .era = block->era },
		.freed_era = block->freed_era,
	};

	known = hashmap_find(&reading->process->book_stacks, &key);
	if (known)
		told.block.stack = known->id;
	return reading->fn(&told, reading->userdata);
}

/* What is wrong with the book itself is no end of the run. */
static int note_unread(struct live *live, struct live_process *process, int error)
{
	if (error != -EBADMSG && error != -EIO)
		return error;
	live_book_count_left_out(live, process, 1);
	return 0;
}

int live_book_blocks(struct live *live, struct live_process *process, uint64_t deadline_ns,
		     live_book_block_fn fn, void *userdata)
{
	struct block_reading reading = { live, process, fn, userdata };

	return note_unread(live, process,
			   book_read_blocks(process->book.book, deadline_ns, on_block, &reading));
}

int live_book_tombs(struct live *live, struct live_process *process, uint64_t deadline_ns,
		    live_book_block_fn fn, void *userdata)
{
	struct block_reading reading = { live, process, fn, userdata };

	return note_unread(live, process,
			   book_read_tombs(process->book.book, deadline_ns, on_block, &reading));
}

struct error_reading {
	struct live *live;
	struct live_process *process;
	live_book_error_fn fn;
	void *userdata;
};

static int on_error(const struct book_error *error, void *userdata)
{
	const struct error_reading *reading = userdata;
	const uint16_t first_fn = reading->live->books.first_fn;
	struct live_book_error told = {
		.key = { .image = reading->process->image.n,
			 .fn = first_fn + error->function,
			 .kind = error->kind },
		.value = { .count = error->count,
			   .time_ns = error->time_ns,
			   .addr = error->addr,
			   .size = error->size,
			   .tid = error->tid,
			   .block = error->block.address,
			   .about = { .size_fn = ABI_SIZE_FN(error->block.size, 0ULL,
							     first_fn + error->block.function),
				      .tick = tick_of(reading->live, error->block.tick) } },
	};
	uint64_t stack, about = 0, freed = 0;
	int r = find_stack(reading->live, reading->process, error->node, &stack);

	if (r == 0 && error->block.address)
		r = find_stack(reading->live, reading->process, error->block.node, &about);
	if (r == 0 && error->freed_function) {
		r = find_stack(reading->live, reading->process, error->freed_node, &freed);
		told.value.freed_fn = first_fn + error->freed_function;
	}
	told.key.stack = stack;
	told.value.about.stack = about;
	told.value.freed_stack = freed;
	return r ? r : reading->fn(&told, reading->userdata);
}

int live_book_errors(struct live *live, struct live_process *process, live_book_error_fn fn,
		     void *userdata)
{
	struct error_reading reading = { live, process, fn, userdata };
	int r;

	if (!process->book.book)
		return 0;
	r = book_read_errors(process->book.book, on_error, &reading);
	return end_reading(live, process, r);
}

struct freed_reading {
	struct live *live;
	struct live_process *process;
	live_book_freed_fn fn;
	void *userdata;
};

static int on_freed(const struct book_freed *freed, void *userdata)
{
	const struct freed_reading *reading = userdata;
	const uint16_t first_fn = reading->live->books.first_fn;
	struct live_book_freed told = {
		.address = freed->block.address,
		.value = { .block.size_fn = ABI_SIZE_FN(freed->block.size, 0ULL,
							first_fn + freed->block.function),
			   .fn = first_fn + freed->function },
	};
	uint64_t made, stack;
	int r = find_stack(reading->live, reading->process, freed->block.node, &made);

	if (r == 0)
		r = find_stack(reading->live, reading->process, freed->node, &stack);
	if (r)
		return r;
	told.value.block.stack = made;
	told.value.stack = stack;
	return reading->fn(&told, reading->userdata);
}

int live_book_freed(struct live *live, struct live_process *process, live_book_freed_fn fn,
		    void *userdata)
{
	struct freed_reading reading = { live, process, fn, userdata };
	int r;

	if (!process->book.book)
		return 0;
	r = book_read_freed(process->book.book, on_freed, &reading);
	return end_reading(live, process, r);
}

struct free_reading {
	struct live *live;
	struct live_process *process;
	live_book_free_fn fn;
	void *userdata;
};

static int on_pair(const struct book_pair *pair, void *userdata)
{
	const struct free_reading *reading = userdata;
	const uint16_t first_fn = reading->live->books.first_fn;
	struct live_book_free told = {
		.key = { .image = reading->process->image.n,
			 .fn = first_fn + pair->function,
			 .free_fn = first_fn + pair->free_function },
		.value = pair->counts,
	};
	uint64_t stack, free_stack;
	int r = find_stack(reading->live, reading->process, pair->node, &stack);

	if (r == 0)
		r = find_stack(reading->live, reading->process, pair->free_node, &free_stack);
	if (r)
		return r;
	told.key.stack = stack;
	told.key.free_stack = free_stack;
	return reading->fn(&told, reading->userdata);
}

int live_book_frees(struct live *live, struct live_process *process, live_book_free_fn fn,
		    void *userdata)
{
	struct free_reading reading = { live, process, fn, userdata };
	int r;

	if (!process->book.book || !live->opts.run.free_stacks)
		return 0;
	r = book_read_pairs(process->book.book, on_pair, &reading);
	if (r && r != -ENOMEM)
		live_count_loss(live, process, LOSS_BOOK);
	return end_reading(live, process, r);
}

void live_book_stacks_done(struct live_process *process)
{
	hashmap_done(&process->book_stacks);
}
