/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * children HOW N: children that share the parent's memory until they exec (vfork, spawn) or to
 * their end (vm: clone(CLONE_VM) without CLONE_THREAD), and plain fork + exec. What a child does to
 * the heap before its exec it does to the parent's. The program that is started is this one with
 * "leaf". Prints "child PID" for each. With a third argument it prints "ready PID" and waits for a
 * line before, and prints "done" and waits after.
 *
 * children outlive MS BLOCKS: a child of clone(CLONE_VM) goes on when the parent has ended, which
 * has made so many blocks: it allocates so many milliseconds later.
 */
#include "tests/targets/target.h"

#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static char *leaf_args[] = { (char *)"children", (char *)"leaf", NULL };

#define CHILD_STACK 65536

static void keep(uint64_t n, size_t size)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		CHECK(malloc(size));
}

static pid_t by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/proc/self/exe", leaf_args);
		_exit(97);
	}
	return pid;
}

static pid_t by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		keep(7, 70);
		execv("/proc/self/exe", leaf_args);
		_exit(97);
	}
	return pid;
}

static pid_t by_spawn(void)
{
	pid_t pid;

	CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, leaf_args, environ));
	return pid;
}

/* Runs on its own stack in the parent's memory, while the parent waits for it. */
static int in_shared_memory(void *block)
{
	free(block);
	keep(5, 55);
	_exit(0);
}

static pid_t by_clone(void)
{
	static char stack[CHILD_STACK] __attribute__((aligned(16)));
	void *block = malloc(4321);

	CHECK(block);
	return clone(in_shared_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, block);
}

struct outlive {
	pid_t parent;
	uint64_t ms;
};

static int outlives(void *data)
{
	const struct outlive *outlive = data;

	while (getppid() == outlive->parent)
		usleep(1000);
	usleep(outlive->ms * 1000);
	keep(5, 55);
	_exit(0);
}

static void outlive(uint64_t ms, uint64_t blocks)
{
	static char stack[CHILD_STACK] __attribute__((aligned(16)));
	static struct outlive data;

	keep(blocks, 22);
	data = (struct outlive){ getpid(), ms };
	CHECK(clone(outlives, stack + sizeof(stack), CLONE_VM | SIGCHLD, &data) > 0);
	_exit(0);
}

static const struct {
	const char *name;
	pid_t (*start)(void);
} ways[] = {
	{ "vfork", by_vfork },
	{ "fork", by_fork },
	{ "spawn", by_spawn },
	{ "vm", by_clone },
};

static void run(const char *how, uint64_t n)
{
	size_t way;
	int status;
	pid_t pid;

	for (way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		if (strcmp(how, ways[way].name) != 0)
			continue;
		for (; n > 0; n--) {
			pid = ways[way].start();
			CHECK(pid > 0);
			tell("child %d\n", pid);
			CHECK(waitpid(pid, &status, __WALL) == pid && status == 0);
			keep(3, 30);
		}
		return;
	}
	CHECK(!"reached: unknown way");
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	if (strcmp(argv[1], "leaf") == 0) {
		keep(11, 110);
		return 0;
	}
	if (strcmp(argv[1], "outlive") == 0)
		outlive(argument(argc, argv, 2, 1), argument(argc, argv, 3, 0));
	if (argc > 3) {
		tell("ready %d\n", getpid());
		wait_for_line();
	}
	run(argv[1], argument(argc, argv, 2, 3));
	if (argc > 3) {
		tell("done\n");
		wait_for_line();
	}
	return 0;
}
