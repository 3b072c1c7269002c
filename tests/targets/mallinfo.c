/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded: at SIGUSR2 writes what mallinfo2() says to the file MALLINFO_FILE. The program must
 * wait in a system call then.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>

static char path[200];

static void on_signal(int sig)
{
	const struct mallinfo2 info = mallinfo2();
	char line[200];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), len;

	(void)sig;
	len = snprintf(line, sizeof(line),
		       "{\"uordblks\":%zu,\"hblks\":%zu,\"hblkhd\":%zu,\"arena\":%zu}\n",
		       info.uordblks, info.hblks, info.hblkhd, info.arena);
	CHECK(fd >= 0 && write(fd, line, (size_t)len) == len);
	close(fd);
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("MALLINFO_FILE");

	CHECK(name && strlen(name) < sizeof(path));
	strcpy(path, name);
	CHECK(signal(SIGUSR2, on_signal) != SIG_ERR);
}
