/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/file_system.h"
#include "base/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* DIR/inner/deep and links in DIR/inner. */
static char dir[] = "/tmp/test_path_walk.XXXXXX";
static int inner_fd;

static const struct {
	const char *name, *text;
} links[] = {
	{ "to_deep", "deep" },
	{ "out", "../" },
	{ "absolute", "/" },
	{ "loop", "loop" },
};

static int set_up(void **state)
{
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/inner", dir); /* fits */
	assert_int_equal(mkdir(path, 0700), 0);
	inner_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(inner_fd >= 0);
	assert_int_equal(mkdirat(inner_fd, "deep", 0700), 0);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		assert_int_equal(symlinkat(links[i].text, inner_fd, links[i].name), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		assert_int_equal(unlinkat(inner_fd, links[i].name, 0), 0);
	assert_int_equal(unlinkat(inner_fd, "deep", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(inner_fd, "../inner", AT_REMOVEDIR), 0);
	close(inner_fd);
	return rmdir(dir);
}

/* What the rules were asked, and shall answer. */
struct asked {
	int folder, link;
	size_t n_folders, n_links;
};

static int on_folder(int fd, const void *userdata)
{
	struct asked *asked = *(struct asked *const *)userdata;

	(void)fd;
	asked->n_folders++;
	return asked->folder;
}

static int on_link(int fd, const struct stat *st, const void *userdata)
{
	struct asked *asked = *(struct asked *const *)userdata;

	(void)fd;
	assert_true(S_ISLNK(st->st_mode));
	assert_int_equal(st->st_uid, geteuid());
	asked->n_links++;
	return asked->link;
}

static int walk(const char *path, bool in_root, struct asked *asked)
{
	const struct path_rules rules = { in_root, on_folder, on_link };

	return path_walk(inner_fd, path, &rules, &asked);
}

static void assert_leads_to(const char *path, bool in_root, const char *expected)
{
	_cleanup_close_ int there = openat(inner_fd, expected, O_PATH | O_CLOEXEC);
	struct asked asked = { 0 };
	_cleanup_close_ int fd = walk(path, in_root, &asked);

	assert_true(there >= 0);
	if (fd < 0 || !file_is_same(fd, there))
		fail_msg("'%s' (%d): %d is not %s", path, in_root, fd, expected);
}

static void a_root_is_not_left(void **state)
{
	static const struct {
		const char *path, *in_root, *without;
	} cases[] = {
		{ "", ".", "." },
		{ "deep/..", ".", "." },
		{ "to_deep/", "deep", "deep" },
		{ "..", ".", ".." },
		{ "out", ".", ".." },
		{ "out/inner/to_deep", NULL, "deep" },
		{ "absolute", ".", "/" },
		{ "absolute/deep", "deep", NULL },
		{ "deep/../absolute//./", ".", "/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].in_root)
			assert_leads_to(cases[i].path, true, cases[i].in_root);
		if (cases[i].without)
			assert_leads_to(cases[i].path, false, cases[i].without);
	}
}

static void a_rule_ends_the_walk(void **state)
{
	(void)state;
	for (int in_root = 0; in_root < 2; in_root++) {
		struct asked no_link = { .link = -EPERM }, no_folder = { .folder = -EREMOTE };

		assert_int_equal(walk("to_deep", in_root, &no_link), -EPERM);
		assert_int_equal(no_link.n_links, 1);
		assert_int_equal(walk("deep/../deep", in_root, &no_folder), -EREMOTE);
		assert_int_equal(no_folder.n_folders, 1);
	}
}

static void the_kernel_follows_what_it_is_left(void **state)
{
	struct asked asked = { .link = PATH_FOLLOW_BY_KERNEL };
	_cleanup_close_ int there = openat(inner_fd, "deep", O_PATH | O_CLOEXEC);
	_cleanup_close_ int fd = walk("to_deep", false, &asked);

	(void)state;
	assert_true(fd >= 0 && file_is_same(fd, there));
}

/* `first`, and then "./" until there are n bytes. */
static char *long_path(const char *first, size_t n)
{
	char *path = malloc(n + 2);

	assert_non_null(path);
	strcpy(path, first);
	for (size_t i = strlen(first); i < n; i += 2)
		strcpy(path + i, "./");
	path[n] = '\0';
	return path;
}

/* Behind the link `second` are as many bytes of the first link's text and of the path as fit. */
static int walk_behind_links(size_t n_second)
{
	_cleanup_free_ char *first = long_path("second/", PATH_MAX - 1);
	_cleanup_free_ char *second = long_path("", n_second);
	_cleanup_free_ char *path = long_path("first/", PATH_MAX - 1);
	struct asked asked = { 0 };
	int fd;

	assert_int_equal(symlinkat(first, inner_fd, "first"), 0);
	assert_int_equal(symlinkat(second, inner_fd, "second"), 0);
	fd = walk(path, false, &asked);
	assert_int_equal(unlinkat(inner_fd, "first", 0), 0);
	assert_int_equal(unlinkat(inner_fd, "second", 0), 0);
	return fd;
}

/*
 * Behind "second/" there are 4,095 - 7 bytes of the link's text, a slash, and 4,095 - 6 of the
 * path: 8,178. With a slash before and a 0 behind, 8,192 leave 12 to the second link's text.
 */
static void what_is_too_long_behind_links_is_refused(void **state)
{
	const size_t fits = 2UL * PATH_MAX - (PATH_MAX - 1 - strlen("second/")) - 1 -
			    (PATH_MAX - 1 - strlen("first/")) - 2;
	_cleanup_close_ int fd = walk_behind_links(fits);

	(void)state;
	assert_true(fd >= 0 && file_is_same(fd, inner_fd));
	assert_int_equal(walk_behind_links(fits + 1), -ENAMETOOLONG);
}

static void endless_paths_end(void **state)
{
	char up[3 * 1000 + 1] = "";

	(void)state;
	for (int in_root = 0; in_root < 2; in_root++) {
		struct asked asked = { 0 };

		assert_int_equal(walk("loop", in_root, &asked), -ELOOP);
		assert_int_equal(asked.n_links, 41);
		assert_int_equal(walk("deep/nothing/deep", in_root, &asked), -ENOENT);
	}
	for (size_t i = 0; i < 1000; i++)
		strcpy(&up[3 * i], "../");
	assert_leads_to(up, true, ".");
	assert_leads_to(up, false, "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_root_is_not_left),
		cmocka_unit_test(a_rule_ends_the_walk),
		cmocka_unit_test(the_kernel_follows_what_it_is_left),
		cmocka_unit_test(what_is_too_long_behind_links_is_refused),
		cmocka_unit_test(endless_paths_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
