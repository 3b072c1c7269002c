/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared_frees WHO N: makes N blocks, forks, and both free them all; WHO, the parent or the child,
 * does it first. Prints "ROLE PID" lines.
 */
#include "tests/targets/target.h"

#include <stdbool.h>
#include <sys/wait.h>

static void free_all(void **block, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		free(block[i]);
}

int main(int argc, char **argv)
{
	bool child_first = argc > 1 && strcmp(argv[1], "child") == 0;
	uint64_t n = argument(argc, argv, 2, 1000), i;
	static void *block[1 << 20];
	int gate[2], status;
	pid_t pid;
	char c;

	CHECK(n <= sizeof(block) / sizeof(*block));
	for (i = 0; i < n; i++) {
		block[i] = malloc(24);
		CHECK(block[i]);
	}
	CHECK(!pipe(gate));
	tell("parent %d\n", getpid());
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		tell("child %d\n", getpid());
		close(gate[1]);
		if (!child_first)
			CHECK(read(gate[0], &c, 1) == 0);
		free_all(block, n);
		_exit(0);
	}
	if (!child_first)
		free_all(block, n);
	close(gate[1]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	if (child_first)
		free_all(block, n);
	return 0;
}
