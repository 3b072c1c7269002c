/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "skip_because.h"
#include "target/loader_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __x86_64__
#define FLAGS 0x0303
#else
#define FLAGS 0x0a03
#endif
#define FLAGS_OF_32_BITS 0x0003

/* All paths, one a line. */
static int note(const char *path, void *userdata)
{
	char *all = userdata;

	strcat(all, path);
	strcat(all, "\n");
	return 0;
}

static char found[8192];

static const char *find(const char *library_path, const char *cache, const char *name,
			const char *needed_by, const char *folders)
{
	_cleanup_(loader_search_free_p) struct loader_search *search = NULL;

	found[0] = '\0';
	assert_int_equal(loader_search_new(library_path, cache, &search), 0);
	assert_int_equal(loader_search_find(search, name, needed_by, folders, note, found), 0);
	return found;
}

static void folders_come_before_the_environment_s(void **state)
{
	(void)state;
	assert_string_equal(find("/env:/more", "/none", "liba.so", "/opt/x/bin/p",
				 "$ORIGIN/../lib:/abs:${ORIGIN}"),
			    "/opt/x/bin/../lib/liba.so\n/abs/liba.so\n/opt/x/bin/liba.so\n"
			    "/env/liba.so\n/more/liba.so\n");
	assert_string_equal(find(NULL, "/none", "liba.so", "/p", NULL), "");
	assert_string_equal(find(":;:", "/none", "liba.so", "/p", ":"), "");
}

static void a_path_is_taken_as_it_is(void **state)
{
	(void)state;
	assert_string_equal(find("/env", "/none", "./sub/liba.so", "/p", "/abs"),
			    "./sub/liba.so\n");
}

static void what_does_not_fit_is_left_out(void **state)
{
	static char folders[5000];

	(void)state;
	memset(folders, 'a', sizeof(folders) - 1);
	folders[0] = '/';
	assert_string_equal(find(NULL, "/none", "liba.so", "/p", folders), "");
}

/* --- ldconfig's file ------------------------------------------------------------------------- */

struct entry {
	int32_t flags;
	uint32_t key, value, os_version;
	uint64_t hwcap;
};

/* Written to a file of its own; the strings come behind the entries. */
static void write_cache(char path[64], const void *prefix, size_t prefix_len, uint32_t n,
			const struct entry *entries, const char *strings, size_t strings_len)
{
	struct {
		char magic[20];
		uint32_t n, strings_len, rest[5];
	} header = { .n = n, .strings_len = (uint32_t)strings_len };
	FILE *file;
	int fd;

	memcpy(header.magic, "glibc-ld.so.cache1.1", sizeof(header.magic));
	strcpy(path, "/tmp/memtraced-cache-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	if (prefix_len > 0)
		(void)fwrite(prefix, 1, prefix_len, file);
	(void)fwrite(&header, sizeof(header), 1, file);
	(void)fwrite(entries, sizeof(*entries), n, file);
	(void)fwrite(strings, 1, strings_len, file);
	assert_int_equal(fclose(file), 0);
}

#define STRINGS "liba.so\0/lib/liba.so\0/v3/liba.so\0/lib32/liba.so\0libb.so\0/lib/libb.so"
#define AT(n, offset) ((uint32_t)(48 + (n) * sizeof(struct entry) + (offset)))

static const struct entry entries[] = {
	{ FLAGS, AT(4, 0), AT(4, 21), 0, UINT64_C(1) << 62 },
	{ FLAGS_OF_32_BITS, AT(4, 0), AT(4, 33), 0, 0 },
	{ FLAGS, AT(4, 0), AT(4, 8), 0, 0 },
	{ FLAGS, AT(4, 48), AT(4, 56), 0, 0 },
};

static void the_cache_has_files_of_this_machine(void **state)
{
	char path[64];

	(void)state;
	write_cache(path, NULL, 0, 4, entries, STRINGS, sizeof(STRINGS));
	assert_string_equal(find("/env", path, "liba.so", "/p", NULL),
			    "/env/liba.so\n/lib/liba.so\n");
	assert_string_equal(find(NULL, path, "libb.so", "/p", NULL), "/lib/libb.so\n");
	assert_string_equal(find(NULL, path, "lib", "/p", NULL), "");
	assert_int_equal(unlink(path), 0);
	/* An entry of the old format before it: a header of 16 bytes, 12, and 4 to align. */
	write_cache(path, (const char[32]){ "ld.so-1.7.0\0\1" }, 32, 4, entries, STRINGS,
		    sizeof(STRINGS));
	assert_string_equal(find(NULL, path, "libb.so", "/p", NULL), "/lib/libb.so\n");
	assert_int_equal(unlink(path), 0);
}

static void a_damaged_cache_gives_nothing(void **state)
{
	static const struct entry far[] = {
		{ FLAGS, UINT32_MAX, AT(2, 0), 0, 0 },
		{ FLAGS, AT(2, 0), UINT32_MAX, 0, 0 },
	};
	char path[64];

	(void)state;
	write_cache(path, NULL, 0, 2, far, STRINGS, sizeof(STRINGS));
	assert_string_equal(find(NULL, path, "liba.so", "/p", NULL), "");
	for (off_t size = 0; size < 160; size += 7) {
		assert_int_equal(truncate(path, size), 0);
		assert_string_equal(find(NULL, path, "liba.so", "/p", NULL), "");
	}
	assert_int_equal(unlink(path), 0);
}

/* What this machine's own linker maps for this test itself is among what is found. */
static void this_machine_s_libc_is_found(void **state)
{
	(void)state;
	if (access(LOADER_CACHE, R_OK) < 0)
		skip_because("there is no cache of the dynamic linker");
	assert_non_null(strstr(find(NULL, LOADER_CACHE, "libc.so.6", "/p", NULL), "/libc.so.6\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_come_before_the_environment_s),
		cmocka_unit_test(a_path_is_taken_as_it_is),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(the_cache_has_files_of_this_machine),
		cmocka_unit_test(a_damaged_cache_gives_nothing),
		cmocka_unit_test(this_machine_s_libc_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
