/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "target/proc_maps.h"
#include "trace/live/code/unopened_files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct proc_map library = { .dev_major = 8, .dev_minor = 1, .ino = 7, .path = "/a" };
#define LIBRARY_DEV (8 << 20 | 1)

static void a_file_is_listed_once(void **state)
{
	const struct unopened_file *first, *second;
	struct unopened_files files;
	bool is_new;

	(void)state;
	unopened_files_init(&files);
	assert_int_equal(unopened_files_add(&files, &library, -EBUSY, 100, &first, &is_new), 0);
	assert_true(is_new);
	assert_string_equal(first->path, "/a");
	assert_int_equal(unopened_files_add(&files, &library, -EBUSY, 200, &second, &is_new), 0);
	assert_false(is_new);
	assert_ptr_equal(first, second);
	assert_int_equal(files.all.len, 1);
	assert_ptr_equal(files.all.data[0], first);
	unopened_files_done(&files);
}

static void pauses_between_attempts_double_up_to_a_minute(void **state)
{
	static const uint64_t pauses[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	const struct unopened_file *file;
	struct unopened_files files;
	uint64_t now_ns = 100;
	bool is_new;

	(void)state;
	unopened_files_init(&files);
	assert_int_equal(files.next_ns, UINT64_MAX);
	assert_int_equal(unopened_files_add(&files, &library, -EBUSY, now_ns, &file, &is_new), 0);
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		assert_int_equal(files.next_ns, now_ns + pauses[i] * SECOND_NS);
		assert_false(unopened_file_is_due(file, files.next_ns - 1));
		now_ns = files.next_ns;
		assert_true(unopened_file_is_due(file, now_ns));
		unopened_files_tried(&files, now_ns);
	}
	unopened_files_opened(&files, LIBRARY_DEV, 7);
	now_ns += 1000 * SECOND_NS;
	assert_false(unopened_file_is_due(file, now_ns));
	unopened_files_tried(&files, now_ns);
	assert_int_equal(files.next_ns, UINT64_MAX);
	unopened_files_done(&files);
}

static void a_process_cannot_make_the_list_grow_without_end(void **state)
{
	const struct unopened_file *file;
	struct unopened_files files;
	struct proc_map map = library;
	bool is_new;

	(void)state;
	unopened_files_init(&files);
	for (map.ino = 1; map.ino <= 5000; map.ino++)
		assert_int_equal(unopened_files_add(&files, &map, -EBUSY, 1, &file, &is_new), 0);
	assert_null(file);
	assert_false(is_new);
	assert_true(files.all.len < 5000);
	assert_int_equal(files.all.len + files.further, 5000);
	unopened_files_done(&files);
}

static void other_errors_are_not_of_files_that_exist(void **state)
{
	(void)state;
	assert_true(unopened_error(-EBUSY));
	assert_false(unopened_error(-ENOENT));
	assert_false(unopened_error(-ESTALE));
	assert_false(unopened_error(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_listed_once),
		cmocka_unit_test(pauses_between_attempts_double_up_to_a_minute),
		cmocka_unit_test(a_process_cannot_make_the_list_grow_without_end),
		cmocka_unit_test(other_errors_are_not_of_files_that_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
