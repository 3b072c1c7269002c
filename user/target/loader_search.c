/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/loader_search.h"

#include "base/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CACHE (64U << 20)
#define ORIGIN "$ORIGIN"
#define ORIGIN_IN_BRACES "${ORIGIN}"

/* glibc's sysdeps/generic/dl-cache.h: what a file of 64 bits for the C library 6 is marked with. */
#if defined(__x86_64__)
#define OUR_FLAGS 0x0303
#elif defined(__aarch64__)
#define OUR_FLAGS 0x0a03
#else
#error "no such architecture"
#endif

/* The same file's two formats: the old one, where it is there, stands before the other. */
#define OLD_MAGIC "ld.so-1.7.0"
#define MAGIC "glibc-ld.so.cache1.1"

struct old_header {
	char magic[sizeof(OLD_MAGIC) - 1];
	uint32_t n;
};

struct old_entry {
	int32_t flags;
	uint32_t key, value;
};

struct header {
	char magic[sizeof(MAGIC) - 1];
	uint32_t n, strings_bytes;
	uint8_t flags, padding[3];
	uint32_t extension, unused[3];
};

struct entry {
	int32_t flags;
	uint32_t key, value; /* of strings, from the header on: name and path */
	uint32_t os_version;
	uint64_t hwcap;
};

struct loader_search {
	const char *library_path; /* borrowed */
	char *file;		  /* the cache with a NUL behind it; NULL: there is none */
	size_t size;		  /* without the NUL */
	size_t start;		  /* of its header */
	uint32_t n;		  /* entries */
};

static int read_file(const char *path, char **ret_text, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat status;
	ssize_t n;

	*ret_text = NULL;
	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size > MAX_CACHE)
		return 0;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = read(fd, text, (size_t)status.st_size);
	if (n < 0)
		return 0;
	text[n] = '\0';
	*ret_size = (size_t)n;
	*ret_text = TAKE_PTR(text);
	return 0;
}

/* Where the header of the format that we know is; false: nowhere. */
static bool find_header(struct loader_search *search)
{
	struct old_header old;
	struct header header;
	size_t at = 0;

	if (search->size >= sizeof(old)) {
		memcpy(&old, search->file, sizeof(old));
		if (memcmp(old.magic, OLD_MAGIC, sizeof(old.magic)) == 0)
			at = (sizeof(old) + (size_t)old.n * sizeof(struct old_entry) + 7) &
			     ~(size_t)7;
	}
	if (at > search->size || search->size - at < sizeof(header))
		return false;
	memcpy(&header, search->file + at, sizeof(header));
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0)
		return false;
	search->start = at;
	search->n = header.n;
	return header.n <= (search->size - at - sizeof(header)) / sizeof(struct entry);
}

int loader_search_new(const char *library_path, const char *cache,
		      struct loader_search **ret_search)
{
	_cleanup_(loader_search_free_p) struct loader_search *search = calloc(1, sizeof(*search));
	int r = search ? read_file(cache, &search->file, &search->size) : -ENOMEM;

	if (r < 0)
		return r;
	search->library_path = library_path;
	if (search->file && !find_header(search))
		search->n = 0;
	*ret_search = TAKE_PTR(search);
	return 0;
}

void loader_search_free(struct loader_search *search)
{
	if (!search)
		return;
	free(search->file);
	free(search);
}

/* "$ORIGIN/../lib" of a file in /opt/x/bin. False: it does not fit. */
static bool make_folder(const char *word, size_t len, const char *needed_by, char path[PATH_MAX])
{
	static const char *const origins[] = { ORIGIN, ORIGIN_IN_BRACES };
	const char *slash = strrchr(needed_by, '/');

	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		size_t n = strlen(origins[i]);

		if (len >= n && strncmp(word, origins[i], n) == 0)
			return snprintf(path, PATH_MAX, "%.*s%.*s",
					(int)(slash ? slash - needed_by : 0), needed_by,
					(int)(len - n), word + n) < PATH_MAX;
	}
	return snprintf(path, PATH_MAX, "%.*s", (int)len, word) < PATH_MAX;
}

/* In the folders of a list with colons, or semicolons, between. */
static int find_in(const char *folders, const char *name, const char *needed_by,
		   int (*fn)(const char *path, void *userdata), void *userdata)
{
	int r = 0;

	for (const char *word = folders; word && *word && r == 0;) {
		size_t len = strcspn(word, ":;"), used;
		char path[PATH_MAX];

		if (len > 0 && make_folder(word, len, needed_by, path)) {
			used = strlen(path);
			if (snprintf(path + used, sizeof(path) - used, "/%s", name) <
			    (int)(sizeof(path) - used))
				r = fn(path, userdata);
		}
		word += len + (word[len] != '\0');
	}
	return r;
}

/* A string of the cache, which ends in it; NULL: it is not in it. */
static const char *string_at(const struct loader_search *search, uint32_t offset)
{
	return offset < search->size - search->start ? search->file + search->start + offset : NULL;
}

/* Builds for newer processors are left out: which of them this one has the linker finds out. */
static int find_in_cache(const struct loader_search *search, const char *name,
			 int (*fn)(const char *path, void *userdata), void *userdata)
{
	int r = 0;

	for (uint32_t i = 0; i < search->n && r == 0; i++) {
		const char *key, *path;
		struct entry entry;

		memcpy(&entry,
		       search->file + search->start + sizeof(struct header) + i * sizeof(entry),
		       sizeof(entry));
		if (entry.flags != OUR_FLAGS || entry.hwcap)
			continue;
		key = string_at(search, entry.key);
		path = string_at(search, entry.value);
		if (key && path && strcmp(key, name) == 0)
			r = fn(path, userdata);
	}
	return r;
}

int loader_search_find(const struct loader_search *search, const char *name, const char *needed_by,
		       const char *folders, int (*fn)(const char *path, void *userdata),
		       void *userdata)
{
	int r;

	if (strchr(name, '/'))
		return fn(name, userdata);
	r = find_in(folders, name, needed_by, fn, userdata);
	if (r == 0)
		r = find_in(search->library_path, name, needed_by, fn, userdata);
	if (r == 0)
		r = find_in_cache(search, name, fn, userdata);
	return r;
}

#define MAX_SCRIPTS 4 /* a script whose interpreter is one: as the kernel */

static int open_program(const char *name, const char *search)
{
	const char *end, *at = search ? search : PROGRAM_DEFAULT_PATH;
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return open_regular(name);
	for (;; at = end + 1) {
		int n, fd;

		end = strchrnul(at, ':');
		n = snprintf(path, sizeof(path), "%.*s/%s", (int)(end - at), end > at ? at : ".",
			     name);
		if (n < (int)sizeof(path) && access(path, X_OK) == 0) {
			fd = open_regular(path);
			if (fd >= 0)
				return fd;
		}
		if (*end == '\0')
			return -ENOENT;
	}
}

/* The interpreter of a script takes the place of *fd, which is closed. */
static void follow_scripts(int *fd)
{
	char line[PATH_MAX + 3], *name;

	for (int i = 0; i < MAX_SCRIPTS; i++) {
		ssize_t n = pread(*fd, line, sizeof(line) - 1, 0);

		if (n < 3 || line[0] != '#' || line[1] != '!')
			return;
		line[n] = '\0';
		name = line + 2 + strspn(line + 2, " \t");
		name[strcspn(name, " \t\n")] = '\0';
		close(*fd);
		*fd = open_regular(name);
		if (*fd < 0)
			return;
	}
}

int program_file_open(const char *name, const char *search)
{
	int fd = open_program(name, search);

	if (fd >= 0)
		follow_scripts(&fd);
	return fd;
}
