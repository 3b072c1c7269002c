/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/root_open.h"

#include "base/cleanup.h"
#include "base/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* openat2 says EAGAIN when a rename anywhere could have raced with a ".." or a link. */
#define MAX_TRIES 16

static int reopen_regular(int path_fd)
{
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -EINVAL;
	return reopen_for_reading(path_fd);
}

/* Resolves "." and ".." in the text, which is exact where no link is followed. */
static int normalise(const char *path, char out[PATH_MAX])
{
	size_t len = 0;

	out[0] = '\0';
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (len > 0 && out[--len] != '/')
				;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (len + n + 2 > PATH_MAX)
				return -ENAMETOOLONG;
			out[len++] = '/';
			memcpy(out + len, path, n);
			len += n;
		}
		out[len] = '\0';
		path += n + (path[n] == '/');
	}
	return len > 0 ? 0 : -EINVAL;
}

int root_open_without_links(int root_fd, const char *path)
{
	_cleanup_close_ int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	char normal[PATH_MAX], *next = normal, *name;
	int fd, r;

	if (at < 0)
		return -errno;
	r = normalise(path, normal);
	if (r < 0)
		return r;
	while ((name = strsep(&next, "/"))) {
		if (*name == '\0')
			continue;
		fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			/* A link in the middle: O_PATH opened the link, and it is no folder. */
			return errno == ENOTDIR ? -ELOOP : -errno;
		close(at);
		at = fd;
	}
	return reopen_regular(at);
}

int root_open(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int path_fd = -1;
	int tries = 0;

	do {
		path_fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	} while (path_fd < 0 && errno == EAGAIN && ++tries < MAX_TRIES);
	if (path_fd >= 0)
		return reopen_regular(path_fd);
	/* EPERM: container runtimes' seccomp filters say so of system calls they do not know. */
	if (errno == ENOSYS || errno == EPERM)
		return root_open_without_links(root_fd, path);
	return -errno;
}
