/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_needs.h"

#include "base/cleanup.h"
#include "build_object.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* What a library of these linker flags needs; -1: it cannot be built here. */
static int read_built(const char *flags, struct elf_needs *ret_needs)
{
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_close_ int fd =
		build_object("double sin(double); double f(double x) { return sin(x); }\n", flags);

	if (fd < 0)
		return -1;
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(elf_needs_read(file, ret_needs), 0);
	return 0;
}

static bool needs(const struct elf_needs *needs, const char *name)
{
	vec_foreach(&needs->names, found)
		if (strcmp(*found, name) == 0)
			return true;
	return false;
}

static void libraries_are_named(void **state)
{
	_cleanup_(elf_needs_done) struct elf_needs found = { 0 };

	(void)state;
	if (read_built("-shared -fPIC -Wl,--no-as-needed -lm", &found) < 0)
		skip_because("no object can be built here");
	assert_true(needs(&found, "libm.so.6"));
	assert_true(needs(&found, "libc.so.6"));
	assert_false(needs(&found, "libdl.so.2"));
	assert_null(found.search);
}

static void folders_are_told_new_tags_or_old(void **state)
{
	static const char *const flags[] = {
		"-shared -fPIC -Wl,--enable-new-dtags '-Wl,-rpath,$ORIGIN/x:/y'",
		"-shared -fPIC -Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN/x:/y'",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(elf_needs_done) struct elf_needs found = { 0 };

		if (read_built(flags[i], &found) < 0)
			skip_because("no object can be built here");
		assert_non_null(found.search);
		assert_string_equal(found.search, "$ORIGIN/x:/y");
	}
}

static void who_is_static_needs_nothing(void **state)
{
	_cleanup_(elf_needs_done) struct elf_needs found = { 0 };

	(void)state;
	if (read_built("-shared -fPIC -nostdlib", &found) < 0)
		skip_because("no object can be built here");
	assert_int_equal(found.names.len, 0);
	assert_null(found.search);
}

/* A string table that lies elsewhere gives other names or none, and nothing worse. */
static void damage_is_left_out(void **state)
{
	_cleanup_close_ int built = build_object("int x;\n", "-shared -fPIC");
	_cleanup_close_ int fd = memfd_create("damaged", MFD_CLOEXEC);
	uint64_t good[2], bad[2];
	struct stat status;
	off_t at = 0;

	(void)state;
	if (built < 0)
		skip_because("no object can be built here");
	assert_int_equal(fstat(built, &status), 0);
	assert_int_equal(sendfile(fd, built, &(off_t){ 0 }, (size_t)status.st_size),
			 status.st_size);
	/* DT_STRTAB: the only 5 that an address follows. */
	do {
		assert_int_equal(pread(fd, good, sizeof(good), at), sizeof(good));
		at += sizeof(good[0]);
	} while (good[0] != DT_STRTAB || good[1] < 0x100 || good[1] > 0x2000);
	for (int bit = 0; bit < 64; bit++) {
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
		_cleanup_(elf_needs_done) struct elf_needs found = { 0 };

		bad[0] = good[0];
		bad[1] = good[1] ^ UINT64_C(1) << bit;
		assert_int_equal(pwrite(fd, bad, sizeof(bad), at - (off_t)sizeof(bad[0])),
				 sizeof(bad));
		assert_int_equal(elf_file_new(fd, &file), 0);
		assert_int_equal(elf_needs_read(file, &found), 0);
		vec_foreach(&found.names, name)
			assert_true(strlen(*name) <= ELF_NEEDS_NAME_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_named),
		cmocka_unit_test(folders_are_told_new_tags_or_old),
		cmocka_unit_test(who_is_static_needs_nothing),
		cmocka_unit_test(damage_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
