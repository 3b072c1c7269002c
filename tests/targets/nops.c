/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nops: an allocator, nops_alloc and nops_free, whose functions begin with a nop of five bytes, as
 * compilers leave them for tracers. Calls them, forks, and calls them in the child, which ends as
 * usual or as the parent says.
 */
#include "tests/targets/target.h"

#include <sys/wait.h>
#include <unistd.h>

#define CALLS 10

void *nops_alloc(size_t size);
void nops_free(void *block);

#ifdef __x86_64__
#define NOP ".byte 0x0f, 0x1f, 0x44, 0, 0\n"
#define PASS_ON(name, to)                                                                          \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n" NOP "jmp " to     \
		"\n.size " name ", .-" name "\n")

PASS_ON("nops_alloc", "take");
PASS_ON("nops_free", "give");
#else
void *take(size_t size);
void give(void *block);

void *nops_alloc(size_t size)
{
	return take(size);
}

void nops_free(void *block)
{
	give(block);
}
#endif

__attribute__((used)) void *take(size_t size)
{
	return malloc(size);
}

__attribute__((used)) void give(void *block)
{
	free(block);
}

static void call(void)
{
	for (int i = 0; i < CALLS; i++)
		nops_free(nops_alloc(100));
}

int main(void)
{
	pid_t child;
	int status;

	call();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		call();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	tell("child %d\n", status);
	return status != 0;
}
