/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resident: changes what it has in memory in steps that it knows to the byte, each told as "WHAT
 * BYTES" and followed by a wait for a line on stdin: "ready", "blocks" that were written to,
 * "mapped" pages that were, "reserved" address space, "committed" of that, "stack" of a thread that
 * waits, blocks that were "freed".
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define PAGE 4096UL
#define BLOCKS 40
/* Below the size from which glibc maps a block by itself; above what a thread's cache keeps. */
#define BLOCK_SIZE 100000UL
#define PAGES 40
#define RESERVED_PAGES 900
#define COMMITTED_PAGES 64
#define STACK_PAGES 50

static void *blocks[BLOCKS];

static void tell_and_wait(const char *what, unsigned long bytes)
{
	tell("%s %lu\n", what, bytes);
	wait_for_line();
}

static void make_blocks(void)
{
	size_t i;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_SIZE);
		CHECK(blocks[i]);
		memset(blocks[i], 1, BLOCK_SIZE);
	}
	tell_and_wait("blocks", BLOCKS * BLOCK_SIZE);
}

static void map_pages(void)
{
	const size_t gap = 24;
	char *p = mmap(NULL, (PAGES + gap) * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	memset(p + gap * PAGE, 1, PAGES * PAGE);
	tell_and_wait("mapped", PAGES * PAGE);
}

static void reserve(void)
{
	char *p = mmap(NULL, RESERVED_PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	tell_and_wait("reserved", RESERVED_PAGES * PAGE);
	CHECK(mprotect(p + PAGE, COMMITTED_PAGES * PAGE, PROT_READ | PROT_WRITE) == 0);
	tell_and_wait("committed", COMMITTED_PAGES * PAGE);
}

static void *use_stack(void *arg)
{
	char room[STACK_PAGES * PAGE];

	(void)arg;
	memset(room, 1, opaque(sizeof(room)));
	__asm__ volatile("" : : "r"(room) : "memory");
	tell_and_wait("stack", sizeof(room));
	return NULL;
}

int main(void)
{
	pthread_t thread;
	size_t i;

	/* A huge page for the thread's stack would count whole. */
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	tell_and_wait("ready", 0);
	make_blocks();
	map_pages();
	reserve();
	CHECK(!pthread_create(&thread, NULL, use_stack, NULL));
	CHECK(!pthread_join(thread, NULL));
	for (i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	tell_and_wait("freed", BLOCKS / 2 * BLOCK_SIZE);
	return 0;
}
