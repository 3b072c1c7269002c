/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * silent_forks: forks before its first call, and then children that make no call of their own
 * before they fork or end. Grandchildren free some of the blocks that all of them inherit.
 */
#include "tests/targets/target.h"

#include <sys/wait.h>

#define BLOCKS 100
#define FREED 30

static void *blocks[BLOCKS];

static void make_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(100 + (size_t)i);
		CHECK(blocks[i]);
	}
}

static void free_blocks(void)
{
	for (int i = 0; i < FREED; i++)
		free(blocks[i]);
}

static void in_child(void (*work)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		work();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void nothing(void)
{
}

static void in_grandchild(void)
{
	in_child(free_blocks);
}

static void in_empty_grandchild(void)
{
	in_child(make_blocks);
}

int main(void)
{
	in_child(in_empty_grandchild);
	make_blocks();
	in_child(nothing);
	in_child(in_grandchild);
	free_blocks();
	return 0;
}
