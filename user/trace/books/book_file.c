/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book_file.h"

#include "base/clock.h"
#include "base/file_system.h"
#include "target/clock_offset.h"
#include "target/file_helper.h"
#include "target/file_open.h"
#include "target/proc_maps.h"
#include "target/process.h"
#include "target/process_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What tables are said to have was written, but for holes, and what is written soon. */
#define MOST_OF_WRITTEN 16
#define WRITTEN_SOON (UINT64_C(256) << 10)

int book_get(const struct book *book, uint64_t at, void *to, size_t len)
{
	ssize_t n = pread(book->fd, to, len, (off_t)at);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/*
 * By the kernel, to which a page that cannot be had is an error, where it would be the end of us.
 * Not by write(2), which waits for other writers: one whose memory a file server holds back may be
 * waited for without end, beyond SIGKILL.
 */
int book_put(const struct book *book, size_t at, const void *from, size_t len)
{
	const struct iovec ours = { (void *)(uintptr_t)from, len };
	const struct iovec theirs = { (char *)book->header + at, len };
	ssize_t n = process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int book_get_header(const struct book *book, struct abi_book_header *ret_header)
{
	return book_get(book, 0, ret_header, sizeof(*ret_header));
}

static int get_written(const struct book *book, uint64_t *ret_bytes)
{
	struct stat st;

	if (fstat(book->fd, &st) < 0)
		return -errno;
	*ret_bytes = (uint64_t)st.st_blocks * 512;
	return 0;
}

int book_check_told(const struct book *book, uint64_t bytes)
{
	uint64_t written = 0;
	int r = get_written(book, &written);

	return r == 0 && bytes > written + WRITTEN_SOON ? -EBADMSG : r;
}

static uint64_t bytes_of(uint32_t n, uint32_t most, size_t entry_size)
{
	return (uint64_t)book_at_most(n, most) * entry_size;
}

int book_get_tables(const struct book *book, struct abi_book_header *ret_header)
{
	int r = book_get_header(book, ret_header);
	uint64_t said, written = 0;

	if (r == 0)
		r = get_written(book, &written);
	if (r)
		return r;
	said = bytes_of(ret_header->sites, ABI_BOOK_SITES,
			sizeof(struct abi_book_site) + sizeof(struct abi_book_site_cut)) +
	       bytes_of(ret_header->tombs, ABI_BOOK_TOMBS, sizeof(struct abi_book_tomb)) +
	       bytes_of(ret_header->pairs, ABI_BOOK_PAIRS, sizeof(struct abi_book_pair)) +
	       ABI_BOOK_BUCKETS(book_at_most(ret_header->doublings & ~ABI_BOOK_DOUBLES,
					     ABI_BOOK_DOUBLINGS)) *
		       sizeof(struct abi_book_bucket);
	return said > MOST_OF_WRITTEN * written + WRITTEN_SOON ? -EBADMSG : 0;
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

/* Sealed by the process: we would have to wait for its writers, as in book_put(). */
static int check_size(struct book *book)
{
	const int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(book->fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0)
		return -errno;
	if ((seals & size_seals) != size_seals)
		return -EACCES;
	if (fstat(book->fd, &st) < 0)
		return -errno;
	book->inode = st.st_ino;
	book->device = st.st_dev;
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
	r = file_is_in_memory(fd) ? 0 : -EINVAL;
	/* Two would tell it of different moments. The lock ends with the descriptor. */
	if (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (r == 0)
		r = check_size(book);
	if (r == 0)
		r = check_header(book);
	if (r)
		return r;
	book->header = mmap(NULL, sizeof(struct abi_book_header), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	if (book->header == MAP_FAILED) {
		book->header = NULL;
		return -errno;
	}
	*ret_book = TAKE_PTR(book);
	return 0;
}

/* What anybody may have a place of: no server is asked, no device acts. */
static int open_found(pid_t pid, int place_fd, struct book **ret_book)
{
	_cleanup_(book_close_p) struct book *book = NULL;
	int r = file_is_in_memory(place_fd) ? open_again(place_fd) : -EINVAL;

	if (r >= 0)
		r = book_open_file(r, &book);
	if (r == 0)
		r = clock_offset_of(pid, &book->clock_ns);
	if (r == 0)
		*ret_book = TAKE_PTR(book);
	return r;
}

int book_open(pid_t pid, int fd, struct book **ret_book)
{
	_cleanup_close_ int place_fd = -1;
	char name[32];

	if (fd < 0)
		return -EINVAL;
	snprintf(name, sizeof(name), "fd/%d", fd);
	place_fd = file_helper_open_proc(pid, name, O_PATH);
	return place_fd < 0 ? place_fd : open_found(pid, place_fd, ret_book);
}

static bool is_first_page(const struct proc_map *map)
{
	return map->shared && map->offset == 0 && strcmp(map->path, "/memfd:" ABI_BOOK_NAME) == 0;
}

static bool is_fence(const struct proc_map *map, const struct proc_map *book)
{
	return map->start == book->start + ABI_BOOK_BYTES && map->offset == ABI_BOOK_BYTES &&
	       proc_map_is_same_file(map, book) && map->shared && !map->read && !map->write &&
	       !map->exec;
}

/*
 * What another process has handed this one has no fence. An ancestor's, which it looks up blocks
 * in, cannot be written.
 */
static bool is_book(const struct proc_maps *maps, const struct proc_map *map)
{
	const struct proc_map *behind = proc_maps_find(maps, map->start + ABI_BOOK_BYTES);

	return map->write && is_first_page(map) && behind && is_fence(behind, map);
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
		if (is_book(&maps, &maps.maps[i]))
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
		found = is_first_page(&maps.maps[i]) &&
			proc_map_is_of(&maps.maps[i], book->inode, book->device);
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

/* Of a reader's time: any user may have thousands of processes, each of which is slow to read. */
#define SEARCH_NS SECOND_NS

bool book_is_mapped_elsewhere(const struct book *book, pid_t pid)
{
	const uint64_t end_ns = clock_monotonic_ns() + SEARCH_NS;
	struct process_info own;
	pid_vec pids = {};
	int r = process_stat_read(pid, &own);

	if (r == 0)
		r = process_list_host(&pids);
	for (size_t i = 0; i < pids.len && r == 0; i++) {
		r = clock_monotonic_ns() < end_ns ? is_mapped_later(book, pids.data[i], &own) :
						    -ETIMEDOUT;
		if (r == -ESRCH)
			r = 0;
	}
	vec_done(&pids);
	return r != 0;
}

void book_forget_nodes(struct book *book)
{
	hashmap_done(&book->pages);
}

void book_close(struct book *book)
{
	if (!book)
		return;
	if (book->header)
		munmap(book->header, sizeof(struct abi_book_header));
	book_forget_nodes(book);
	free(book->gone);
	free(book->object_ns);
	close(book->fd);
	free(book);
}
