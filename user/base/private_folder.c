/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/private_folder.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int private_folder_path(const char *name, char path[PATH_MAX])
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int n;

	if (geteuid() == 0)
		n = snprintf(path, PATH_MAX, "/var/cache/memtraced/%s", name);
	else if (cache && cache[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/memtraced/%s", cache, name);
	else if (home && home[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache/memtraced/%s", home, name);
	else
		return -ENOENT;
	return n < PATH_MAX ? 0 : -ENOENT;
}

/* Makes the folder and those above it where they are missing: open() says what came of it. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700); /* as above */
		*slash = '/';
	}
	(void)mkdir(path, 0700);
}

int private_folder_open(const char *path)
{
	_cleanup_close_ int fd = -1;
	char copy[PATH_MAX];
	struct stat st;

	if (!path[0] || strlen(path) >= sizeof(copy))
		return -ENOENT;
	strcpy(copy, path);
	make_folders(copy);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !is_ours_alone(&st))
		return -EPERM;
	return TAKE_FD(fd);
}

int private_folder_open_file(int dir_fd, const char *name, struct stat *ret_st)
{
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode) || !is_ours_alone(ret_st))
		return -EPERM;
	return TAKE_FD(fd);
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Gives a file without a name its own. One that is there is what its reader refused, or of another
 * process that has been faster: it goes. Between the two steps there is none, which is a miss.
 */
static int link_name(int dir_fd, int fd, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; i < 2; i++) {
		if (linkat(AT_FDCWD, self, dir_fd, name, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
		if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0; /* made again in between */
}

int private_folder_put(int dir_fd, const char *name, const void *bytes, size_t len)
{
	_cleanup_close_ int fd = openat(dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, len);
	return r < 0 ? r : link_name(dir_fd, fd, name);
}
