/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/program_file.h"

#include "base/file_system.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_SCRIPTS 4 /* a script whose interpreter is one: as the kernel */

static int open_program(const char *name, const char *search)
{
	const char *end, *at = search ? search : PROGRAM_DEFAULT_PATH;
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return open_regular(name);
	for (;; at = end + 1) {
		int n, fd;

		end = strchrnul(at, ':');
		n = snprintf(path, sizeof(path), "%.*s/%s", (int)(end - at), end > at ? at : ".",
			     name);
		if (n < (int)sizeof(path) && access(path, X_OK) == 0) {
			fd = open_regular(path);
			if (fd >= 0)
				return fd;
		}
		if (*end == '\0')
			return -ENOENT;
	}
}

/* The interpreter of a script takes the place of *fd, which is closed. */
static void follow_scripts(int *fd)
{
	char line[PATH_MAX + 3], *name;

	for (int i = 0; i < MAX_SCRIPTS; i++) {
		ssize_t n = pread(*fd, line, sizeof(line) - 1, 0);

		if (n < 3 || line[0] != '#' || line[1] != '!')
			return;
		line[n] = '\0';
		name = line + 2 + strspn(line + 2, " \t");
		name[strcspn(name, " \t\n")] = '\0';
		close(*fd);
		*fd = open_regular(name);
		if (*fd < 0)
			return;
	}
}

int program_file_open(const char *name, const char *search)
{
	int fd = open_program(name, search);

	if (fd >= 0)
		follow_scripts(&fd);
	return fd;
}
