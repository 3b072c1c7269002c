/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/map_room.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (1ULL << 20)

static struct map_room choose(uint64_t limit, uint64_t max_blocks, uint64_t held)
{
	const struct map_room_opts opts = { .memory_limit = limit,
					    .max_blocks = max_blocks,
					    .held_bytes = held };
	struct map_room room;

	assert_int_equal(map_room_choose(&opts, &room), 0);
	return room;
}

static void there_is_room_for_two_million_blocks_and_those_that_are_there(void **state)
{
	(void)state;
	assert_int_equal(choose(0, 0, 0).blocks, 2097152);
	assert_int_equal(choose(0, 0, 256 * MIB).blocks, 2097152 + 1048576);
	/* A large process may hold few blocks. */
	assert_int_equal(choose(0, 0, 1ULL << 40).blocks, 2097152 + (32 << 20));
	assert_int_equal(choose(0, 5000, 256 * MIB).blocks, 5000);
}

static void by_default_there_is_room_for_the_stacks_of_a_browser(void **state)
{
	(void)state;
	assert_int_equal(choose(0, 0, 0).sites, 1048576);
	assert_int_equal(choose(0, 0, 0).frames, 67108864);
	assert_int_equal(choose(0, 0, 0).places, 1032ULL << 20);
	assert_int_equal(choose(96 * MIB, 0, 0).places, (8ULL << 20) + (1365 << 10));
}

static void one_process_has_an_eighth_of_the_room_for_samples(void **state)
{
	(void)state;
	assert_int_equal(choose(0, 0, 0).samples, 262144);
	assert_int_equal(choose(0, 16000, 0).samples, 2000);
	assert_int_equal(choose(0, 100, 0).samples, 1024);
}

static void what_a_limit_leaves_room_for_fits_into_it(void **state)
{
	(void)state;
	for (uint64_t limit = MAP_ROOM_LEAST; limit < 8192 * MIB; limit += 7 * MIB) {
		struct map_room room = choose(limit, 0, 0);
		uint64_t bytes = 64ULL * room.blocks + 172ULL * room.tombs + 3072ULL * room.sites;

		assert_true(bytes + 80 * MIB <= limit);
		assert_true(room.blocks > 100000 && room.blocks <= 2097152);
		assert_true(room.tombs > 0);
	}
}

static void where_there_is_no_table_fewer_blocks_fit(void **state)
{
	const struct map_room_opts opts = { .memory_limit = 96 * MIB, .without_table = true };
	struct map_room room;

	(void)state;
	assert_int_equal(map_room_choose(&opts, &room), 0);
	assert_true(149ULL * room.blocks + 172ULL * room.tombs + 3072ULL * room.sites <= 16 * MIB);
	assert_true(room.blocks > 70000 && room.blocks < choose(96 * MIB, 0, 0).blocks);
}

static void births_and_pairs_are_within_the_limit(void **state)
{
	(void)state;
	for (uint64_t limit = MAP_ROOM_LEAST; limit < 8192 * MIB; limit += 7 * MIB) {
		const struct map_room_opts opts = { .memory_limit = limit, .free_stacks = true };
		struct map_room room;

		assert_int_equal(map_room_choose(&opts, &room), 0);
		assert_true((64ULL + 104) * room.blocks + 172ULL * room.tombs +
				    3072ULL * room.sites + 400ULL * room.pairs + 80 * MIB <=
			    limit);
		assert_true(room.blocks > 30000 && room.pairs >= 1024 && room.pairs <= 65536);
	}
}

static void more_room_is_never_less(void **state)
{
	struct map_room last = { 0 };

	(void)state;
	for (uint64_t limit = MAP_ROOM_LEAST; limit < 2048 * MIB; limit += MIB) {
		struct map_room room = choose(limit, 0, 0);

		assert_true(room.blocks >= last.blocks && room.sites >= last.sites &&
			    room.tombs >= last.tombs);
		last = room;
	}
}

static void what_cannot_be_is_refused(void **state)
{
	const struct map_room_opts low = { .memory_limit = MAP_ROOM_LEAST - 1 };
	const struct map_room_opts many = { .max_blocks = 1ULL << 32 };
	struct map_room room = { .blocks = 77 };

	(void)state;
	assert_int_equal(map_room_choose(&low, &room), -ERANGE);
	assert_int_equal(map_room_choose(&many, &room), -ERANGE);
	assert_int_equal(room.blocks, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_room_for_two_million_blocks_and_those_that_are_there),
		cmocka_unit_test(by_default_there_is_room_for_the_stacks_of_a_browser),
		cmocka_unit_test(one_process_has_an_eighth_of_the_room_for_samples),
		cmocka_unit_test(what_a_limit_leaves_room_for_fits_into_it),
		cmocka_unit_test(where_there_is_no_table_fewer_blocks_fit),
		cmocka_unit_test(births_and_pairs_are_within_the_limit),
		cmocka_unit_test(more_room_is_never_less),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
