/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds processes: processes COUNT READY starts COUNT processes of this program, each of which
 * makes 100 blocks, creates the file READY when all have, and keeps them until SIGTERM ends it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 100

/* Tells by a byte that the blocks are there; its end is that of the pipe's other side. */
static int leaf(void)
{
	char c = 0;

	for (int i = 0; i < BLOCKS; i++)
		if (!malloc(16 + (size_t)i))
			return 1;
	if (write(STDOUT_FILENO, &c, 1) != 1)
		return 1;
	return (int)read(STDIN_FILENO, &c, 1);
}

static int start(const int *alive, const int *there)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0;
	(void)close(alive[1]);
	if (dup2(alive[0], STDIN_FILENO) < 0 || dup2(there[1], STDOUT_FILENO) < 0)
		_exit(1);
	(void)execl("/proc/self/exe", "processes", "leaf", (char *)NULL);
	_exit(1); /* there is no other way on */
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[1]) : 0;
	int alive[2], there[2];
	FILE *ready;
	char c;

	if (argc == 2 && strcmp(argv[1], "leaf") == 0)
		return leaf();
	if (count <= 0)
		return 2;
	if (pipe(alive) || pipe(there))
		return 1;
	for (long i = 0; i < count; i++)
		if (start(alive, there) || read(there[0], &c, 1) != 1)
			return 1;
	ready = fopen(argv[2], "we");
	if (!ready || fclose(ready) != 0)
		return 1;
	(void)pause(); /* only a signal ends it */
	return 0;
}
