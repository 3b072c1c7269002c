/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/event_spec.h"

#include "bpf/abi.h"
#include "probe/allocators.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void assert_text(const char *text, const char *expected, const char *spec)
{
	if (!expected && text)
		fail_msg("%s: is '%s', should be nothing", spec, text);
	if (expected && (!text || strcmp(text, expected) != 0))
		fail_msg("%s: is '%s', should be '%s'", spec, text ? text : "(none)", expected);
}

static void parse_ok(const char *text, struct hist_spec *spec)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };

	if (hist_spec_parse(text, spec, &error) != 0)
		fail_msg("%s: %s", text, strbuf_str(&error));
	assert_string_equal(strbuf_str(&error), "");
	assert_string_equal(spec->text, text);
}

static void what_is_counted_follows_from_the_names(void **state)
{
	static const struct {
		const char *text;
		enum hist_what what;
		const char *name, *category, *field;
	} cases[] = {
		{ "read", HIST_SYSCALL_RESULT, "read", NULL, NULL },
		{ "mmap", HIST_SYSCALL_RESULT, "mmap", NULL, NULL },
		{ "sys_exit_read", HIST_SYSCALL_RESULT, "read", NULL, NULL },
		{ "sys_exit_", HIST_SYSCALL_RESULT, "sys_exit_", NULL, NULL },
		{ "sys_exit_.c", HIST_SYSCALL_RESULT, "sys_exit_.c", NULL, NULL },
		{ "read:ret", HIST_SYSCALL_RESULT, "read", NULL, NULL },
		{ "sys_exit_read:ret", HIST_SYSCALL_RESULT, "read", NULL, NULL },
		{ "read:count", HIST_SYSCALL_ARG, "read", NULL, "count" },
		{ "sys_enter_read:count", HIST_SYSCALL_ARG, "read", NULL, "count" },
		{ "io_getevents:result", HIST_SYSCALL_ARG, "io_getevents", NULL, "result" },
		{ "read:ns", HIST_SYSCALL_NS, "read", NULL, NULL },
		{ "kmem:mm_page_alloc:order", HIST_FIELD, "mm_page_alloc", "kmem", "order" },
		{ "xhci-hcd:xhci_ring_alloc:num_segs", HIST_FIELD, "xhci_ring_alloc", "xhci-hcd",
		  "num_segs" },
		{ "syscalls:sys_exit_read:ret", HIST_FIELD, "sys_exit_read", "syscalls", "ret" },
		{ "syscalls:sys_enter_read:count", HIST_FIELD, "sys_enter_read", "syscalls",
		  "count" },
		{ "malloc", HIST_ALLOC, "malloc", NULL, NULL },
		{ "posix_memalign", HIST_ALLOC, "posix_memalign", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(hist_spec_done) struct hist_spec spec = { 0 };

		parse_ok(cases[i].text, &spec);
		assert_int_equal(spec.what, cases[i].what);
		assert_text(spec.name, cases[i].name, cases[i].text);
		assert_text(spec.category, cases[i].category, cases[i].text);
		assert_text(spec.field, cases[i].field, cases[i].text);
		assert_false(spec.linear);
		assert_int_equal(spec.by, HIST_BY_NONE);
	}
}

static void buckets_and_key_stand_in_any_order(void **state)
{
	static const struct {
		const char *text;
		int64_t min, max, step; /* step 0: powers of two */
		enum hist_by by;
	} cases[] = {
		{ "read,by=comm", 0, 0, 0, HIST_BY_COMM },
		{ "read,by=pid", 0, 0, 0, HIST_BY_PID },
		{ "read,lin=0-100/10", 0, 100, 10, HIST_BY_NONE },
		{ "read,lin=0-100/10,by=comm", 0, 100, 10, HIST_BY_COMM },
		{ "read:ns,by=pid,lin=1k-1M/1k", 1024, 1048576, 1024, HIST_BY_PID },
		{ "setpriority:niceval,lin=-20-19/1", -20, 19, 1, HIST_BY_NONE },
		{ "a:b:c,lin=-20--10/5", -20, -10, 5, HIST_BY_NONE },
		{ "malloc,lin=0-1.5KiB/.5k", 0, 1536, 512, HIST_BY_NONE },
		{ "read,lin=0-1024/1", 0, 1024, 1, HIST_BY_NONE },
		{ "read,lin=-4611686018427387904-4611686018427387904/9007199254740992",
		  -(INT64_C(1) << 62), INT64_C(1) << 62, INT64_C(1) << 53, HIST_BY_NONE },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(hist_spec_done) struct hist_spec spec = { 0 };

		parse_ok(cases[i].text, &spec);
		assert_int_equal(spec.linear, cases[i].step != 0);
		assert_int_equal(spec.min, cases[i].min);
		assert_int_equal(spec.max, cases[i].max);
		assert_int_equal(spec.step, cases[i].step);
		assert_int_equal(spec.by, cases[i].by);
	}
}

#define FORMS "': expected SYSCALL, SYSCALL:ARGUMENT, SYSCALL:ns, CATEGORY:EVENT:FIELD or malloc"
#define NO_RANGE "' of '--hist': expected lin=MIN-MAX/STEP, such as lin=0-4k/64"
#define TOO_LARGE "' of '--hist' has a number that is too large"

static void wrong_texts_are_refused_with_what_to_give(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "invalid --hist '" FORMS },
		{ ",by=comm", "invalid --hist ',by=comm" FORMS },
		{ "read:", "invalid --hist 'read:" FORMS },
		{ ":read", "invalid --hist ':read" FORMS },
		{ "a:b:c:d", "invalid --hist 'a:b:c:d" FORMS },
		{ "re ad", "invalid --hist 're ad" FORMS },
		{ "../../x:id:y", "invalid --hist '../../x:id:y" FORMS },
		{ "a:..:y", "invalid --hist 'a:..:y" FORMS },
		{ "new", "invalid --hist 'new': expected malloc, from which operator new takes its "
			 "memory" },
		{ "sys_enter_read",
		  "invalid --hist 'sys_enter_read': expected read for the result, or "
		  "read:ARGUMENT" },
		{ "sys_exit_read:count",
		  "invalid --hist 'sys_exit_read:count': the end of a system call has its result "
		  "only; "
		  "give read, read:ARGUMENT or read:ns" },
		{ "syscalls:sys_exit_read",
		  "invalid --hist 'syscalls:sys_exit_read': expected a field behind it, such as "
		  "syscalls:sys_exit_read:ret" },
		{ "malloc:size",
		  "invalid --hist 'malloc:size': expected malloc for the sizes that are asked "
		  "for; nothing else of it is counted" },
		{ "read,", "'' in 'read,' is unknown: give lin=MIN-MAX/STEP, by=comm or by=pid "
			   "behind the comma" },
		{ "read,log", "'log' in 'read,log' is unknown: give lin=MIN-MAX/STEP, by=comm or "
			      "by=pid behind the comma" },
		{ "read,by=comm,by=pid", "'read,by=comm,by=pid' has 'by=' twice: give it once" },
		{ "read,by=tid", "'by=tid' of '--hist' is unknown: give by=comm or by=pid" },
		{ "read,lin=0-9/1,lin=0-9/1",
		  "'read,lin=0-9/1,lin=0-9/1' has 'lin=' twice: give it once" },
		{ "read,lin=", "invalid 'lin=" NO_RANGE },
		{ "read,lin=5", "invalid 'lin=5" NO_RANGE },
		{ "read,lin=-", "invalid 'lin=-" NO_RANGE },
		{ "read,lin=0-9", "invalid 'lin=0-9" NO_RANGE },
		{ "read,lin=0/9", "invalid 'lin=0/9" NO_RANGE },
		{ "read,lin=0/9-1", "invalid 'lin=0/9-1" NO_RANGE },
		{ "read,lin=0-/1", "invalid 'lin=0-/1" NO_RANGE },
		{ "read,lin=--/1", "invalid 'lin=--/1" NO_RANGE },
		{ "read,lin=0-9/", "invalid 'lin=0-9/" NO_RANGE },
		{ "read,lin=0-9/-1", "invalid 'lin=0-9/-1" NO_RANGE },
		{ "read,lin=0-9/1/1", "invalid 'lin=0-9/1/1" NO_RANGE },
		{ "read,lin=0-9x/1", "invalid 'lin=0-9x/1" NO_RANGE },
		{ "read,lin=0-8E/1", "invalid 'lin=0-8E/1" NO_RANGE },
		{ "read,lin=0-8388608T/1", "'lin=0-8388608T/1" TOO_LARGE },
		{ "read,lin=0-99999999999999999999/1", "'lin=0-99999999999999999999/1" TOO_LARGE },
		{ "read,lin=9-9/1", "'lin=9-9/1' of '--hist' has no values: give a MAX above MIN "
				    "in lin=MIN-MAX/STEP" },
		{ "read,lin=0--1/1", "'lin=0--1/1' of '--hist' has no values: give a MAX above "
				     "MIN in lin=MIN-MAX/STEP" },
		{ "read,lin=0-9/0", "'lin=0-9/0' of '--hist' has no width: give a STEP above 0" },
		{ "read,lin=0-1025/1", "'lin=0-1025/1' of '--hist' makes 1025 buckets, and 1024 "
				       "are the most: give a larger STEP" },
		{ "read,lin=0-2049/2", "'lin=0-2049/2' of '--hist' makes 1025 buckets, and 1024 "
				       "are the most: give a larger STEP" },
		{ "read,lin=-9223372036854775807-9223372036854775807/1",
		  "'lin=-9223372036854775807-9223372036854775807/1' of '--hist' makes "
		  "18446744073709551614 buckets, and 1024 are the most: give a larger STEP" },
		{ "read,lin=0-10/3", "'lin=0-10/3' of '--hist' ends within a bucket: give a STEP "
				     "that divides 10" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct hist_spec spec = { .step = 77 };

		if (hist_spec_parse(cases[i].text, &spec, &error) != -EINVAL)
			fail_msg("is not refused: %s", cases[i].text);
		assert_string_equal(strbuf_str(&error), cases[i].error);
		assert_int_equal(spec.step, 77);
	}
}

/*
 * operator new's names are mangled, begin with "_Z", and are no words for the command line. Frees
 * and copies of strings are asked for no size.
 */
static void each_allocator_that_is_probed_can_be_named(void **state)
{
	size_t n;
	const struct allocator_function *functions = allocator_functions(&n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		if (strncmp(functions[i].name, "_Z", 2) != 0 &&
		    spec_is_allocator(functions[i].name) != (functions[i].args != 0))
			fail_msg("%s is not told by what it does", functions[i].name);
	assert_false(spec_is_allocator("mi_"));
	assert_false(spec_is_allocator("read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_counted_follows_from_the_names),
		cmocka_unit_test(buckets_and_key_stand_in_any_order),
		cmocka_unit_test(wrong_texts_are_refused_with_what_to_give),
		cmocka_unit_test(each_allocator_that_is_probed_can_be_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
