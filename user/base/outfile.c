/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/outfile.h"

#include "base/fs_identity.h"
#include "base/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define TEMP_NAME_LEN 40
#define TEMP_NAME_TRIES 16

struct outfile {
	struct fs_identity *identity;
	FILE *stream;
	int fd;
	int dir_fd;		       /* -1: written directly, nothing to rename */
	char *base;		       /* last component of the path */
	char temp_name[TEMP_NAME_LEN]; /* "": no temporary file has a name (any more) */
	bool unnamed;		       /* O_TMPFILE: it gets its name at the commit */
	bool published;		       /* it has its name */
	int write_error;	       /* the first, negative errno */
	uint64_t left;		       /* bytes that may be written */
};

/*
 * The stream is a cookie because stdio keeps only "there was an error": the errno of a write long
 * before the commit is what tells a full disk from a broken pipe.
 */
static ssize_t stream_write(void *cookie, const char *buf, size_t size)
{
	struct outfile *file = cookie;
	size_t done = 0;

	if (size > file->left) {
		file->write_error = file->write_error ? file->write_error : -EFBIG;
		return 0;
	}
	file->left -= size;
	while (done < size) {
		ssize_t n = write(file->fd, buf + done, size - done);

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN) {
			/* A descriptor from the caller's shell may be non-blocking. */
			(void)poll(&(struct pollfd){ .fd = file->fd, .events = POLLOUT }, 1, -1);
			continue;
		}
		if (file->write_error == 0)
			file->write_error = -errno;
		break;
	}
	return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *offset, int whence)
{
	struct outfile *file = cookie;
	off64_t at = lseek64(file->fd, *offset, whence);

	if (at < 0)
		return -1;
	*offset = at;
	return 0;
}

static int open_stream(struct outfile *file)
{
	cookie_io_functions_t io = { .write = stream_write, .seek = stream_seek };

	file->left = UINT64_MAX;
	file->stream = fopencookie(file, "w", io);
	return file->stream ? 0 : -ENOMEM;
}

/* N of "/dev/fd/N" and the like, or -1. */
static int std_fd_of(const char *path)
{
	static const char *const dirs[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		size_t len = strlen(dirs[i]);
		const char *number = path + len;
		char *end;
		long n;

		if (strncmp(path, dirs[i], len) != 0 || *number < '0' || *number > '9')
			continue;
		errno = 0;
		n = strtol(number, &end, 10);
		if (errno == 0 && *end == '\0' && n <= INT32_MAX)
			return (int)n;
	}
	return -1;
}

/*
 * Only what was inherited may be named: every descriptor that memtraced opens itself, with root's
 * rights, is close-on-exec, and an inherited one cannot be.
 */
static int open_inherited(struct outfile *file, int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0)
		return -errno;
	if (flags & FD_CLOEXEC)
		return -EBADF;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return file->fd < 0 ? -errno : 0;
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/*
 * Root's, the writer's own and the kernel's links are followed: by another user's link that user
 * would choose among all folders that the writer may write to.
 */
static int check_folder_link(int fd, const struct stat *st, const void *userdata)
{
	(void)userdata;
	if (is_in_proc(fd))
		return PATH_FOLLOW_BY_KERNEL;
	return st->st_uid == 0 || st->st_uid == (uid_t)setfsuid((uid_t)-1) ? PATH_FOLLOW : -ELOOP;
}

/* A descriptor (O_PATH), or negative errno: -ELOOP for a link that is not followed. */
static int find_folder(const char *path)
{
	static const struct path_rules rules = { .check_link = check_folder_link };
	_cleanup_close_ int from_fd =
		open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = from_fd < 0 ? -errno : path_walk(from_fd, path, &rules, NULL);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? TAKE_FD(fd) : -ENOTDIR;
}

/* Opens the folder of `path` and keeps the last component. */
static int open_folder(struct outfile *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	_cleanup_free_ char *dir = NULL;

	if (path[0] == '\0')
		return -ENOENT;
	if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return -EISDIR;
	dir = slash ? strndup(path, (size_t)(base - path)) : strdup(".");
	file->base = strdup(base);
	if (!dir || !file->base)
		return -ENOMEM;
	file->dir_fd = find_folder(dir);
	return file->dir_fd < 0 ? file->dir_fd : 0;
}

/*
 * As fs.protected_fifos has it for those who would create one: in a folder of all, as /tmp, another
 * user may have put a pipe where a report is expected, to read it.
 */
static int check_pipe(const struct outfile *file, const struct stat *pipe)
{
	struct stat dir;

	if (fstat(file->dir_fd, &dir) < 0)
		return -errno;
	if (!(dir.st_mode & S_ISVTX) || !(dir.st_mode & (S_IWGRP | S_IWOTH)) ||
	    pipe->st_uid == dir.st_uid || pipe->st_uid == (uid_t)setfsuid((uid_t)-1))
		return 0;
	return -EACCES;
}

/*
 * Opens what is at the path now, without changing it. O_NONBLOCK because opening a pipe that
 * nothing reads would hang, with SIGINT blocked by the loop. 1: a pipe or character device, in
 * *ret_fd; 0: a regular file or nothing, to be replaced; or negative errno.
 */
static int open_direct(const struct outfile *file, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	fd = openat(file->dir_fd, file->base,
		    O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	/* EWOULDBLOCK: a regular file on which somebody holds a lease; it is replaced unopened. */
	if (fd < 0)
		return errno == ENOENT || errno == EWOULDBLOCK ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return -EOPNOTSUPP;
	r = S_ISFIFO(st.st_mode) ? check_pipe(file, &st) : 0;
	if (r < 0)
		return r;
	if (fcntl(fd, F_SETFL, 0) < 0) /* clears O_NONBLOCK; the access mode is not changed */
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 1;
}

static int random_name(struct outfile *file)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(file->temp_name, sizeof(file->temp_name), ".memtraced-%016" PRIx64 ".tmp",
		       random); /* fits */
	return 0;
}

/* For file systems without O_TMPFILE (NFS, overlays of old kernels). */
static int create_named(struct outfile *file)
{
	for (int i = 0; i < TEMP_NAME_TRIES; i++) {
		int r = random_name(file);

		if (r < 0)
			return r;
		file->fd = openat(file->dir_fd, file->temp_name,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (file->fd >= 0)
			return 0;
		file->temp_name[0] = '\0';
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* A file without a name, where that can be had, so that a killed memtraced leaves none. */
static int create_temp(struct outfile *file)
{
	file->fd = openat(file->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	if (file->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
		return create_named(file);
	if (file->fd < 0)
		return -errno;
	file->unnamed = true;
	return 0;
}

/* Runs with the user's identity. */
static int open_target(struct outfile *file, const char *path)
{
	int r = open_folder(file, path);

	if (r < 0)
		return r;
	r = open_direct(file, &file->fd);
	if (r < 0)
		return r;
	if (r == 0)
		return create_temp(file);
	close(TAKE_FD(file->dir_fd));
	return 0;
}

static int open_as_user(struct outfile *file, const char *path)
{
	int r = fs_identity_enter(file->identity);
	int r_leave;

	if (r < 0)
		return r;
	r = open_target(file, path);
	r_leave = fs_identity_leave(file->identity);
	return r < 0 ? r : r_leave;
}

int outfile_new(const char *path, uid_t uid, gid_t gid, struct outfile **ret_file)
{
	_cleanup_(outfile_free_p) struct outfile *file = calloc(1, sizeof(*file));
	int inherited = std_fd_of(path);
	int r;

	if (!file)
		return -ENOMEM;
	file->fd = file->dir_fd = -1;
	r = fs_identity_new(uid, gid, &file->identity);
	if (r < 0)
		return r;
	r = inherited >= 0 ? open_inherited(file, inherited) : open_as_user(file, path);
	if (r < 0)
		return r;
	r = open_stream(file);
	if (r < 0)
		return r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

FILE *outfile_stream(struct outfile *file)
{
	return file->stream;
}

void outfile_limit(struct outfile *file, uint64_t bytes)
{
	file->left = bytes;
}

static int finish_stream(struct outfile *file)
{
	bool failed = ferror(file->stream) != 0;

	if (fclose(TAKE_PTR(file->stream)) != 0)
		failed = true;
	if (file->write_error < 0)
		return file->write_error;
	return failed ? -EIO : 0;
}

/* A full disk or quota may be reported as late as here. */
static int close_file(struct outfile *file)
{
	return close(TAKE_FD(file->fd)) < 0 && errno != EINTR ? -errno : 0;
}

/*
 * Names the nameless file: at once where nothing has that name yet. A link cannot replace, so over
 * an old file it takes a temporary name for the moment between two system calls.
 */
static int link_unnamed(struct outfile *file)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd); /* fits */
	if (linkat(AT_FDCWD, path, file->dir_fd, file->base, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	for (int i = 0; errno == EEXIST && i < TEMP_NAME_TRIES; i++) {
		int r = random_name(file);

		if (r < 0)
			return r;
		if (linkat(AT_FDCWD, path, file->dir_fd, file->temp_name, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		file->temp_name[0] = '\0';
	}
	return -errno;
}

/* `complete`: nothing is written any more. */
static int name_file(struct outfile *file, bool complete)
{
	int r = fs_identity_enter(file->identity);
	int r_leave;

	if (r < 0)
		return r;
	if (file->unnamed)
		r = link_unnamed(file);
	if (r == 0 && complete)
		r = close_file(file);
	if (r == 0 && file->temp_name[0] != '\0') {
		if (renameat(file->dir_fd, file->temp_name, file->dir_fd, file->base) < 0)
			r = -errno;
		else
			file->temp_name[0] = '\0';
	}
	r_leave = fs_identity_leave(file->identity);
	return r < 0 ? r : r_leave;
}

int outfile_flush(struct outfile *file)
{
	bool failed;

	if (!file->stream)
		return -EINVAL;
	failed = fflush(file->stream) != 0 || ferror(file->stream) != 0;
	if (file->write_error < 0)
		return file->write_error;
	return failed ? -EIO : 0;
}

const char *outfile_strerror(int r)
{
	return r == -ELOOP ? "its last component is a symbolic link, or one before is another "
			     "user's; name the file itself" :
			     strerror(-r);
}

int outfile_error(struct outfile *file, int r)
{
	int r_flush = r == -EIO ? outfile_flush(file) : 0;

	return r_flush < 0 ? r_flush : r;
}

int outfile_publish(struct outfile *file)
{
	int r = outfile_flush(file);

	if (r < 0 || file->published || file->dir_fd < 0)
		return r;
	r = name_file(file, false);
	if (r == 0)
		file->published = true;
	return r;
}

int outfile_commit(struct outfile *file)
{
	int r;

	if (!file->stream)
		return -EINVAL;
	r = finish_stream(file);
	if (r < 0)
		return r;
	return file->dir_fd < 0 || file->published ? close_file(file) : name_file(file, true);
}

static void remove_temp(const struct outfile *file)
{
	if (fs_identity_enter(file->identity) < 0)
		return;
	/* If it fails, the user took the right to the folder away meanwhile: theirs to clean up. */
	(void)unlinkat(file->dir_fd, file->temp_name, 0);
	(void)fs_identity_leave(file->identity); /* there is no other way to tell */
}

void outfile_free(struct outfile *file)
{
	if (!file)
		return;
	if (file->stream) {
		__fpurge(file->stream); /* given up: a pipe is not to get the rest either */
		(void)fclose(file->stream);
	}
	if (file->fd >= 0)
		close(file->fd);
	if (file->temp_name[0] != '\0')
		remove_temp(file);
	if (file->dir_fd >= 0)
		close(file->dir_fd);
	fs_identity_free(file->identity);
	free(file->base);
	free(file);
}

int outfile_open_again(int fd)
{
	struct stat status;
	char path[32];

	if (fstat(fd, &status) < 0 ||
	    !(S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(fd))))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}
