/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path is walked here and not by openat2(2) with RESOLVE_IN_ROOT: that would search the folders
 * of any file system, and be interrupted by none.
 */
#include "target/root_open.h"

#include "base/cleanup.h"
#include "base/file_system.h"
#include "sandbox/wire.h"
#include "target/file_helper.h"
#include "target/open_request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* As the kernel's MAXSYMLINKS. */
#define MOST_LINKS 40
#define MOST_FOLDERS 128

struct walk {
	int folders[MOST_FOLDERS]; /* from the root on; the last is where the walk is */
	size_t n_folders;
	pid_t pid;
	enum file_system most;
	unsigned int n_links;
	char rest[2 * PATH_MAX]; /* to be walked yet */
};

static void pop_to(struct walk *walk, size_t n)
{
	while (walk->n_folders > n)
		close(walk->folders[--walk->n_folders]);
}

static void walk_done(struct walk *walk)
{
	pop_to(walk, 0);
}

/* Takes the next name off the rest. False: there is none. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], int *ret_error)
{
	size_t skip = strspn(walk->rest, "/"), len = strcspn(walk->rest + skip, "/");

	*ret_error = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, walk->rest + skip, len);
	name[len] = '\0';
	memmove(walk->rest, walk->rest + skip + len, strlen(walk->rest + skip + len) + 1);
	return true;
}

/* Puts what the link says in front of the rest. */
static int follow(struct walk *walk, int link_fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", text, sizeof(text));
	size_t rest = strlen(walk->rest);

	if (n < 0)
		return -errno;
	if (++walk->n_links > MOST_LINKS)
		return -ELOOP;
	if ((size_t)n == sizeof(text) || (size_t)n + rest + 1 > sizeof(walk->rest))
		return -ENAMETOOLONG;
	if (n > 0 && text[0] == '/')
		pop_to(walk, 1);
	memmove(walk->rest + n, walk->rest, rest + 1);
	memcpy(walk->rest, text, (size_t)n);
	return 0;
}

/* May names be looked up, or links be read, in what it is on? */
static int check_place(const struct walk *walk, int fd)
{
	return file_system_check(file_system_of_fd(fd, walk->pid), walk->most);
}

/* One name: a folder, a link that is followed, or the end. *ret_fd: -1 unless it is the end. */
static int step(struct walk *walk, const char *name, int *ret_fd)
{
	int at = walk->folders[walk->n_folders - 1], r;
	_cleanup_close_ int fd = -1;
	bool is_last = walk->rest[strspn(walk->rest, "/")] == '\0';
	struct stat st;

	*ret_fd = -1;
	r = check_place(walk, at);
	if (r < 0)
		return r;
	fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_status(fd, &st);
	if (r == 0 && S_ISLNK(st.st_mode)) {
		r = check_place(walk, fd);
		return r < 0 ? r : follow(walk, fd);
	}
	if (r < 0)
		return r;
	if (is_last) {
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (walk->n_folders == MOST_FOLDERS)
		return -ENAMETOOLONG;
	walk->folders[walk->n_folders++] = TAKE_FD(fd);
	return 0;
}

int root_find(int root_fd, pid_t pid, const char *path, enum file_system most)
{
	_cleanup_(walk_done) struct walk walk = { .pid = pid, .most = most };
	char name[NAME_MAX + 1];
	int fd = -1, r = 0;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	walk.folders[0] = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (walk.folders[0] < 0)
		return -errno;
	walk.n_folders = 1;
	strcpy(walk.rest, path);
	while (r == 0 && fd < 0 && next_name(&walk, name, &r)) {
		if (strcmp(name, "..") == 0)
			pop_to(&walk, walk.n_folders > 1 ? walk.n_folders - 1 : 1);
		else if (strcmp(name, ".") != 0)
			r = step(&walk, name, &fd);
	}
	if (r < 0 || fd >= 0)
		return r < 0 ? r : fd;
	/* It ends with "..", "." or a link to a folder. */
	return walk.folders[--walk.n_folders];
}

static int open_found(int root_fd, pid_t pid, const char *path, enum file_system most)
{
	_cleanup_close_ int fd = root_find(root_fd, pid, path, most);

	return fd < 0 ? fd : reopen_for_reading(fd, pid, most);
}

int root_open(int root_fd, pid_t pid, const char *path)
{
	_cleanup_strbuf_ struct strbuf request = {};
	int fd = open_found(root_fd, pid, path, FILE_SYSTEM_LOCAL);

	if (fd != -EXDEV)
		return fd;
	wire_put_u8(&request, OPEN_REQUEST_IN_ROOT);
	wire_put_u32(&request, (uint32_t)pid);
	wire_put_string(&request, path);
	fd = strbuf_error(&request);
	/* Which of its folders' servers hangs is not known: nothing of the root is opened. */
	if (fd == 0)
		fd = file_helper_open(UINT64_C(1) << 62 | (uint32_t)pid, &request, root_fd);
	return fd == -ENOSYS ? open_found(root_fd, pid, path, FILE_SYSTEM_LAYERS) : fd;
}

int root_open_waiting(int root_fd, struct wire_reader *request)
{
	pid_t pid = (pid_t)wire_get_u32(request);
	const char *path = wire_get_string(request, PATH_MAX);

	if (!wire_is_read(request))
		return -EBADMSG;
	return open_found(root_fd, pid, path, FILE_SYSTEM_LAYERS);
}
