/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a crash near a block, where the search for that was not finished. */
#include "trace/live/books/live_books.h"
#include "trace/live/cuts/live_blocks.h"
#include "trace/live/cuts/live_cuts.h"
#include "trace/live/slots/live_slots.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define BLOCK 0x100000
#define SIZE 16

static const struct live_block block = { .addr = BLOCK, .size = SIZE, .fn = 3, .stack = 77 };

static int live_result, freed_result; /* of the two halves of a search */
static struct live_book_freed freed;

int __wrap_live_book_read_stacks(struct live *live, struct live_process *process);
int __wrap_live_blocks(struct live *live, slot_t slot, uint64_t deadline_ns,
		       struct live_block **ret_blocks, size_t *ret_n);
int __wrap_live_book_freed(struct live *live, struct live_process *process, live_book_freed_fn fn,
			   void *userdata);

int __wrap_live_book_read_stacks(struct live *live, struct live_process *process)
{
	(void)live;
	(void)process;
	return 0;
}

int __wrap_live_blocks(struct live *live, slot_t slot, uint64_t deadline_ns,
		       struct live_block **ret_blocks, size_t *ret_n)
{
	(void)live;
	(void)slot;
	(void)deadline_ns;
	*ret_blocks = malloc(sizeof(block));
	assert_non_null(*ret_blocks);
	**ret_blocks = block;
	*ret_n = 1;
	return live_result;
}

/* It gives one, then what the test says. */
int __wrap_live_book_freed(struct live *live, struct live_process *process, live_book_freed_fn fn,
			   void *userdata)
{
	(void)live;
	(void)process;
	assert_int_equal(fn(&freed, userdata), 0);
	return freed_result;
}

static int take(const struct record *record, void *userdata)
{
	struct record_fault *fault = userdata;

	assert_int_equal(record->type, RECORD_FAULT);
	*fault = record->fault;
	return 0;
}

/* What is told of a crash at the address. */
static struct record_fault crash_at(uint64_t addr, uint64_t *ret_lost)
{
	const struct abi_ev_fault ev = {
		.tid = 5, .signal = 11, .code = 1, .has_addr = true, .addr = addr, .stack = 88
	};
	struct record_fault fault = { 0 };
	struct live_process process = { .image = { 7 } }, *all[] = { &process };
	struct live live = {
		.slots.all = { all, 1, 1 },
		.sink = { take, &fault },
		.opts.run.heap_errors = true,
	};

	assert_int_equal(live_on_fault(&live, &ev), 0);
	*ret_lost = live.slots.losses[LOSS_FAULT - ABI_LOSSES];
	return fault;
}

static void assert_no_block(const struct record_fault *fault)
{
	assert_int_equal(fault->block, 0);
	assert_int_equal(fault->block_size, 0);
	assert_int_equal(fault->block_fn, 0);
	assert_int_equal(fault->block_stack, 0);
	assert_false(fault->freed);
	assert_int_equal(fault->freed_fn, 0);
	assert_int_equal(fault->freed_stack, 0);
}

static void assert_the_crash(const struct record_fault *fault, uint64_t addr)
{
	assert_int_equal(fault->image.n, 7);
	assert_int_equal(fault->tid, 5);
	assert_int_equal(fault->signal, 11);
	assert_int_equal(fault->code, 1);
	assert_true(fault->has_addr);
	assert_int_equal(fault->addr, addr);
	assert_int_equal(fault->stack, 88);
}

/* Another one may be nearer, or the freed one be what was meant. */
static void a_block_that_is_only_near_is_not_named(void **state)
{
	uint64_t lost;
	struct record_fault fault;

	(void)state;
	live_result = 0;
	freed_result = -EIO;
	freed = (struct live_book_freed){ .address = BLOCK + 8 * SIZE };
	freed.value.block.stack = 99;
	freed.value.fn = 4;
	freed.value.stack = 66;
	for (uint64_t addr = BLOCK + 2 * SIZE; addr < BLOCK + 8 * SIZE; addr += SIZE) {
		fault = crash_at(addr, &lost);
		assert_no_block(&fault);
		assert_true(fault.unsearched);
		assert_int_equal(lost, 1);
		assert_the_crash(&fault, addr);
	}
}

static void one_that_holds_the_address_is(void **state)
{
	uint64_t lost;
	struct record_fault fault;

	(void)state;
	live_result = 0;
	freed_result = -ETIME;
	freed = (struct live_book_freed){ .address = BLOCK + 8 * SIZE };
	fault = crash_at(BLOCK + SIZE / 2, &lost);
	assert_int_equal(fault.block, BLOCK);
	assert_int_equal(fault.block_size, SIZE);
	assert_int_equal(fault.block_fn, 3);
	assert_int_equal(fault.block_stack, 77);
	assert_true(fault.unsearched);
	assert_int_equal(lost, 1);
	assert_the_crash(&fault, BLOCK + SIZE / 2);
}

static void where_blocks_could_not_be_read_none_is(void **state)
{
	uint64_t lost;
	struct record_fault fault;

	(void)state;
	live_result = -ETIME;
	fault = crash_at(BLOCK, &lost);
	assert_no_block(&fault);
	assert_true(fault.unsearched);
	assert_int_equal(lost, 1);
	assert_the_crash(&fault, BLOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_that_is_only_near_is_not_named),
		cmocka_unit_test(one_that_holds_the_address_is),
		cmocka_unit_test(where_blocks_could_not_be_read_none_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
