/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/file_open.h"
#include "target/proc_maps.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
	const char *line;
	struct proc_map map;
} line_rows[] = {
	{ "55d0c8a02000-55d0c8a07000 r-xp 00002000 fe:01 131073      /usr/bin/cat\n",
	  { .start = 0x55d0c8a02000,
	    .end = 0x55d0c8a07000,
	    .offset = 0x2000,
	    .ino = 131073,
	    .dev_major = 0xfe,
	    .dev_minor = 1,
	    .read = true,
	    .exec = true,
	    .path = "/usr/bin/cat" } },
	{ "00400000-00401000 rw-s 00000000 103:10a2b 18446744073709551615 /a b  c\n",
	  { .start = 0x400000,
	    .end = 0x401000,
	    .ino = UINT64_MAX,
	    .dev_major = 0x103,
	    .dev_minor = 0x10a2b,
	    .read = true,
	    .write = true,
	    .shared = true,
	    .path = "/a b  c" } },
	{ "1000-2000 ---p 00000000 00:00 0\n", { .start = 0x1000, .end = 0x2000, .path = "" } },
	{ "1000-2000 ---p 00000000 00:00 0 \n", { .start = 0x1000, .end = 0x2000, .path = "" } },
	{ "1000-2000 ---p 00000000 00:00 0 [anon: my heap ]\n",
	  { .start = 0x1000, .end = 0x2000, .path = "[anon: my heap ]" } },
	{ "7ffd1c5e1000-7ffd1c5e3000 r-xp 00000000 00:00 0       [vdso]",
	  { .start = 0x7ffd1c5e1000,
	    .end = 0x7ffd1c5e3000,
	    .read = true,
	    .exec = true,
	    .path = "[vdso]" } },
	{ "fffffffffffff000-ffffffffffffffff --xp fffffffffffff000 "
	  "ffffffff:ffffffff 1 /x\n",
	  { .start = 0xfffffffffffff000,
	    .end = UINT64_MAX,
	    .offset = 0xfffffffffffff000,
	    .dev_major = UINT32_MAX,
	    .dev_minor = UINT32_MAX,
	    .ino = 1,
	    .exec = true,
	    .path = "/x" } },
	{ "1000-2000 r--p 00000000 00:05 9 /tmp/gone (deleted)\n",
	  { .start = 0x1000,
	    .end = 0x2000,
	    .ino = 9,
	    .dev_minor = 5,
	    .read = true,
	    .deleted = true,
	    .path = "/tmp/gone" } },
	{ "1000-2000 r--p 00000000 00:05 9 /memfd:x (deleted) (deleted)\n",
	  { .start = 0x1000,
	    .end = 0x2000,
	    .ino = 9,
	    .dev_minor = 5,
	    .read = true,
	    .deleted = true,
	    .path = "/memfd:x (deleted)" } },
	{ "1000-2000 r--p 00000000 00:05 9 /a\\012b\\012 \\011\\01 (deleted)\n",
	  { .start = 0x1000,
	    .end = 0x2000,
	    .ino = 9,
	    .dev_minor = 5,
	    .read = true,
	    .deleted = true,
	    .path = "/a\nb\n \\011\\01" } },
	{ "1000-2000 r--p 00000000 00:05 9 /a(deleted)\n",
	  { .start = 0x1000,
	    .end = 0x2000,
	    .ino = 9,
	    .dev_minor = 5,
	    .read = true,
	    .path = "/a(deleted)" } },
};

static void a_line_gives_all_its_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(line_rows) / sizeof(line_rows[0]); i++) {
		const struct proc_map *want = &line_rows[i].map, *map;
		struct proc_maps maps;

		assert_int_equal(
			proc_maps_parse(line_rows[i].line, strlen(line_rows[i].line), &maps), 0);
		assert_int_equal(maps.n_maps, 1);
		map = &maps.maps[0];
		assert_true(map->start == want->start && map->end == want->end);
		assert_true(map->offset == want->offset && map->ino == want->ino);
		assert_int_equal(map->dev_major, want->dev_major);
		assert_int_equal(map->dev_minor, want->dev_minor);
		assert_true(map->read == want->read && map->write == want->write);
		assert_int_equal(map->exec, want->exec);
		assert_int_equal(map->shared, want->shared);
		assert_int_equal(map->deleted, want->deleted);
		assert_string_equal(map->path, want->path);
		proc_maps_done(&maps);
	}
}

static void malformed_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"\n",
		"1000\n",
		"1000-\n",
		"-2000 r--p 00000000 00:00 0\n",
		"1000-2000\n",
		"1000-2000 r--p\n",
		"1000-2000 r-p 00000000 00:00 0\n",
		"1000-2000 r--x 00000000 00:00 0\n",
		"1000-2000 w--p 00000000 00:00 0\n",
		"1000-2000 r--p 00000000 00:00\n",
		"1000-2000 r--p 00000000 00 0\n",
		"1000-2000 r--p 00000000 00:00 0x\n",
		"1000-2000 r--p 00000000 00:00 a\n",
		"1000-2000 r--p 00000000 100000000:00 0\n",
		"1000-2000 r--p 00000000 00:00 18446744073709551616\n",
		"1000-10000000000000000 r--p 00000000 00:00 0\n",
		"0x1000-2000 r--p 00000000 00:00 0\n",
		" 1000-2000 r--p 00000000 00:00 0\n",
		"2000-2000 r--p 00000000 00:00 0\n",
		"3000-2000 r--p 00000000 00:00 0\n",
		"2000-3000 r--p 00000000 00:00 0\n1000-2000 r--p 00000000 00:00 0\n",
		"1000-3000 r--p 00000000 00:00 0\n2000-4000 r--p 00000000 00:00 0\n",
		"1000-3000 r--p 00000000 00:00 0\n\n",
		"1000-3000 r--p 00000000 00:00 0\n4000-50",
	};
	static const char with_nul[] = "1000-2000 r--p 00000000 00:00 5 /a\0b\n";
	struct proc_maps maps;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(proc_maps_parse(texts[i], strlen(texts[i]), &maps), -EBADMSG);
	assert_int_equal(proc_maps_parse(with_nul, sizeof(with_nul) - 1, &maps), -EBADMSG);
}

static void a_file_is_known_by_its_device_too(void **state)
{
	static const struct proc_map a = { .ino = 7, .dev_major = 8, .dev_minor = 1 };
	static const struct proc_map others[] = {
		{ .ino = 8, .dev_major = 8, .dev_minor = 1 },
		{ .ino = 7, .dev_major = 9, .dev_minor = 1 },
		{ .ino = 7, .dev_major = 8, .dev_minor = 2 },
	};

	(void)state;
	assert_true(proc_map_is_of(&a, 7, makedev(8, 1)));
	assert_true(proc_map_is_same_file(&a, &a));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_false(proc_map_is_of(&others[i], 7, makedev(8, 1)));
		assert_false(proc_map_is_same_file(&a, &others[i]));
	}
}

static void no_text_is_no_maps(void **state)
{
	struct proc_maps maps;

	(void)state;
	assert_int_equal(proc_maps_parse("", 0, &maps), 0);
	assert_int_equal(maps.n_maps, 0);
	assert_null(proc_maps_find(&maps, 0));
	proc_maps_done(&maps);
}

static void an_address_is_found_in_its_map_only(void **state)
{
	static const char text[] = "1000-2000 r--p 00000000 00:00 0\n"
				   "2000-3000 r--p 00000000 00:00 0\n"
				   "5000-9000 r--p 00000000 00:00 0\n"
				   "fffffffffffff000-ffffffffffffffff r--p 00000000 00:00 0\n";
	static const struct {
		uint64_t addr;
		int index;
	} rows[] = {
		{ 0, -1 },
		{ 0xfff, -1 },
		{ 0x1000, 0 },
		{ 0x1fff, 0 },
		{ 0x2000, 1 },
		{ 0x2fff, 1 },
		{ 0x3000, -1 },
		{ 0x4fff, -1 },
		{ 0x5000, 2 },
		{ 0x8fff, 2 },
		{ 0x9000, -1 },
		{ UINT64_MAX, -1 },
		{ UINT64_MAX - 1, 3 },
	};
	struct proc_maps maps;

	(void)state;
	assert_int_equal(proc_maps_parse(text, sizeof(text) - 1, &maps), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_ptr_equal(proc_maps_find(&maps, rows[i].addr),
				 rows[i].index < 0 ? NULL : &maps.maps[rows[i].index]);
	proc_maps_done(&maps);
}

static void the_maps_of_this_process_hold_what_is_in_it(void **state)
{
	const struct proc_map *code, *stack;
	struct proc_maps maps;
	int local = 0;

	(void)state;
	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	code = proc_maps_find(&maps, (uint64_t)(uintptr_t)proc_maps_read);
	assert_non_null(code);
	assert_true(code->exec && !code->write);
	stack = proc_maps_find(&maps, (uint64_t)(uintptr_t)&local);
	assert_non_null(stack);
	assert_true(stack->read && stack->write);
	proc_maps_done(&maps);
}

static void the_maps_of_no_process_are_refused(void **state)
{
	struct proc_maps maps;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_maps_read(pid, &maps), -ESRCH);
}

/* A page of a new file at `name`, which holds "mapped". */
static void *map_file(const char *name, int *ret_fd)
{
	void *page;

	*ret_fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(*ret_fd >= 0);
	assert_int_equal(write(*ret_fd, "mapped", 6), 6);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, *ret_fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	return page;
}

static int open_mapping_of(const void *page)
{
	const struct proc_map *map;
	struct proc_maps maps;
	int fd;

	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	map = proc_maps_find(&maps, (uint64_t)(uintptr_t)page);
	assert_non_null(map);
	fd = proc_map_open(getpid(), map);
	proc_maps_done(&maps);
	return fd;
}

static void a_mapped_file_is_opened(void **state)
{
	char dir[] = "/tmp/test_proc_maps.XXXXXX", name[64], text[8] = "";
	_cleanup_close_ int fd = -1, opened = -1;
	void *page;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/a\nb", dir);
	page = map_file(name, &fd);
	opened = open_mapping_of(page);
	assert_true(opened >= 0);
	assert_int_equal(pread(opened, text, sizeof(text), 0), 6);
	assert_string_equal(text, "mapped");
	assert_int_equal(fcntl(opened, F_GETFD), FD_CLOEXEC);
	munmap(page, 4096);
	unlink(name);
	rmdir(dir);
}

/* Whoever can use map_files gets the mapped file itself, others get none rather than another. */
static void a_file_that_took_the_name_is_not_taken_for_the_mapped_one(void **state)
{
	char dir[] = "/tmp/test_proc_maps.XXXXXX", name[64], text[8] = "";
	_cleanup_close_ int fd = -1, opened = -1, other = -1;
	void *page;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/file", dir);
	page = map_file(name, &fd);
	unlink(name);
	other = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(other, "other!", 6), 6);
	opened = open_mapping_of(page);
	if (opened >= 0) {
		assert_int_equal(pread(opened, text, sizeof(text), 0), 6);
		assert_string_equal(text, "mapped");
	} else {
		assert_int_equal(opened, -ESTALE);
	}
	munmap(page, 4096);
	unlink(name);
	rmdir(dir);
}

/* A map whose range is not there, as if map_files could not be used. */
static struct proc_map describe(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct proc_map){ .start = 0x1000,
				  .end = 0x2000,
				  .ino = st.st_ino,
				  .dev_major = major(st.st_dev),
				  .dev_minor = minor(st.st_dev),
				  .path = path };
}

static void without_map_files_the_path_is_checked_and_opened(void **state)
{
	char exe[4096] = "";
	struct proc_map map, exe_map;
	int fd;

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	map = describe(exe);
	fd = proc_map_open(getpid(), &map);
	assert_true(fd >= 0);
	close(fd);
	map = describe("/etc/passwd");
	fd = proc_map_open(getpid(), &map);
	assert_true(fd >= 0);
	close(fd);
	map.ino++;
	assert_int_equal(proc_map_open(getpid(), &map), -ESTALE);
	map.path = "/no/such/file";
	assert_int_equal(proc_map_open(getpid(), &map), -ENOENT);
	/* A deleted executable is still at /proc/PID/exe. */
	exe_map = describe(exe);
	exe_map.path = "/no/such/file";
	fd = proc_map_open(getpid(), &exe_map);
	assert_true(fd >= 0);
	close(fd);
}

static void only_regular_files_are_opened(void **state)
{
	struct proc_map map = describe("/dev/null");
	const struct proc_map anonymous = { .start = 0x1000, .end = 0x2000, .path = "[heap]" };

	(void)state;
	assert_int_equal(proc_map_open(getpid(), &map), -ENODEV);
	assert_int_equal(proc_map_open(getpid(), &anonymous), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_gives_all_its_fields),
		cmocka_unit_test(malformed_text_is_refused),
		cmocka_unit_test(a_file_is_known_by_its_device_too),
		cmocka_unit_test(no_text_is_no_maps),
		cmocka_unit_test(an_address_is_found_in_its_map_only),
		cmocka_unit_test(the_maps_of_this_process_hold_what_is_in_it),
		cmocka_unit_test(the_maps_of_no_process_are_refused),
		cmocka_unit_test(a_mapped_file_is_opened),
		cmocka_unit_test(a_file_that_took_the_name_is_not_taken_for_the_mapped_one),
		cmocka_unit_test(without_map_files_the_path_is_checked_and_opened),
		cmocka_unit_test(only_regular_files_are_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
