/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "target/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static const struct file_reader anybody;

/* ROOT is DIR/root; DIR/secret is what nobody may reach. */
struct fixture {
	char dir[32];
	int dir_fd, root_fd;
};

static void write_file(int dir, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->dir, "/tmp/test-root-open-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->dir_fd = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->dir_fd >= 0);
	assert_int_equal(mkdirat(f->dir_fd, "root", 0700), 0);
	assert_int_equal(mkdirat(f->dir_fd, "root/lib", 0700), 0);
	write_file(f->dir_fd, "secret", "outside");
	write_file(f->dir_fd, "root/lib/file", "inside");
	write_file(f->dir_fd, "root/secret", "inside");
	assert_int_equal(symlinkat("../../secret", f->dir_fd, "root/lib/up"), 0);
	assert_int_equal(symlinkat("/secret", f->dir_fd, "root/lib/absolute"), 0);
	assert_int_equal(symlinkat("lib", f->dir_fd, "root/folder"), 0);
	assert_int_equal(symlinkat("loop", f->dir_fd, "root/loop"), 0);
	assert_int_equal(mkfifoat(f->dir_fd, "root/fifo", 0600), 0);
	f->root_fd = openat(f->dir_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "secret",	    "root/lib/file",	 "root/secret",
					     "root/lib/up", "root/lib/absolute", "root/folder",
					     "root/loop",   "root/fifo" };
	struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		unlinkat(f->dir_fd, files[i], 0);
	unlinkat(f->dir_fd, "root/lib", AT_REMOVEDIR);
	unlinkat(f->dir_fd, "root", AT_REMOVEDIR);
	rmdir(f->dir);
	close(f->dir_fd);
	close(f->root_fd);
	free(f);
	return 0;
}

static void nothing_outside_the_root_is_reached(void **state)
{
	static const struct {
		const char *path;
		int expected; /* 0: opens a file that says "inside" */
	} cases[] = {
		{ "/lib/file", 0 },
		{ "lib/file", 0 },
		{ "//lib/./file", 0 },
		{ "/lib/../lib/file", 0 },
		{ "/../../lib/file", 0 },
		{ "/../secret", 0 },
		{ "../secret", 0 },
		{ "/lib/../../../secret", 0 },
		/* links lead to the root's own /secret, or nowhere */
		{ "/lib/up", 0 },
		{ "/lib/absolute", 0 },
		{ "/folder/file", 0 },
		{ "/loop", -ELOOP },
		/* not there, or no regular file */
		{ "/nothing", -ENOENT },
		{ "/lib/nothing/file", -ENOENT },
		{ "/lib", -EINVAL },
		{ "/fifo", -EINVAL },
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_close_ int fd = root_open(f->root_fd, 0, cases[i].path, &anybody);
		int expected = cases[i].expected;
		char text[16] = "";

		if ((expected == 0) != (fd >= 0) || (expected < 0 && fd != expected))
			fail_msg("%s: %d", cases[i].path, fd);
		if (fd < 0)
			continue;
		assert_int_equal(read(fd, text, sizeof(text) - 1), 6);
		assert_string_equal(text, "inside");
	}
}

static void endless_paths_are_refused(void **state)
{
	const struct fixture *f = *state;
	char path[8192];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(root_open(f->root_fd, 0, path, &anybody), -ENAMETOOLONG);
}

/* As the kernel has it: the first of owner, group and others that applies, and no other. */
static void a_reader_reads_what_the_modes_let_it_read(void **state)
{
	static const struct {
		mode_t root, folder, file;
		struct file_reader reader;
		int expected;
	} cases[] = {
		{ 0755, 0755, 0644, { true, 7, 7 }, 0 },
		{ 0755, 0711, 0604, { true, 7, 7 }, 0 },
		{ 0755, 0755, 0640, { true, 7, 7 }, -EACCES },
		{ 0755, 0755, 0640, { true, 7, 2 }, 0 },
		{ 0755, 0755, 0604, { true, 7, 2 }, -EACCES },
		{ 0755, 0755, 0600, { true, 1, 7 }, 0 },
		{ 0755, 0755, 0244, { true, 1, 2 }, -EACCES },
		{ 0755, 0754, 0644, { true, 7, 7 }, -EACCES },
		{ 0755, 0710, 0644, { true, 7, 2 }, 0 },
		{ 0700, 0755, 0644, { true, 7, 7 }, -EACCES },
		{ 0700, 0700, 0600, { false, 7, 7 }, 0 },
	};
	const struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_close_ int fd = -1;

		assert_int_equal(fchownat(f->dir_fd, "root", 1, 2, 0), 0);
		assert_int_equal(fchownat(f->dir_fd, "root/lib", 1, 2, 0), 0);
		assert_int_equal(fchownat(f->dir_fd, "root/lib/file", 1, 2, 0), 0);
		assert_int_equal(fchmodat(f->dir_fd, "root", cases[i].root, 0), 0);
		assert_int_equal(fchmodat(f->dir_fd, "root/lib", cases[i].folder, 0), 0);
		assert_int_equal(fchmodat(f->dir_fd, "root/lib/file", cases[i].file, 0), 0);
		fd = root_open(f->root_fd, 0, "/folder/file", &cases[i].reader);
		if ((cases[i].expected == 0) != (fd >= 0) || (fd < 0 && fd != cases[i].expected))
			fail_msg("case %zu: %d", i, fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_outside_the_root_is_reached, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(endless_paths_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reader_reads_what_the_modes_let_it_read, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
