/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forkrun N BLOCKS: N children one after the other, each of which makes BLOCKS blocks right after
 * its birth, frees half of them and ends at once.
 */
#include "tests/targets/target.h"

#include <sys/wait.h>

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 20), blocks = argument(argc, argv, 2, 50), i, k;
	int status;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			for (k = 0; k < blocks; k++) {
				void *block = malloc(100 + k);

				CHECK(block);
				if (k % 2)
					free(block);
			}
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
