/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book_file.h"

#include "target/clock_offset.h"
#include "target/file_open.h"
#include "target/proc_maps.h"
#include "target/process.h"
#include "target/process_list.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int book_get(const struct book *book, uint64_t at, void *to, size_t len)
{
	ssize_t n = pread(book->fd, to, len, (off_t)at);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int book_put(const struct book *book, uint64_t at, const void *from, size_t len)
{
	ssize_t n = pwrite(book->fd, from, len, (off_t)at);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int book_get_header(const struct book *book, struct abi_book_header *ret_header)
{
	return book_get(book, 0, ret_header, sizeof(*ret_header));
}

bool book_next_range(const struct book *book, uint64_t table_at, size_t entry_size, uint64_t n,
		     uint64_t most, uint64_t *first, struct book_range *ret_range)
{
	off_t data, hole;

	if (*first >= n)
		return false;
	data = lseek(book->fd, (off_t)(table_at + *first * entry_size), SEEK_DATA);
	if (data < 0 || (uint64_t)data >= table_at + n * entry_size)
		return false;
	hole = lseek(book->fd, data, SEEK_HOLE);
	if (hole <= data)
		return false;
	/* An entry may begin in a page that nobody wrote, and end in one that somebody did. */
	ret_range->first = ((uint64_t)data - table_at) / entry_size;
	ret_range->end = ((uint64_t)hole - table_at + entry_size - 1) / entry_size;
	if (ret_range->first < *first)
		ret_range->first = *first;
	if (ret_range->end > n)
		ret_range->end = n;
	if (ret_range->end - ret_range->first > most)
		ret_range->end = ret_range->first + most;
	*first = ret_range->end;
	return ret_range->first < ret_range->end;
}

/* A file in memory: nothing that blocks, and no device. */
static int check_kind(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && fs.f_type == TMPFS_MAGIC ? 0 : -EINVAL;
}

/*
 * What was looked at is what is opened, as nothing is looked up by a name of the process's. A lease
 * that somebody has is not waited for.
 */
static int open_again(int path_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int check_size(int fd, uint64_t *ret_inode)
{
	struct stat st;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return errno == EPERM ? -EACCES : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_inode = st.st_ino;
	return (uint64_t)st.st_size == ABI_BOOK_BYTES ? 0 : -EINVAL;
}

static int check_header(const struct book *book)
{
	struct abi_book_header header;
	int r = book_get_header(book, &header);

	if (r)
		return r;
	return header.magic == ABI_BOOK_MAGIC && header.version == ABI_BOOK_VERSION ? 0 : -EINVAL;
}

int book_open_file(int fd, struct book **ret_book)
{
	_cleanup_(book_close_p) struct book *book = calloc(1, sizeof(*book));
	int r;

	if (!book) {
		close(fd);
		return -ENOMEM;
	}
	book->fd = fd;
	r = check_kind(fd);
	/* Two would tell it of different moments. The lock ends with the descriptor. */
	if (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (r == 0)
		r = check_size(fd, &book->inode);
	if (r == 0)
		r = check_header(book);
	if (r)
		return r;
	/* The kernel alone follows this: it says that it cannot where we would die. */
	book->words = mmap(NULL, sizeof(struct abi_book_header), PROT_READ, MAP_SHARED, fd, 0);
	if (book->words == MAP_FAILED) {
		book->words = NULL;
		return -errno;
	}
	*ret_book = TAKE_PTR(book);
	return 0;
}

static int open_found(pid_t pid, int place_fd, struct book **ret_book)
{
	int r = check_kind(place_fd);

	if (r)
		return r;
	r = open_again(place_fd);
	if (r >= 0)
		r = book_open_file(r, ret_book);
	if (r == 0)
		(*ret_book)->clock_ns = clock_offset_of(pid);
	return r;
}

int book_open(pid_t pid, int fd, struct book **ret_book)
{
	_cleanup_close_ int place_fd = -1;
	char path[64];

	if (fd < 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	place_fd = open(path, O_PATH | O_CLOEXEC);
	return place_fd < 0 ? -errno : open_found(pid, place_fd, ret_book);
}

static bool is_first_page(const struct proc_map *map)
{
	return map->shared && map->offset == 0 && strcmp(map->path, "/memfd:" ABI_BOOK_NAME) == 0;
}

/* An ancestor's, which it looks up blocks in, cannot be written. */
static bool is_book(const struct proc_map *map)
{
	return map->write && is_first_page(map);
}

/* A helper opens it, as the process can make that wait for ever. */
int book_open_mapped(pid_t pid, struct book **ret_book)
{
	_cleanup_close_ int place_fd = -ENOENT;
	struct proc_maps maps;
	int r = proc_maps_read(pid, &maps);

	if (r < 0)
		return r;
	for (size_t i = 0; i < maps.n_maps && place_fd == -ENOENT; i++)
		if (is_book(&maps.maps[i]))
			place_fd = proc_map_open(pid, &maps.maps[i]);
	proc_maps_done(&maps);
	return place_fd < 0 ? place_fd : open_found(pid, place_fd, ret_book);
}

/* 1, 0, or negative errno. */
static int is_mapped(const struct book *book, pid_t pid)
{
	struct proc_maps maps;
	bool found = false;
	int r = proc_maps_read(pid, &maps);

	if (r < 0)
		return r;
	for (size_t i = 0; i < maps.n_maps && !found; i++)
		found = is_first_page(&maps.maps[i]) && maps.maps[i].ino == book->inode;
	proc_maps_done(&maps);
	return found;
}

bool book_is_mapped(const struct book *book, pid_t pid)
{
	return is_mapped(book, pid) > 0;
}

/* As is_mapped(): only what began later can be a child's. */
static int is_mapped_later(const struct book *book, pid_t pid, const struct process_info *own)
{
	struct process_info info;
	int r;

	if (pid == own->pid || pid == getpid())
		return 0;
	r = process_stat_read(pid, &info);
	return r || info.start_ticks < own->start_ticks ? r : is_mapped(book, pid);
}

bool book_is_mapped_elsewhere(const struct book *book, pid_t pid)
{
	struct process_info own;
	pid_vec pids = {};
	int r = process_stat_read(pid, &own);

	if (r == 0)
		r = process_list_host(&pids);
	for (size_t i = 0; i < pids.len && r == 0; i++) {
		r = is_mapped_later(book, pids.data[i], &own);
		if (r == -ESRCH)
			r = 0;
	}
	vec_done(&pids);
	return r != 0;
}

void book_close(struct book *book)
{
	if (!book)
		return;
	if (book->words)
		munmap(book->words, sizeof(struct abi_book_header));
	free(book->pages);
	free(book->gone);
	close(book->fd);
	free(book);
}
