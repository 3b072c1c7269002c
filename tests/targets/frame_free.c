/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame_free CALLS: a pool whose function to free has made its frame before the first instruction
 * on which a probe is cheap, as glibc 2.31's. Of each ten blocks one is kept, and the first block
 * is freed twice. The pool's memory is the program's own.
 */
#include "tests/targets/target.h"

#include <stdbool.h>
#include <stdint.h>

#define SLOTS 4096
#define SLOT_BYTES 64

static char slots[SLOTS][SLOT_BYTES] __attribute__((aligned(16)));
static bool taken[SLOTS];

__attribute__((noinline)) void *slot_get(size_t size)
{
	static size_t next;

	CHECK(size <= SLOT_BYTES);
	for (size_t i = 0; i < SLOTS; i++) {
		size_t at = (next + i) % SLOTS;

		if (taken[at])
			continue;
		taken[at] = true;
		next = at + 1;
		return slots[at];
	}
	return NULL;
}

void slot_release(void *block);
__attribute__((noinline, visibility("hidden"))) void slot_release(void *block)
{
	taken[((uintptr_t)block - (uintptr_t)slots) / SLOT_BYTES] = false;
}

void slot_put(void *block);
#ifdef __x86_64__
__asm__(".text\n"
	".globl slot_put\n"
	".type slot_put, @function\n"
	"slot_put:\n"
	".cfi_startproc\n"
	"	sub $24, %rsp\n"
	".cfi_adjust_cfa_offset 24\n"
	"	test %rdi, %rdi\n"
	"	je 1f\n"
	"	call slot_release\n"
	"1:	add $24, %rsp\n"
	".cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	".cfi_endproc\n"
	".size slot_put, .-slot_put\n");
#else
__attribute__((noinline)) void slot_put(void *block)
{
	slot_release(block);
}
#endif

__attribute__((noinline)) static void puts_again(void *block)
{
	slot_put(block);
	__asm__ volatile(""); /* no tail call */
}

int main(int argc, char **argv)
{
	uint64_t calls = argument(argc, argv, 1, 1000);
	void *block = slot_get(32);

	slot_put(block);
	puts_again(block);
	for (uint64_t i = 1; i < calls; i++) {
		block = slot_get(i % SLOT_BYTES + 1);
		CHECK(block);
		if (i % 10)
			slot_put(block);
	}
	slot_put(NULL);
	return 0;
}
