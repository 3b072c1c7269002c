/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/folder_open.h"

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* As the kernel has it. */
#define MOST_LINKS 40

struct way {
	int at;	    /* so far */
	char *rest; /* the components that follow */
	unsigned int links;
};

static void way_done(struct way *way)
{
	cleanup_close(&way->at);
	free(way->rest);
}

static int go_to(struct way *way, int fd)
{
	if (fd < 0)
		return -errno;
	cleanup_close(&way->at);
	way->at = fd;
	return 0;
}

static int begin(struct way *way, const char *path)
{
	return go_to(way, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* What the link says stands before the components behind it. */
static int follow(struct way *way, int link_fd, uid_t owner, const char *behind)
{
	_cleanup_strbuf_ struct strbuf rest = { 0 };
	char target[PATH_MAX];
	ssize_t n;

	if (owner != 0 && owner != (uid_t)setfsuid((uid_t)-1))
		return -ELOOP;
	if (++way->links > MOST_LINKS)
		return -ELOOP;
	n = readlinkat(link_fd, "", target, sizeof(target));
	if (n < 0)
		return -errno;
	strbuf_add(&rest, target, (size_t)n);
	strbuf_adds(&rest, behind);
	if (strbuf_error(&rest))
		return strbuf_error(&rest);
	free(way->rest);
	way->rest = strdup(strbuf_str(&rest));
	if (!way->rest)
		return -ENOMEM;
	return *way->rest == '/' ? begin(way, "/") : 0;
}

static int step(struct way *way, const char *name, const char *behind)
{
	_cleanup_close_ int fd = openat(way->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) && !is_in_proc(fd))
		return follow(way, fd, st.st_uid, behind);
	memmove(way->rest, behind, strlen(behind) + 1);
	if (S_ISLNK(st.st_mode))
		return go_to(way, openat(way->at, name, O_PATH | O_CLOEXEC));
	return go_to(way, TAKE_FD(fd));
}

int folder_open(const char *path)
{
	_cleanup_(way_done) struct way way = { .at = -1, .rest = strdup(path) };
	struct stat st;
	int r = way.rest ? begin(&way, path) : -ENOMEM;

	while (r == 0) {
		const char *at = way.rest + strspn(way.rest, "/");
		size_t len = strcspn(at, "/");
		_cleanup_free_ char *name = strndup(at, len);

		if (!*at)
			break;
		r = name ? step(&way, name, at + len) : -ENOMEM;
	}
	if (r == 0 && fstat(way.at, &st) < 0)
		r = -errno;
	if (r == 0 && !S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	return r ? r : TAKE_FD(way.at);
}
