/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the unwind rows of files take: rows FOLDER FILE... prints, for each, lines of "name value":
 *
 *	bytes		of its rows for return addresses, as they stand in kernel memory
 *	size		of the file
 *	open		ms to open it and to read its symbols
 *	first, kept	ms to compile and keep the rows in FOLDER, and to take them from there
 *
 * FOLDER is empty when it begins.
 */
#include "elf/cfi/cfi_cache.h"
#include "elf/cfi/cfi_file.h"
#include "elf/cfi/cfi_rows.h"
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* From the cache, or compiled and kept. */
static int rows_of(struct cfi_cache *cache, struct elf_file *elf, struct cfi_rows **ret_rows)
{
	struct cfi_key key;
	int r;

	cfi_key_of(elf, true, &key);
	r = cfi_cache_get(cache, &key, ret_rows);
	if (r != -ENOENT)
		return r;
	r = cfi_file_rows(elf, true, ret_rows);
	return r ? r : cfi_cache_put(cache, &key, *ret_rows);
}

/* 0, or negative errno; *ret_bytes of the rows. */
static int take(struct cfi_cache *cache, struct elf_file *elf, double *ret_ms, size_t *ret_bytes)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	double start = now_ms();
	int r = rows_of(cache, elf, &rows);

	if (r)
		return r;
	*ret_ms = now_ms() - start;
	*ret_bytes = rows->n_rows * sizeof(rows->rows[0]);
	return 0;
}

static int measure(struct cfi_cache *cache, const char *path)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	double start = now_ms(), opened, first, kept;
	struct stat st;
	size_t bytes;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	r = elf_file_new(fd, &elf);
	opened = now_ms() - start;
	if (r == 0)
		r = take(cache, elf, &first, &bytes);
	if (r == 0)
		r = take(cache, elf, &kept, &bytes);
	if (r)
		return r;
	printf("bytes %zu\nsize %" PRIu64 "\nopen %.3f\nfirst %.3f\nkept %.3f\n", bytes,
	       (uint64_t)st.st_size, opened, first, kept);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = NULL;

	if (argc < 3 || cfi_cache_open(argv[1], CFI_CACHE_BYTES, &cache))
		return 2;
	for (int i = 2; i < argc; i++) {
		if (measure(cache, argv[i])) {
			(void)fprintf(stderr, "rows: %s: no rows of it\n", argv[i]);
			return 1;
		}
	}
	/* Else "kept" was compiled again. */
	return cfi_cache_counts(cache)->hits == (uint32_t)(argc - 2) ? 0 : 1;
}
