/* SPDX-License-Identifier: GPL-2.0-or-later */
/* aligned ROUNDS: the aligned family; of each round's five blocks the first and third stay. */
#include "tests/targets/target.h"

#include <errno.h>
#include <malloc.h>

static __attribute__((noinline)) void round_of_blocks(uint64_t *seed)
{
	size_t size = next_random(seed) % 5000 + 1;
	size_t alignment = (size_t)16 << next_random(seed) % 9;
	void *block[5];
	size_t i;

	block[0] = aligned_alloc(alignment, size);
	block[1] = memalign(alignment, size);
	CHECK(!posix_memalign(&block[2], alignment, size));
	block[3] = valloc(size);
	block[4] = pvalloc(size);
	for (i = 0; i < 5; i++) {
		CHECK(block[i]);
		CHECK((uintptr_t)block[i] % (i < 3 ? alignment : 4096) == 0);
	}
	free(block[1]);
	free(block[3]);
	free(block[4]);
}

/* Calls that must count as failed and leave their argument alone. */
static void failures(void)
{
	void *untouched = &untouched, *block = untouched;

	CHECK(posix_memalign(&block, 3, 100) == EINVAL && block == untouched);
	CHECK(posix_memalign(&block, 64, opaque(PTRDIFF_MAX)) == ENOMEM && block == untouched);
	CHECK(!memalign(64, opaque(PTRDIFF_MAX)));
	CHECK(!aligned_alloc(64, opaque(PTRDIFF_MAX)));
	CHECK(!valloc(opaque(PTRDIFF_MAX)));
	CHECK(!pvalloc(opaque(PTRDIFF_MAX)));
}

int main(int argc, char **argv)
{
	uint64_t rounds = argument(argc, argv, 1, 1000), i, seed = 7;

	for (i = 0; i < rounds; i++)
		round_of_blocks(&seed);
	failures();
	tell("done %llu\n", (unsigned long long)rounds);
	return 0;
}
