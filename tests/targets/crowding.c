/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowding DEPTH KEPT: a block for each way of DEPTH steps through two functions that call each
 * other and themselves, so of 2^DEPTH stacks; then KEPT blocks of one stack. All stay. Waits for a
 * line before, prints how many blocks and bytes there are (SAMPLED: what the probes of otel_memory
 * have shown of them, at intervals of 1 byte), and waits for a line at the end.
 */
#include "tests/targets/target.h"

#define DEPTH_MAX 30
#define NOINLINE __attribute__((noipa))

#ifdef SAMPLED
#include "tests/targets/sampler.h"

static struct sampled_place sums;

static NOINLINE void *make_block(size_t size)
{
	return sampler.allocate(&sums, size);
}

static void begin(void)
{
	while (!sampler.is_watched())
		usleep(1000);
	sampler.begin(1, 42);
}
#else
static struct {
	uint64_t live_blocks, live_bytes;
} sums;

static NOINLINE void *make_block(size_t size)
{
	sums.live_blocks++;
	sums.live_bytes += size;
	return malloc(size);
}

static void begin(void)
{
}
#endif

static NOINLINE void step_left(uint64_t depth);

static NOINLINE void step_right(uint64_t depth)
{
	if (depth == 0) {
		CHECK(make_block(48));
		return;
	}
	step_left(depth - 1);
	step_right(depth - 1);
	__asm__("" ::: "memory"); /* no tail call, which would leave no frame */
}

static NOINLINE void step_left(uint64_t depth)
{
	if (depth == 0) {
		CHECK(make_block(32));
		return;
	}
	step_left(depth - 1);
	step_right(depth - 1);
	__asm__("" ::: "memory");
}

static NOINLINE void keep_blocks(uint64_t n)
{
	while (n--)
		CHECK(make_block(64));
}

int main(int argc, char **argv)
{
	uint64_t depth = argument(argc, argv, 1, 10), kept = argument(argc, argv, 2, 0);

	CHECK(depth <= DEPTH_MAX);
	tell("ready\n");
	wait_for_line();
	begin();
	if (depth > 0) {
		step_left(depth - 1);
		step_right(depth - 1);
	}
	keep_blocks(kept);
#ifdef SAMPLED
	tell("blocks %llu bytes %llu\n", (unsigned long long)sums.samples,
	     (unsigned long long)sums.weight);
#else
	tell("blocks %llu bytes %llu\n", (unsigned long long)sums.live_blocks,
	     (unsigned long long)sums.live_bytes);
#endif
	wait_for_line();
	return 0;
}
