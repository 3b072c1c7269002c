/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers with a bit set, misaligned ones, and ones that are hidden. */
#include "leaks.h"

static uintptr_t tagged, hidden;
static struct {
	char pad;
	void *pointer;
} __attribute__((packed, aligned(8))) misaligned;

LOSE lose(void)
{
	tagged = (uintptr_t)malloc(40) | 1;
	hidden = ~(uintptr_t)malloc(56);
	misaligned.pointer = malloc(72);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
