/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first thread ends before another one, which holds and loses blocks, and then ends as the
 * argument says: "exit", "exec" (itself, which ends at once), "alone" (the thread by a system call;
 * it is the last one) or else by returning. A third thread ends, and is never joined.
 */
#include "leaks.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static char **words;
static void *kept;
static __thread void *kept_by_thread;
static volatile pid_t ended;

static void *end(void *arg)
{
	ended = (pid_t)syscall(SYS_gettid);
	return arg;
}

static void wait_until_gone(void)
{
	char path[64];

	while (!ended)
		(void)usleep(1000);
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d", (int)ended);
	while (access(path, F_OK) == 0)
		(void)usleep(1000);
}

LOSE lose(void)
{
	(void)!malloc(444);
}

static void *go_on(void *first)
{
	void *volatile held = malloc(222);
	const char *how = words[1];

	pthread_join(*(pthread_t *)first, NULL);
	wait_until_gone();
	kept_by_thread = malloc(333);
	lose();
	scrub();
	if (strcmp(how, "exec") == 0)
		execl(words[0], words[0], "ended", NULL);
	if (strcmp(how, "exit") == 0)
		exit(held ? 0 : 1);
	if (strcmp(how, "alone") == 0)
		(void)syscall(SYS_exit, held ? 0 : 1);
	return held && kept_by_thread ? NULL : held;
}

int main(int argc, char **argv)
{
	static pthread_t first, thread;

	words = argv;
	if (argc < 2 || strcmp(argv[1], "ended") == 0)
		return 0;
	first = pthread_self();
	kept = malloc(111);
	pthread_create(&thread, NULL, end, NULL);
	pthread_create(&thread, NULL, go_on, &first);
	pthread_exit(kept ? NULL : argv);
}
