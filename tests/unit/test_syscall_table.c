/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/syscall_table.h"

#include "trace/jobs/file_names.h"

#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* --- the table of system calls --------------------------------------------------------------- */

static void names_are_those_of_the_headers(void **state)
{
	(void)state;
	assert_string_equal(syscall_table_name(SYS_read), "read");
	assert_string_equal(syscall_table_name(SYS_openat2), "openat2");
	assert_string_equal(syscall_table_name(SYS_restart_syscall), "restart_syscall");
	assert_null(syscall_table_name(-1));
	assert_null(syscall_table_name(INT32_MAX));
}

static void tracepoints_are_told_by_the_names_of_the_kernels_functions(void **state)
{
	static const struct {
		const char *tracepoint;
		int32_t number;
	} cases[] = {
		{ "read", SYS_read },
		{ "newfstat", SYS_fstat },
		{ "umount", SYS_umount2 },
		{ "newuname", SYS_uname },
		{ "sendfile64", SYS_sendfile },
		{ "pread64", SYS_pread64 },
		{ "restart_syscall", SYS_restart_syscall },
		{ "nosuchcall", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(syscall_table_number(cases[i].tracepoint), cases[i].number);
}

static void numbers_beyond_the_table_do_nothing_that_is_known(void **state)
{
	const struct abi_syscall_op none = { 0 };
	struct abi_syscall_op op = syscall_table_op(ABI_SYSCALLS);

	(void)state;
	assert_memory_equal(&op, &none, sizeof(op));
	op = syscall_table_op(SYS_sendfile);
	assert_int_equal(op.fd, 2);
	assert_int_equal(op.fd_out, 1);
}

/* --- paths ----------------------------------------------------------------------------------- */

static void files_are_named_as_users_know_them(void **state)
{
#define NAMES(s) s, sizeof(s)
	static const struct {
		const char *names; /* from the last component on */
		size_t len;
		uint32_t mode, flags, magic;
		const char *path;
	} cases[] = {
		{ NAMES("passwd\0etc"), S_IFREG, 0, 0, "/etc/passwd" },
		{ "", 0, S_IFDIR, 0, 0, "/" },
		{ NAMES("x"), S_IFREG, ABI_FILE_DELETED, 0, "/x (deleted)" },
		{ NAMES("c\0b"), S_IFREG, ABI_FILE_TRUNCATED, 0, "…/b/c" },
		{ NAMES("fifo\0tmp"), S_IFIFO, 0, 0, "/tmp/fifo" },
		{ NAMES(""), S_IFIFO, ABI_FILE_NAMELESS, PIPEFS_MAGIC, "pipe:[12]" },
		{ NAMES("TCP"), S_IFSOCK, ABI_FILE_NAMELESS, SOCKFS_MAGIC, "socket:[12]" },
		{ NAMES("[eventfd]"), S_IFREG, ABI_FILE_NAMELESS, ANON_INODE_FS_MAGIC,
		  "anon_inode:[eventfd]" },
		{ NAMES("memfd:x"), S_IFREG, ABI_FILE_NAMELESS | ABI_FILE_DELETED, TMPFS_MAGIC,
		  "memfd:x" },
		{ "", 0, S_IFREG, ABI_FILE_NAMELESS, 0, "inode:[12]" },
	};
	_cleanup_(file_names_free_p) struct file_names *names = NULL;
	static struct abi_ev_file ev;

	(void)state;
	assert_int_equal(file_names_new(&names), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ev.id = (struct abi_file_id){ .ino = 12, .dev = 1, .kind = (uint32_t)i };
		ev.mode = cases[i].mode;
		ev.flags = cases[i].flags;
		ev.magic = cases[i].magic;
		ev.len = (uint32_t)cases[i].len;
		memcpy(ev.names, cases[i].names, cases[i].len);
		assert_int_equal(file_names_add(names, &ev), 0);
		assert_string_equal(file_names_find(names, &ev.id), cases[i].path);
	}
}

static void first_name_of_a_file_stays(void **state)
{
	_cleanup_(file_names_free_p) struct file_names *names = NULL;
	static struct abi_ev_file ev = { .id = { 1, 2, 3 }, .mode = S_IFREG, .len = 2 };
	const struct abi_file_id other = { 1, 2, 4 };

	(void)state;
	assert_int_equal(file_names_new(&names), 0);
	memcpy(ev.names, "a", 2);
	assert_int_equal(file_names_add(names, &ev), 0);
	memcpy(ev.names, "b", 2);
	assert_int_equal(file_names_add(names, &ev), 0);
	assert_string_equal(file_names_find(names, &ev.id), "/a");
	assert_null(file_names_find(names, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_headers),
		cmocka_unit_test(tracepoints_are_told_by_the_names_of_the_kernels_functions),
		cmocka_unit_test(numbers_beyond_the_table_do_nothing_that_is_known),
		cmocka_unit_test(files_are_named_as_users_know_them),
		cmocka_unit_test(first_name_of_a_file_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
