/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/job_counts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

struct fixture {
	struct strings strings;
	struct syscalls syscalls;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	syscalls_init(&f->syscalls, &f->strings);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	syscalls_done(&f->syscalls);
	strings_done(&f->strings);
	free(f);
	return 0;
}

static void add_call(struct fixture *f, uint32_t image, int32_t number, uint64_t calls)
{
	struct record_bucket bucket = { 64, 72, calls };
	struct record_errno error = { ENOENT, 1 };
	char name[] = "read";
	struct record_syscall record = {
		.image = { image },
		.number = number,
		.name = name,
		.calls = calls,
		.n_buckets = 1,
		.buckets = &bucket,
		.n_errnos = 1,
		.errnos = &error,
	};

	assert_int_equal(syscalls_cut_call(&f->syscalls, &record), 0);
	/* What is borrowed may be overwritten after the call. */
	memset(name, 'x', sizeof(name) - 1);
	bucket = (struct record_bucket){ 0 };
	error = (struct record_errno){ 0 };
}

static const struct model_syscalls *of_slot(const struct fixture *f, uint32_t image)
{
	for (size_t i = 0; i < f->syscalls.list.len; i++)
		if (f->syscalls.list.data[i]->image.n == image)
			return f->syscalls.list.data[i];
	return NULL;
}

static void cut_is_shown_from_its_end_on(void **state)
{
	struct fixture *f = *state;
	const struct model_syscalls *process;

	syscalls_cut_begin(&f->syscalls);
	add_call(f, 3, SYS_read, 7);
	assert_int_equal(f->syscalls.list.len, 0);
	assert_int_equal(syscalls_cut_end(&f->syscalls), 0);
	process = of_slot(f, 3);
	assert_non_null(process);
	assert_int_equal(process->calls.len, 1);
	assert_string_equal(process->calls.data[0].name, "read");
	assert_int_equal(process->calls.data[0].calls, 7);
	assert_int_equal(process->calls.data[0].buckets[0].count, 7);
	assert_int_equal(process->calls.data[0].errnos[0].number, ENOENT);
}

static void unfinished_cut_changes_nothing(void **state)
{
	struct fixture *f = *state;

	syscalls_cut_begin(&f->syscalls);
	add_call(f, 3, SYS_read, 7);
	assert_int_equal(syscalls_cut_end(&f->syscalls), 0);
	syscalls_cut_begin(&f->syscalls);
	add_call(f, 3, SYS_read, 9);
	assert_int_equal(of_slot(f, 3)->calls.data[0].calls, 7);
	syscalls_cut_begin(&f->syscalls);
	assert_int_equal(syscalls_cut_end(&f->syscalls), 0);
	assert_int_equal(of_slot(f, 3)->calls.data[0].calls, 7);
}

static void cut_replaces_all_of_the_processes_in_it_and_no_others(void **state)
{
	struct fixture *f = *state;
	const struct record_syscall_file file = { .image = { 1 }, .path = "/a", .reads = 1 };
	const struct record_syscall_stack stack = { { 1 }, SYS_read, 99, 1, 2 };

	syscalls_cut_begin(&f->syscalls);
	add_call(f, 1, SYS_read, 1);
	add_call(f, 1, SYS_write, 2);
	assert_int_equal(syscalls_cut_file(&f->syscalls, &file), 0);
	assert_int_equal(syscalls_cut_stack(&f->syscalls, &stack), 0);
	add_call(f, 2, SYS_read, 3);
	assert_int_equal(syscalls_cut_end(&f->syscalls), 0);
	assert_int_equal(of_slot(f, 1)->calls.len, 2);
	assert_string_equal(of_slot(f, 1)->files.data[0].path, "/a");
	assert_int_equal(of_slot(f, 1)->stacks.data[0].stack, 99);

	syscalls_cut_begin(&f->syscalls);
	add_call(f, 1, SYS_read, 5);
	assert_int_equal(syscalls_cut_end(&f->syscalls), 0);
	assert_int_equal(f->syscalls.list.len, 2);
	assert_int_equal(of_slot(f, 1)->calls.len, 1);
	assert_int_equal(of_slot(f, 1)->calls.data[0].calls, 5);
	assert_int_equal(of_slot(f, 1)->files.len, 0);
	assert_int_equal(of_slot(f, 1)->stacks.len, 0);
	assert_int_equal(of_slot(f, 2)->calls.data[0].calls, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cut_is_shown_from_its_end_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unfinished_cut_changes_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			cut_replaces_all_of_the_processes_in_it_and_no_others, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
