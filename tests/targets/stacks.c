/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks: 18 functions, each of which calls each of them, three deep, and then allocates: one block
 * for each of the 5832 ways, of 16 bytes and as many more as the way's number has, whose digits to
 * the base of 18 are the functions. All stacks are equally deep.
 */
#include "tests/targets/target.h"

#define WAYS 18
#define DEPTH 3
#define NOINLINE __attribute__((noinline, noclone))

typedef void step_fn(unsigned int way, unsigned int depth);

static step_fn *const steps[WAYS];

#define STEP(digit)                                                                                \
	static NOINLINE void step_##digit(unsigned int way, unsigned int depth)                    \
	{                                                                                          \
		unsigned int next;                                                                 \
                                                                                                   \
		if (depth == DEPTH) {                                                              \
			CHECK(malloc(16 + way));                                                   \
			return;                                                                    \
		}                                                                                  \
		for (next = 0; next < WAYS; next++)                                                \
			steps[next](way * WAYS + next, depth + 1);                                 \
	}

/* clang-format off */
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)
STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15) STEP(16) STEP(17)
	/* clang-format on */

	static step_fn *const steps[WAYS] = {
		step_0, step_1,	 step_2,  step_3,  step_4,  step_5,  step_6,  step_7,  step_8,
		step_9, step_10, step_11, step_12, step_13, step_14, step_15, step_16, step_17,
	};

int main(void)
{
	unsigned int next;

	for (next = 0; next < WAYS; next++)
		steps[next](next, 1);
	return 0;
}
