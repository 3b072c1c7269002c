/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files DIR: does known things with files below DIR and with files that have no path. Tells
 * "file OPENS READS WRITES OTHERS READ-BYTES WRITTEN-BYTES PATH" as it should be reported.
 */
#include "target.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char room[70000];

static void expect(int opens, int reads, int writes, int others, long bytes_read,
		   long bytes_written, const char *path)
{
	char line[4400];
	int len = snprintf(line, sizeof(line), "file %d %d %d %d %ld %ld %s\n", opens, reads,
			   writes, others, bytes_read, bytes_written, path);

	CHECK(len > 0 && len < (int)sizeof(line) && write(1, line, (size_t)len) == len);
}

static char *below(const char *dir, const char *name)
{
	char *path;

	CHECK(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

static void numbered(int opens, int reads, int writes, int others, long bytes_read,
		     long bytes_written, const char *kind, int fd)
{
	struct stat st;
	char path[64];

	CHECK(fstat(fd, &st) == 0);
	snprintf(path, sizeof(path), "%s:[%lu]", kind, (unsigned long)st.st_ino);
	expect(opens, reads, writes, others + 1, bytes_read, bytes_written, path);
}

/* Each way to read and to write. */
static void plain(const char *dir)
{
	char *path = below(dir, "plain");
	struct iovec iov[2] = { { room, 100 }, { room, 23 } };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	CHECK(write(fd, room, 5000) == 5000);
	CHECK(writev(fd, iov, 2) == 123);
	CHECK(pwrite(fd, room, 10, 5123) == 10);
	CHECK(pwritev(fd, iov, 2, 5133) == 123);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read(fd, room, sizeof(room)) == 5256);
	CHECK(read(fd, room, sizeof(room)) == 0);
	CHECK(pread(fd, room, 7, 1) == 7);
	CHECK(preadv(fd, iov, 2, 0) == 123);
	CHECK(fsync(fd) == 0);
	CHECK(ftruncate(fd, 1) == 0);
	CHECK(read(fd, room, 1) == 0); /* behind the end */
	CHECK(pread(fd, room, 1, -1) == -1);
	CHECK(close(fd) == 0);
	CHECK(open(path, O_RDONLY | O_DIRECTORY) == -1);
	/* lseek, fsync, ftruncate, close */
	expect(1, 6, 4, 4, 5256 + 7 + 123, 5000 + 123 + 10 + 123, path);
	free(path);
}

/* A file that is opened again and again, and one whose name changes. */
static void names(const char *dir)
{
	char *often = below(dir, "often"), *old = below(dir, "old"), *new = below(dir, "new");
	int fd;

	for (int i = 0; i < 10; i++) {
		fd = open(often, O_WRONLY | O_CREAT | O_APPEND, 0600);
		CHECK(fd >= 0 && write(fd, "12345", 5) == 5 && close(fd) == 0);
	}
	expect(10, 0, 10, 10, 0, 50, often);
	fd = creat(old, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	CHECK(rename(old, new) == 0 && unlink(new) == 0);
	CHECK(write(fd, "yz", 2) == 2 && close(fd) == 0);
	expect(1, 0, 2, 1, 0, 3, old);
	free(often);
	free(old);
	free(new);
}

/* As many directories as fit into a path. */
static void deep(const char *dir)
{
	char *path = below(dir, "d");
	int fd;

	for (int i = 0; i < 60; i++) {
		char *next;

		CHECK(mkdir(path, 0700) == 0);
		next = below(path, "directory-with-a-name-that-is-longer-than-inline");
		free(path);
		path = next;
	}
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, room, 33) == 33 && close(fd) == 0);
	expect(1, 0, 1, 1, 0, 33, path);
	free(path);
}

static void between_files(const char *dir)
{
	char *from = below(dir, "from"), *to = below(dir, "to");
	int in = open(from, O_RDWR | O_CREAT, 0600), out = open(to, O_RDWR | O_CREAT, 0600);
	int fds[2];
	off_t at = 0;

	CHECK(in >= 0 && out >= 0 && pipe(fds) == 0);
	CHECK(write(in, room, 60000) == 60000);
	CHECK(sendfile(out, in, &at, 20000) == 20000);
	at = 0;
	CHECK(copy_file_range(in, &at, out, NULL, 30000, 0) == 30000);
	at = 0;
	CHECK(splice(in, &at, fds[1], NULL, 4000, 0) == 4000);
	CHECK(splice(fds[0], NULL, out, NULL, 4000, 0) == 4000);
	expect(1, 3, 1, 0, 20000 + 30000 + 4000, 60000, from);
	expect(1, 0, 3, 0, 0, 20000 + 30000 + 4000, to);
	numbered(0, 1, 1, 0, 4000, 4000, "pipe", fds[0]);
	free(from);
	free(to);
}

static void sockets(void)
{
	struct iovec iov[2] = { { room, 11 }, { room, 22 } };
	struct mmsghdr messages[2] = {
		{ .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } },
	};
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0);
	CHECK(send(fds[0], room, 1000, 0) == 1000);
	CHECK(sendmsg(fds[0], &messages[0].msg_hdr, 0) == 11);
	CHECK(sendmmsg(fds[0], messages, 2, 0) == 2);
	CHECK(recv(fds[1], room, sizeof(room), 0) == 1000);
	CHECK(recvmsg(fds[1], &messages[0].msg_hdr, 0) == 11);
	CHECK(recvmmsg(fds[1], messages, 2, 0, NULL) == 2);
	numbered(0, 0, 3, 0, 0, 1000 + 11 + 11 + 22, "socket", fds[0]);
	numbered(0, 3, 0, 0, 1000 + 11 + 11 + 22, 0, "socket", fds[1]);
}

static void nameless(void)
{
	int event = eventfd(0, 0), memory = memfd_create("notes", 0);
	uint64_t one = 1;

	CHECK(event >= 0 && memory >= 0);
	CHECK(write(event, &one, 8) == 8 && write(event, &one, 8) == 8);
	CHECK(read(event, &one, 8) == 8 && one == 2);
	expect(0, 1, 2, 0, 8, 16, "anon_inode:[eventfd]");
	CHECK(write(memory, room, 99) == 99);
	expect(0, 0, 1, 0, 0, 99, "memfd:notes");
}

/* As the kernel names what the descriptor is of, which is then closed. */
static void as_linked(int fd)
{
	char link[64], path[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	CHECK(len > 0);
	path[len] = '\0';
	CHECK(close(fd) == 0);
	expect(1, 0, 0, 1, 0, 0, path);
}

/* The roots of file systems are in no directory, and are not deleted; a file without a name is. */
static void roots_and_unnamed(const char *dir)
{
	int root = open("/", O_RDONLY | O_DIRECTORY), proc = open("/proc", O_PATH | O_DIRECTORY);
	int unnamed = open(dir, O_TMPFILE | O_WRONLY, 0600);

	CHECK(root >= 0 && proc >= 0);
	as_linked(root);
	as_linked(proc);
	if (unnamed >= 0) /* not all file systems can */
		as_linked(unnamed);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	plain(argv[1]);
	names(argv[1]);
	deep(argv[1]);
	between_files(argv[1]);
	sockets();
	nameless();
	roots_and_unnamed(argv[1]);
	return 0;
}
