/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many stacks: sites BITS allocates, and keeps, one block from each of the 2^BITS ways down a
 * binary tree of calls. Built with frame pointers, so that each tool sees them whole.
 */
#include <stdlib.h>

static volatile unsigned long kept;

static void go(int bits, unsigned long way);

static void __attribute__((noinline)) left(int bits, unsigned long way)
{
	go(bits - 1, way >> 1);
	kept++;
}

static void __attribute__((noinline)) right(int bits, unsigned long way)
{
	go(bits - 1, way >> 1);
	kept += 2;
}

static void __attribute__((noinline)) go(int bits, unsigned long way)
{
	void *volatile block;

	if (bits == 0) {
		block = malloc(100);
		kept += block != NULL;
	} else if (way & 1) {
		right(bits, way);
	} else {
		left(bits, way);
	}
}

int main(int argc, char **argv)
{
	int bits = argc == 2 ? atoi(argv[1]) : 0;

	if (bits < 1 || bits > 20)
		return 2;
	for (unsigned long way = 0; way < 1UL << bits; way++)
		go(bits, way);
	return kept == 0;
}
