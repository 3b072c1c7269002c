/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_errors CASE N: wrong uses of the heap. The first five are the program's last, as the C
 * library ends it; the others are done N times.
 *
 *   double       a block is freed twice, with calls between that do not reuse it
 *   interior     free of an address inside a block
 *   wild         free of what was never on the heap
 *   resize       realloc of a block that was freed
 *   child        a child frees twice what it has inherited
 *   failed       requests that there is no memory for
 *   negative     requests of a size below 0
 *   product      calloc and reallocarray of more than there can be
 *   zero         realloc to size 0
 *   right        none of these: addresses that are freed and handed out again
 */
#include "tests/targets/target.h"

#include <sys/wait.h>

static void *volatile kept;

static __attribute__((noinline)) void *makes(size_t size)
{
	char *block = malloc(size);

	CHECK(block);
	block[0] = 1;
	return block;
}

static __attribute__((noinline)) void frees(void *block)
{
	free(block);
	kept = NULL; /* no jump */
}

static __attribute__((noinline)) void frees_wrongly(void *block)
{
	free(block);
	kept = NULL;
}

static __attribute__((noinline)) void resizes(void *block, size_t size)
{
	kept = realloc(block, size);
}

static void twice(void)
{
	void *block = makes(100), *other = makes(2000);

	frees(block);
	frees(other);
	frees_wrongly(block);
}

static void interior(void)
{
	frees_wrongly((char *)makes(200) + 16);
}

static void wild(void)
{
	static char memory[256] __attribute__((aligned(64)));

	frees_wrongly(memory + 64);
}

static void resize(void)
{
	void *block = makes(300);

	frees(block);
	resizes(block, 400);
}

static void in_child(void)
{
	void *block = makes(500);
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		frees(block);
		frees_wrongly(block);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	frees(block);
}

static __attribute__((noinline)) void asks(size_t size)
{
	kept = malloc(size);
	CHECK(!kept);
}

static void failed(void)
{
	asks(opaque((size_t)1 << 46));
}

static void negative(void)
{
	asks(opaque((size_t)-16));
}

static void product(void)
{
	size_t half = opaque(SIZE_MAX / 2);

	CHECK(!calloc(half, opaque(4)) && !calloc(opaque(2), half));
	CHECK(!reallocarray(NULL, half, opaque(4)));
}

static void zero(void)
{
	resizes(makes(600), opaque(0));
}

static void right(void)
{
	void *block = makes(700), *again;

	frees(block);
	again = makes(700);
	CHECK(again == block); /* tcache: last in, first out */
	frees(again);
	resizes(makes(10), 100000);
	frees(kept);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} cases[] = {
		{ "double", twice },	  { "interior", interior }, { "wild", wild },
		{ "resize", resize },	  { "child", in_child },    { "failed", failed },
		{ "negative", negative }, { "zero", zero },	    { "right", right },
		{ "product", product },
	};
	uint64_t n = argument(argc, argv, 2, 1);

	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		for (uint64_t round = 0; round < n; round++)
			cases[i].function();
		return 0;
	}
	return 2;
}
