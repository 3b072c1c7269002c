/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_cache.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "elf/cfi_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A file's times may stay the same when it is changed again within a tick, or a second on some. */
#define SETTLED_S 2
/* How old a use may get in a file's time before it is written down again. */
#define USED_S (24 * 60 * 60)
/* The room is looked at each time that a part of it has been written, and at the end. */
#define ROOM_PARTS 16
#define BLOCK_BYTES 4096 /* of most file systems */
#define NAME_CHARS 37	 /* 32 digits, ".rows" */

struct cfi_cache {
	int dir_fd;
	uint64_t max_bytes;
	uint64_t unchecked_bytes; /* written since the room was last looked at */
	struct cfi_cache_counts counts;
};

struct entry {
	char name[NAME_CHARS + 1];
	struct timespec used;
	uint64_t bytes;
};

static bool is_ours_alone(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Where it is by default. 0 or -ENOENT. */
static int default_path(char path[PATH_MAX])
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int n;

	if (geteuid() == 0)
		n = snprintf(path, PATH_MAX, "/var/cache/memtraced/unwind");
	else if (cache && cache[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/memtraced/unwind", cache);
	else if (home && home[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache/memtraced/unwind", home);
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

static int open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !is_ours_alone(&st)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int cfi_cache_open(const char *path, uint64_t max_bytes, struct cfi_cache **ret_cache)
{
	char copy[PATH_MAX];
	struct cfi_cache *cache;
	int fd;

	if (!path) {
		if (default_path(copy) < 0)
			return -ENOENT;
	} else {
		if (!path[0] || strlen(path) >= sizeof(copy))
			return -ENOENT;
		strcpy(copy, path);
	}
	make_folders(copy);
	fd = open_folder(copy);
	if (fd < 0)
		return fd;
	cache = calloc(1, sizeof(*cache));
	if (!cache) {
		close(fd);
		return -ENOMEM;
	}
	cache->dir_fd = fd;
	cache->max_bytes = max_bytes;
	*ret_cache = cache;
	return 0;
}

/* Equal names of different keys cost a compilation each time: the key is in the file, too. */
static void name_of(const struct cfi_key *key, char name[NAME_CHARS + 1])
{
	snprintf(name, NAME_CHARS + 1, "%016llx%016llx.rows",
		 (unsigned long long)hash_bytes(key, sizeof(*key), 1),
		 (unsigned long long)hash_bytes(key, sizeof(*key), 2));
}

/* The whole file, to be freed. 0, -EPERM: not ours, or no plain file; or what open() says. */
static int read_whole(struct cfi_cache *cache, const char *name, uint8_t **ret_bytes,
		      size_t *ret_len)
{
	_cleanup_close_ int fd =
		openat(cache->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t done = 0, len;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_ours_alone(&st) ||
	    (uint64_t)st.st_size > cache->max_bytes)
		return -EPERM;
	len = (size_t)st.st_size;
	bytes = malloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	while (done < len) {
		ssize_t n = pread(fd, bytes + done, len - done, (off_t)done);

		if (n <= 0)
			return -EIO;
		done += (size_t)n;
	}
	if (time(NULL) - st.st_mtim.tv_sec > USED_S)
		(void)futimens(fd, NULL); /* else it goes sooner than others */
	*ret_bytes = TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

int cfi_cache_get(struct cfi_cache *cache, const struct cfi_key *key, struct cfi_rows **ret_rows)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	char name[NAME_CHARS + 1];
	size_t len = 0;
	int r;

	name_of(key, name);
	r = read_whole(cache, name, &bytes, &len);
	if (r == 0)
		r = cfi_decode(bytes, len, key, ret_rows);
	if (r == 0) {
		cache->counts.hits++;
		return 0;
	}
	cache->counts.misses++;
	if (r != -ENOENT && r != -ENOMEM)
		cache->counts.refused++;
	return r == -ENOMEM ? r : -ENOENT;
}

static bool is_entry_name(const char *name)
{
	return strlen(name) == NAME_CHARS && strspn(name, "0123456789abcdef") == 32 &&
	       strcmp(name + 32, ".rows") == 0;
}

static int entry_by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Removes what was not used for the longest time, until the rest fits. */
static void shrink(struct cfi_cache *cache)
{
	_cleanup_closedir_ DIR *dir = NULL;
	VEC(struct entry) entries = { 0 };
	int fd = openat(cache->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *found;
	uint64_t total = 0;

	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	while ((found = readdir(dir))) {
		struct entry entry;
		struct stat st;

		if (!is_entry_name(found->d_name) ||
		    fstatat(cache->dir_fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(entry.name, found->d_name, NAME_CHARS + 1);
		entry.used = st.st_mtim;
		entry.bytes = (uint64_t)st.st_blocks * 512;
		total += entry.bytes;
		if (vec_push(&entries, entry) < 0)
			break;
	}
	if (total > cache->max_bytes && entries.len)
		qsort(entries.data, entries.len, sizeof(struct entry), entry_by_use);
	for (size_t i = 0; i < entries.len && total > cache->max_bytes; i++) {
		(void)unlinkat(cache->dir_fd, entries.data[i].name, 0); /* another may have */
		total -= entries.data[i].bytes;
	}
	vec_done(&entries);
	cache->unchecked_bytes = 0;
}

void cfi_cache_free(struct cfi_cache *cache)
{
	if (!cache)
		return;
	if (cache->unchecked_bytes)
		shrink(cache);
	close(cache->dir_fd);
	free(cache);
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
 * Gives a file without a name its own. One that is there is what get() refused, or of another
 * process that has been faster: it goes. Between the two steps there is none, which is a miss.
 */
static int give_name(const struct cfi_cache *cache, int fd, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; i < 2; i++) {
		if (linkat(AT_FDCWD, self, cache->dir_fd, name, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
		if (unlinkat(cache->dir_fd, name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0; /* made again in between */
}

int cfi_cache_put(struct cfi_cache *cache, const struct cfi_key *key, const struct cfi_rows *rows)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_close_ int fd = -1;
	char name[NAME_CHARS + 1];
	size_t len = 0;
	int r;

	if (time(NULL) - (time_t)key->file.ctime_s < SETTLED_S ||
	    time(NULL) - (time_t)key->debug.ctime_s < SETTLED_S)
		return -EAGAIN;
	r = cfi_encode(rows, key, &bytes, &len);
	if (r < 0)
		return r;
	if (len > cache->max_bytes / 4)
		return -EFBIG;
	fd = openat(cache->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, len);
	if (r < 0)
		return r;
	name_of(key, name);
	r = give_name(cache, fd, name);
	if (r < 0)
		return r;
	cache->unchecked_bytes += (len + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
	if (cache->unchecked_bytes > cache->max_bytes / ROOM_PARTS)
		shrink(cache);
	return 0;
}

int cfi_cache_rows(struct cfi_cache *cache, struct elf_file *file, struct elf_file *debug,
		   bool pruned, struct cfi_rows **ret_rows)
{
	struct cfi_key key;
	int r;

	if (!cache)
		return cfi_file_rows(file, debug, pruned, ret_rows);
	cfi_key_of(file, debug, pruned, &key);
	r = cfi_cache_get(cache, &key, ret_rows);
	if (r != -ENOENT)
		return r;
	r = cfi_file_rows(file, debug, pruned, ret_rows);
	if (r == 0 && cfi_cache_put(cache, &key, *ret_rows) < 0)
		cache->counts.not_kept++;
	return r;
}

const struct cfi_cache_counts *cfi_cache_counts(const struct cfi_cache *cache)
{
	return &cache->counts;
}
