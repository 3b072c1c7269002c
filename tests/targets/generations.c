/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generations: for each line on stdin it makes 100 blocks and frees 10 of the generation before,
 * then tells what it holds: "holds BYTES BLOCKS, new BYTES BLOCKS", new being this generation's.
 * "ready" comes first.
 */
#include "tests/targets/target.h"

#define GENERATIONS 8
#define BLOCKS 100
#define FREED 10

static void *blocks[GENERATIONS][BLOCKS];

static size_t size_of(size_t generation, size_t i)
{
	return 1000 + 100 * generation + i;
}

static __attribute__((noinline)) void *new_block(size_t size)
{
	void *block = malloc(size);

	CHECK(block);
	return block;
}

int main(void)
{
	unsigned long bytes = 0, held = 0;
	size_t generation, i;

	tell("ready\n");
	for (generation = 0; generation < GENERATIONS; generation++) {
		unsigned long new_bytes = 0;

		wait_for_line();
		for (i = 0; generation > 0 && i < FREED; i++) {
			free(blocks[generation - 1][i]);
			bytes -= size_of(generation - 1, i);
			held--;
		}
		for (i = 0; i < BLOCKS; i++) {
			blocks[generation][i] = new_block(size_of(generation, i));
			new_bytes += size_of(generation, i);
		}
		bytes += new_bytes;
		held += BLOCKS;
		tell("holds %lu %lu %lu %d\n", bytes, held, new_bytes, BLOCKS);
	}
	wait_for_line();
	return 0;
}
