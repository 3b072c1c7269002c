/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forks N: forks while holding N blocks. Both sides then free some of them: the child the first
 * third (one of them by realloc), the parent the last third, both the middle one; a grandchild
 * frees what its parent had left, and blocks made between the two forks. Each side also allocates,
 * so that addresses come back, and ends holding something. Prints "ROLE PID" lines.
 */
#include "tests/targets/target.h"

#include <sys/wait.h>

static void free_range(char **block, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		free(block[from]);
		block[from] = NULL;
	}
}

static void allocate(uint64_t n, size_t size)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		char *block = malloc(size);

		CHECK(block);
		if (i % 2)
			free(block);
	}
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static __attribute__((noreturn)) void grandchild(char **block, char **more, uint64_t n)
{
	tell("grandchild %d\n", getpid());
	free_range(block, n / 2, n / 2 + n / 12);
	free_range(more, 0, n / 2);
	allocate(n / 4, 33);
	_exit(0);
}

static __attribute__((noreturn)) void child(char **block, uint64_t n)
{
	char **more = calloc(n, sizeof(*more));
	uint64_t i;
	pid_t pid;

	CHECK(more);
	tell("child %d\n", getpid());
	block[0] = realloc(block[0], 5000);
	CHECK(block[0]);
	free_range(block, 1, n / 3);
	for (i = 0; i < n; i++) {
		more[i] = malloc(40 + i % 7);
		CHECK(more[i]);
	}
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		grandchild(block, more, n);
	free_range(block, n / 3, 2 * n / 3);
	allocate(n / 2, 77);
	wait_for(pid);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 3000), i;
	char **block = calloc(n, sizeof(*block));
	pid_t pid;

	CHECK(block && n >= 12);
	for (i = 0; i < n; i++) {
		block[i] = malloc(100 + i % 13);
		CHECK(block[i]);
	}
	tell("parent %d\n", getpid());
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		child(block, n);
	/* While the child looks the same blocks up. */
	free_range(block, n / 3, n);
	allocate(n / 2, 111);
	wait_for(pid);
	free_range(block, 0, n / 6);
	return 0;
}
