/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * missed N: a child process in the same memory (clone(CLONE_VM)) frees each block that the parent
 * has made, and the parent gets the same address again from its next malloc. Who does not trace the
 * child (--no-follow) misses every one of these frees.
 */
#include "tests/targets/target.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define CHILD_STACK 65536
#define SIZE 700

static int free_block(void *block)
{
	free(block);
	_exit(0);
}

int main(int argc, char **argv)
{
	static char stack[CHILD_STACK] __attribute__((aligned(16)));
	uint64_t n = argument(argc, argv, 1, 10), i;
	uintptr_t old;
	void *block;
	int status;
	pid_t pid;

	for (i = 0; i < n; i++) {
		block = malloc(SIZE);
		CHECK(block);
		old = (uintptr_t)block;
		pid = clone(free_block, stack + sizeof(stack), CLONE_VM | SIGCHLD, block);
		CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid && status == 0);
		block = malloc(SIZE);
		CHECK((uintptr_t)block == old);
	}
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
