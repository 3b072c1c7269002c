/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says "ready" and waits for a line before anything of it or its libraries has run, so that a
 * preloaded library has told of no book yet. Then N blocks, "allocated", and another line.
 */
#include "tests/targets/target.h"

static void wait_first(void)
{
	tell("ready %d\n", getpid());
	wait_for_line();
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = wait_first;

int main(int argc, char **argv)
{
	uint64_t n_blocks = argument(argc, argv, 1, 1);

	for (uint64_t i = 0; i < n_blocks; i++)
		CHECK(malloc(opaque(1000)));
	tell("allocated\n");
	wait_for_line();
	return 0;
}
