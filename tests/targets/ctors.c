/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctors: allocates in its ELF constructors, long before main, and frees in a destructor. */
#include "tests/targets/target.h"

static void *early[100];

__attribute__((constructor(101))) static void first(void)
{
	size_t i;

	for (i = 0; i < 100; i++) {
		early[i] = malloc(200 + i);
		CHECK(early[i]);
	}
}

__attribute__((constructor)) static void second(void)
{
	size_t i;

	for (i = 0; i < 100; i += 4) {
		free(early[i]);
		early[i] = NULL;
	}
}

__attribute__((destructor)) static void last(void)
{
	size_t i;

	for (i = 1; i < 100; i += 4)
		free(early[i]);
}

int main(void)
{
	tell("done\n");
	return 0;
}
