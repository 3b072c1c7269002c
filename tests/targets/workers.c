/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * workers N: forks N workers, which stay, and says "ready". For each line on stdin every worker
 * allocates BLOCKS blocks, and so does a new child, at once after its fork, which then ends:
 * "worked PID", the new child's. Ends at the end of stdin.
 */
#include "tests/targets/target.h"

#include <sys/wait.h>

#define MAX_WORKERS 8
#define BLOCKS 57

struct worker {
	pid_t pid;
	int ask, answer;
};

static void make_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		CHECK(malloc(100 + (size_t)i));
}

static _Noreturn void serve(int asked, int answer)
{
	char byte;

	while (read(asked, &byte, 1) == 1) {
		make_blocks();
		CHECK(write(answer, &byte, 1) == 1);
	}
	_exit(0);
}

static void start(struct worker *worker)
{
	int ask[2], answer[2];

	CHECK(!pipe(ask) && !pipe(answer));
	worker->pid = fork();
	CHECK(worker->pid >= 0);
	if (!worker->pid) {
		close(ask[1]);
		close(answer[0]);
		serve(ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	worker->ask = ask[1];
	worker->answer = answer[0];
}

static void work(const struct worker *worker)
{
	char byte = 'w';

	CHECK(write(worker->ask, &byte, 1) == 1);
	CHECK(read(worker->answer, &byte, 1) == 1);
}

static pid_t work_in_new_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		make_blocks();
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	return pid;
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 2), i;
	struct worker workers[MAX_WORKERS];
	char byte;

	CHECK(n <= MAX_WORKERS);
	for (i = 0; i < n; i++)
		start(&workers[i]);
	tell("ready\n");
	while (read(0, &byte, 1) == 1) {
		if (byte != '\n')
			continue;
		for (i = 0; i < n; i++)
			work(&workers[i]);
		tell("worked %d\n", work_in_new_child());
	}
	return 0;
}
