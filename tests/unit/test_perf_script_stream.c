/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/perf/perf_script.h"
#include "tests/report_fixture.h"

#include <errno.h>
#include <string.h>

#define APP "/opt/demo/server"
#define KERNEL 0xffffffff81000000ull

struct streamed {
	struct fixture f;
	char *text;
	size_t len;
	FILE *file;
	struct perf_script_stream *stream;
};

static void begin(struct streamed *t)
{
	const struct script *s = &t->f.script;

	*t = (struct streamed){ 0 };
	fixture_init(&t->f);
	emit_run_with(s, true);
	emit_kernel(s, KERNEL, KERNEL + 0x1000);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_symbol(s, APP, 11, 0x1123, { "main", 0x23, NULL, 0, false });
	emit_kernel_symbol(s, KERNEL + 0x10, "do_read", 0x10);
	emit_event(s, 3, "syscalls:sys_enter_read");
	emit_event(s, 4, "write");
	emit_stack(s, 71, 0, 1000, 0x10123);
	emit_stack(s, 81, RECORD_NO_IMAGE.n, 1000, KERNEL + 0x10);
	t->file = open_memstream(&t->text, &t->len);
	assert_non_null(t->file);
	assert_int_equal(perf_script_stream_new(t->f.model, t->f.symbols, 3, t->file, &t->stream),
			 0);
}

static void take(struct streamed *t, struct record_occurrence occurrence)
{
	assert_int_equal(perf_script_stream_add(t->stream, &occurrence), 0);
}

static void end(struct streamed *t)
{
	perf_script_stream_free(t->stream);
	assert_int_equal(fclose(t->file), 0);
	free(t->text);
	fixture_done(&t->f);
}

static void each_event_has_its_own_time_thread_and_cpu(void **state)
{
	struct streamed t;

	(void)state;
	begin(&t);
	take(&t, (struct record_occurrence){ 3, { 0 }, 43, 1, 5000000001, 71, 81, "worker 1", 0 });
	take(&t, (struct record_occurrence){ 3, { 0 }, 42, 12, 5000000002, 71, 0, NULL, 0 });
	take(&t, (struct record_occurrence){ 3, { 0 }, 43, 0, 6999999999, 71, 81, "x", 0 });
	fflush(t.file);
	assert_string_equal(t.text, "worker_1 42/43 [001]     5.000000001: 1 sys_enter_read: \n"
				    "\tffffffff81000010 do_read+0x10 ([kernel.kallsyms])\n"
				    "\t            2123 main+0x23 (/opt/demo/server)\n\n"
				    "server 42/42 [012]     5.000000002: 1 sys_enter_read: \n"
				    "\t            2123 main+0x23 (/opt/demo/server)\n\n"
				    "x_ 42/43 [000]     6.999999999: 1 sys_enter_read: \n"
				    "\tffffffff81000010 do_read+0x10 ([kernel.kallsyms])\n"
				    "\t            2123 main+0x23 (/opt/demo/server)\n\n");
	end(&t);
}

static void events_of_another_kind_are_not_written(void **state)
{
	struct streamed t;

	(void)state;
	begin(&t);
	take(&t, (struct record_occurrence){ 4, { 0 }, 42, 0, 5000000000, 71, 0, "server", 0 });
	take(&t, (struct record_occurrence){ 9, { 0 }, 42, 0, 5000000000, 71, 0, "server", 0 });
	fflush(t.file);
	assert_int_equal(t.len, 0);
	end(&t);
}

/* The kernel announces a stack again when its first announcement was lost. */
static void a_stack_that_comes_after_it_was_missed_is_shown(void **state)
{
	struct record_occurrence occurrence = { 3, { 0 }, 42, 0, 5000000000, 72, 0, "server", 0 };
	struct streamed t;

	(void)state;
	begin(&t);
	take(&t, occurrence);
	emit_stack(&t.f.script, 72, 0, 1000, 0x10123);
	take(&t, occurrence);
	fflush(t.file);
	assert_string_equal(t.text, "server 42/42 [000]     5.000000000: 1 sys_enter_read: \n"
				    "\t               0 [stack-lost] ([unknown])\n\n"
				    "server 42/42 [000]     5.000000000: 1 sys_enter_read: \n"
				    "\t            2123 main+0x23 (/opt/demo/server)\n\n");
	end(&t);
}

static void equal_stack_ids_of_two_processes_are_two_stacks(void **state)
{
	struct streamed t;

	(void)state;
	begin(&t);
	emit_begin(&t.f.script, 1, 50, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "other");
	emit_map(&t.f.script, 1, 0x10000, 0x20000, 0x1000, 1000, "/opt/demo/other", 12);
	emit_stack(&t.f.script, 71, 1, 1000, 0x10123);
	take(&t, (struct record_occurrence){ 3, { 0 }, 42, 0, 5000000000, 71, 0, NULL, 0 });
	take(&t, (struct record_occurrence){ 3, { 1 }, 50, 0, 5000000000, 71, 0, NULL, 0 });
	fflush(t.file);
	assert_non_null(strstr(t.text, "main+0x23 (/opt/demo/server)\n\nother 50/50"));
	assert_non_null(strstr(t.text, "[unknown] (/opt/demo/other)"));
	end(&t);
}

static void a_thread_of_an_unknown_process_is_its_own(void **state)
{
	struct streamed t;

	(void)state;
	begin(&t);
	take(&t, (struct record_occurrence){ 3, { 7 }, 99, 0, 5000000000, 0, 0, "lost", 0 });
	fflush(t.file);
	assert_string_equal(t.text, "lost 99/99 [000]     5.000000000: 1 sys_enter_read: \n"
				    "\t               0 [stack-lost] ([unknown])\n\n");
	end(&t);
}

static void full_disk_is_an_error(void **state)
{
	const struct record_occurrence occurrence = { 3, { 0 }, 42, 0, 1, 71, 81, NULL, 0 };
	_cleanup_(perf_script_stream_free_p) struct perf_script_stream *stream = NULL;
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "w");
	struct streamed t;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	begin(&t);
	assert_int_equal(perf_script_stream_new(t.f.model, t.f.symbols, 3, full, &stream), 0);
	assert_int_equal(perf_script_stream_add(stream, &occurrence), -EIO);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_has_its_own_time_thread_and_cpu),
		cmocka_unit_test(events_of_another_kind_are_not_written),
		cmocka_unit_test(a_stack_that_comes_after_it_was_missed_is_shown),
		cmocka_unit_test(equal_stack_ids_of_two_processes_are_two_stacks),
		cmocka_unit_test(a_thread_of_an_unknown_process_is_its_own),
		cmocka_unit_test(full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
