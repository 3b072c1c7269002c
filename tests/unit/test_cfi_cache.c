/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_cache.h"

#include "build_object.h"
#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

struct folder {
	char top[64];  /* ours, removed at the end */
	char path[80]; /* of the cache, two levels below */
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void folder_done(struct folder *folder)
{
	(void)nftw(folder->top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct folder new_folder(void)
{
	struct folder folder;

	strcpy(folder.top, "/tmp/memtraced-test-XXXXXX");
	assert_non_null(mkdtemp(folder.top));
	snprintf(folder.path, sizeof(folder.path), "%s/a/b", folder.top);
	return folder;
}

static struct cfi_cache *open_cache(const struct folder *folder)
{
	struct cfi_cache *cache = NULL;

	assert_int_equal(cfi_cache_open(folder->path, CFI_CACHE_BYTES, &cache), 0);
	return cache;
}

static struct abi_unwind_row row_data[] = { { 0, 0, 0 }, { 0x10, 1, 0 }, { 0x40, 0, 0 } };
static struct abi_unwind_rule rule_data[] = {
	{ 0 }, { .kind = ABI_UNWIND_SP, .offset = 16, .bp = ABI_UNWIND_BP_AT_CFA, .bp_offset = -16 }
};
static const struct cfi_rows some_rows = { .rows = row_data,
					   .n_rows = 3,
					   .rules = rule_data,
					   .n_rules = 2,
					   .pruned = true,
					   .lost = { 1, 2, 3 } };

static struct cfi_key key_of(uint64_t ino)
{
	return (struct cfi_key){
		.file = { .dev = 1, .ino = ino, .size = 3, .mtime_s = 4, .ctime_s = 5 },
		.build_id = "0123456789",
		.build_id_len = 10,
		.pruned = true
	};
}

static void assert_same(const struct cfi_rows *a, const struct cfi_rows *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_int_equal(a->pruned, b->pruned);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
	assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	assert_memory_equal(a->lost, b->lost, sizeof(a->lost));
}

static void what_is_put_is_got(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = open_cache(&folder);
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL, *again = NULL;
	struct cfi_key key = key_of(7);

	(void)state;
	assert_int_equal(cfi_cache_get(cache, &key, &rows), -ENOENT);
	assert_int_equal(cfi_cache_put(cache, &key, &some_rows), 0);
	assert_int_equal(cfi_cache_get(cache, &key, &rows), 0);
	assert_same(rows, &some_rows);
	assert_int_equal(cfi_cache_put(cache, &key, &some_rows), 0); /* over itself */
	assert_int_equal(cfi_cache_get(cache, &key, &again), 0);
	assert_int_equal(cfi_cache_counts(cache)->hits, 2);
	assert_int_equal(cfi_cache_counts(cache)->misses, 1);
	assert_int_equal(cfi_cache_counts(cache)->refused, 0);
}

static void each_part_of_the_key_matters(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = open_cache(&folder);
	struct cfi_key key = key_of(7);
	struct cfi_rows *rows = NULL;

	(void)state;
	assert_int_equal(cfi_cache_put(cache, &key, &some_rows), 0);
	for (size_t i = 0; i < sizeof(key); i++) {
		struct cfi_key other = key;

		((uint8_t *)&other)[i] ^= 1;
		assert_int_equal(cfi_cache_get(cache, &other, &rows), -ENOENT);
	}
	assert_null(rows);
}

static void a_file_changed_at_any_byte_is_refused(void **state)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct cfi_key key = key_of(7), other = key_of(8);
	struct cfi_rows *rows = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(cfi_encode(&some_rows, &key, &bytes, &len), 0);
	assert_int_equal(cfi_decode(bytes, len, &other, &rows), -ESTALE);
	for (size_t i = 0; i < len; i++) {
		bytes[i] ^= 0x10;
		assert_int_equal(cfi_decode(bytes, len, &key, &rows), -EBADMSG);
		bytes[i] ^= 0x10;
		assert_int_equal(cfi_decode(bytes, i, &key, &rows), -EBADMSG);
	}
	assert_null(rows);
	assert_int_equal(cfi_decode(bytes, len, &key, &rows), 0);
	cfi_rows_free(rows);
}

/* With a right checksum: what another build of ours, or a mistake, may have written. */
static void rows_that_break_promises_are_refused(void **state)
{
	static const struct {
		struct abi_unwind_row rows[3];
		struct abi_unwind_rule rules[2];
	} cases[] = {
		{ { { 1, 0, 0 }, { 2, 1, 0 }, { 3, 0, 0 } }, { { 0 }, { .kind = 1 } } },
		{ { { 0, 0, 0 }, { 2, 1, 0 }, { 2, 0, 0 } }, { { 0 }, { .kind = 1 } } },
		{ { { 0, 0, 0 }, { 2, 2, 0 }, { 3, 0, 0 } }, { { 0 }, { .kind = 1 } } },
		{ { { 0, 0, 0 }, { 2, 1, 9 }, { 3, 0, 0 } }, { { 0 }, { .kind = 1 } } },
		{ { { 0, 0, 0 }, { 2, 1, 0 }, { 3, 1, 0 } }, { { 0 }, { .kind = 1 } } },
		{ { { 0, 0, 0 }, { 2, 1, 0 }, { 3, 0, 0 } }, { { .kind = 1 }, { .kind = 2 } } },
		{ { { 0, 0, 0 }, { 2, 1, 0 }, { 3, 0, 0 } },
		  { { 0 }, { .kind = ABI_UNWIND_UNSUPPORTED + 1 } } },
		{ { { 0, 0, 0 }, { 2, 1, 0 }, { 3, 0, 0 } }, { { 0 }, { .kind = 1, .bp = 3 } } },
	};
	struct cfi_key key = key_of(7);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_rows bad = some_rows, *rows = NULL;
		_cleanup_free_ uint8_t *bytes = NULL;
		size_t len = 0;

		bad.rows = (struct abi_unwind_row *)cases[i].rows;
		bad.rules = (struct abi_unwind_rule *)cases[i].rules;
		assert_int_equal(cfi_encode(&bad, &key, &bytes, &len), 0);
		assert_int_equal(cfi_decode(bytes, len, &key, &rows), -EBADMSG);
	}
}

/* The only file of the folder. */
static void path_of_entry(const struct folder *folder, char path[256])
{
	_cleanup_closedir_ DIR *dir = opendir(folder->path);
	const struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, 256, "%.80s/%.100s", folder->path, entry->d_name);
		n++;
	}
	assert_int_equal(n, 1);
}

static void files_that_others_may_have_written_are_refused(void **state)
{
	enum { WRITABLE, LINK, PIPE, FOLDER, CUT, N_WAYS };
	struct cfi_key key = key_of(7);

	(void)state;
	for (int way = 0; way < N_WAYS; way++) {
		_cleanup_(folder_done) struct folder folder = new_folder();
		_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = open_cache(&folder);
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		char path[256], elsewhere[300];

		assert_int_equal(cfi_cache_put(cache, &key, &some_rows), 0);
		path_of_entry(&folder, path);
		snprintf(elsewhere, sizeof(elsewhere), "%s/copy", folder.top);
		if (way == WRITABLE) {
			assert_int_equal(chmod(path, 0620), 0);
		} else if (way == CUT) {
			assert_int_equal(truncate(path, 100), 0);
		} else {
			assert_int_equal(rename(path, elsewhere), 0);
			if (way == LINK)
				assert_int_equal(symlink(elsewhere, path), 0);
			else if (way == PIPE)
				assert_int_equal(mkfifo(path, 0600), 0);
			else
				assert_int_equal(mkdir(path, 0700), 0);
		}
		assert_int_equal(cfi_cache_get(cache, &key, &rows), -ENOENT);
		assert_int_equal(cfi_cache_counts(cache)->refused, 1);
		if (way == FOLDER)
			continue; /* is in the way for good */
		assert_int_equal(cfi_cache_put(cache, &key, &some_rows), 0);
		assert_int_equal(cfi_cache_get(cache, &key, &rows), 0);
	}
}

static void folders_that_are_not_ours_alone_are_refused(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	struct cfi_cache *other = NULL;
	char path[128];

	(void)state;
	cfi_cache_free(open_cache(&folder));
	assert_int_equal(chmod(folder.path, 0770), 0);
	assert_int_equal(cfi_cache_open(folder.path, CFI_CACHE_BYTES, &other), -EPERM);
	snprintf(path, sizeof(path), "%s/link", folder.top);
	assert_int_equal(chmod(folder.path, 0700), 0);
	assert_int_equal(symlink(folder.path, path), 0);
	assert_true(cfi_cache_open(path, CFI_CACHE_BYTES, &other) < 0);
	snprintf(path, sizeof(path), "%s/file", folder.top);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(cfi_cache_open(path, CFI_CACHE_BYTES, &other), -ENOTDIR);
	assert_int_equal(cfi_cache_open("", CFI_CACHE_BYTES, &other), -ENOENT);
	if (geteuid() != 0)
		assert_int_equal(cfi_cache_open("/", CFI_CACHE_BYTES, &other), -EPERM);
	assert_null(other);
}

static void what_was_not_used_for_longest_goes(void **state)
{
	enum { N = 8, BLOCK = 4096 };
	_cleanup_(folder_done) struct folder folder = new_folder();
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = NULL;
	_cleanup_(cfi_rows_free_p) struct cfi_rows *first = NULL, *last = NULL;
	struct cfi_key keys[N];
	int kept = 0;

	(void)state;
	assert_int_equal(cfi_cache_open(folder.path, 3 * BLOCK, &cache), 0);
	for (uint64_t i = 0; i < N; i++) {
		struct timespec pause = { 0, 20000000 }; /* more than a tick of file times */

		keys[i] = key_of(100 + i);
		assert_int_equal(cfi_cache_put(cache, &keys[i], &some_rows), 0);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(cfi_cache_get(cache, &keys[0], &first), -ENOENT);
	assert_int_equal(cfi_cache_get(cache, &keys[N - 1], &last), 0);
	for (int i = 0; i < N; i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;

		kept += cfi_cache_get(cache, &keys[i], &rows) == 0;
	}
	assert_in_range(kept, 1, 3);
}

static void what_takes_too_much_room_is_not_kept(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = NULL;
	struct cfi_key key = key_of(7);

	(void)state;
	assert_int_equal(cfi_cache_open(folder.path, 500, &cache), 0);
	assert_int_equal(cfi_cache_put(cache, &key, &some_rows), -EFBIG);
}

static void a_file_that_has_just_changed_is_not_kept(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = open_cache(&folder);
	struct cfi_key key = key_of(7);

	(void)state;
	key.file.ctime_s = (uint64_t)time(NULL);
	assert_int_equal(cfi_cache_put(cache, &key, &some_rows), -EAGAIN);
	key.file.ctime_s -= 10;
	assert_int_equal(cfi_cache_put(cache, &key, &some_rows), 0);
}

/* cfi_file_rows(), from the cache where it has them, else into it. */
static void get_or_put(struct cfi_cache *cache, struct elf_file *file, bool pruned,
		       struct cfi_rows **ret_rows)
{
	struct cfi_key key;
	int r;

	cfi_key_of(file, pruned, &key);
	r = cfi_cache_get(cache, &key, ret_rows);
	if (r == 0)
		return;
	assert_int_equal(r, -ENOENT);
	assert_int_equal(cfi_file_rows(file, pruned, ret_rows), 0);
	assert_int_equal(cfi_cache_put(cache, &key, *ret_rows), 0);
}

static void a_library_comes_from_the_cache_the_second_time(void **state)
{
	_cleanup_(folder_done) struct folder folder = new_folder();
	_cleanup_(cfi_cache_free_p) struct cfi_cache *cache = open_cache(&folder);
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_close_ int fd = open_library("libc.so.6");

	(void)state;
	if (fd < 0)
		skip_because("the library is not there");
	assert_int_equal(elf_file_new(fd, &file), 0);
	for (int pruned = 0; pruned <= 1; pruned++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *plain = NULL, *cold = NULL,
							   *warm = NULL;

		assert_int_equal(cfi_file_rows(file, pruned, &plain), 0);
		get_or_put(cache, file, pruned, &cold);
		get_or_put(cache, file, pruned, &warm);
		assert_same(plain, cold);
		assert_same(cold, warm);
		assert_int_equal(cfi_cache_counts(cache)->hits, pruned + 1);
		assert_int_equal(cfi_cache_counts(cache)->misses, pruned + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_got),
		cmocka_unit_test(each_part_of_the_key_matters),
		cmocka_unit_test(a_file_changed_at_any_byte_is_refused),
		cmocka_unit_test(rows_that_break_promises_are_refused),
		cmocka_unit_test(files_that_others_may_have_written_are_refused),
		cmocka_unit_test(folders_that_are_not_ours_alone_are_refused),
		cmocka_unit_test(what_was_not_used_for_longest_goes),
		cmocka_unit_test(what_takes_too_much_room_is_not_kept),
		cmocka_unit_test(a_file_that_has_just_changed_is_not_kept),
		cmocka_unit_test(a_library_comes_from_the_cache_the_second_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
