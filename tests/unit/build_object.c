/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "build_object.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <string.h>

static int compile(const char *source, const char *flags, const char *path)
{
	char command[512];
	FILE *cc;
	int n;

	n = snprintf(command, sizeof(command), "cc -w -O2 -fno-builtin -o %s -x c - %s 2>/dev/null",
		     path, flags);
	if (n < 0 || (size_t)n >= sizeof(command))
		return -1;
	cc = popen(command, "w");
	if (!cc)
		return -1;
	/* A compiler that is not there reads nothing: pclose() then says so. */
	(void)fwrite(source, 1, strlen(source), cc);
	return pclose(cc) == 0 ? 0 : -1;
}

int build_object(const char *source, const char *flags)
{
	char path[] = "/tmp/memtraced-test-XXXXXX";
	int made = mkstemp(path), fd = -1;

	if (made < 0)
		return -1;
	close(made);
	if (compile(source, flags, path) == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	return fd;
}

int open_library(const char *name)
{
	static const char *const folders[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
					       "/lib64", "/usr/lib64", "/usr/lib" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[256];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}
