/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * execs HOW TIMES: holds blocks, then becomes itself again with TIMES - 1, until it is 0. HOW:
 * "leader" execs in main, "thread" in another thread while main still allocates, "missing" fails to
 * exec first and must go on as before.
 */
#include "tests/targets/target.h"

#include <errno.h>
#include <pthread.h>

static const char *how;
static uint64_t times;

static void hold(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		char *block = malloc(50 + n + i % 9);

		CHECK(block);
		if (i % 3 == 0)
			free(block);
	}
}

static void become(void)
{
	char number[24];
	char *args[] = { (char *)"execs", (char *)how, number, NULL };

	snprintf(number, sizeof(number), "%llu", (unsigned long long)(times - 1));
	execv("/proc/self/exe", args);
	CHECK(!"reached: exec failed");
}

static void *become_in_thread(void *unused)
{
	hold(100);
	become();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	CHECK(argc == 3);
	how = argv[1];
	times = argument(argc, argv, 2, 0);
	hold(500 + 10 * times);
	if (times == 0) {
		tell("done %d\n", getpid());
		return 0;
	}
	if (strcmp(how, "missing") == 0) {
		char *args[] = { (char *)"none", NULL };

		CHECK(execv("/nonexistent/program", args) == -1 && errno == ENOENT);
		hold(50);
	}
	if (strcmp(how, "thread") != 0)
		become();
	CHECK(!pthread_create(&thread, NULL, become_in_thread, NULL));
	for (;;)
		pause();
}
