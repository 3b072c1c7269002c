/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowd N: N processes that wait for nothing, each a child of this one, with which they end. Prints
 * "ready" when all are there; a line on stdin ends them one after the other, and then itself.
 */
#include "tests/targets/target.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pid_t parent = getpid(), *all = calloc(n ? n : 1, sizeof(*all));
	char line[8];

	CHECK(all);
	for (int i = 0; i < n; i++) {
		all[i] = fork();
		CHECK(all[i] >= 0);
		if (all[i] == 0) {
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
				_exit(1);
			for (;;)
				pause();
		}
	}
	printf("ready\n");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin) == line || feof(stdin));
	for (int i = 0; i < n; i++)
		CHECK(kill(all[i], SIGKILL) == 0 && waitpid(all[i], NULL, 0) == all[i]);
	return 0;
}
