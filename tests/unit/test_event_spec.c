/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/event_spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void an_event_is_a_tracepoint_or_the_entry_of_a_system_call(void **state)
{
	static const struct {
		const char *text, *category, *name;
		bool is_syscall;
	} cases[] = {
		{ "getrandom", "syscalls", "sys_enter_getrandom", true },
		{ "sys_enter_getrandom", "syscalls", "sys_enter_getrandom", true },
		{ "sys_exit_getrandom", "syscalls", "sys_exit_getrandom", true },
		{ "syscalls:sys_enter_getrandom", "syscalls", "sys_enter_getrandom", false },
		{ "sched:sched_switch", "sched", "sched_switch", false },
		{ "xhci-hcd:xhci_ring_alloc", "xhci-hcd", "xhci_ring_alloc", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_(event_spec_done) struct event_spec spec = { 0 };
		_cleanup_strbuf_ struct strbuf error = { 0 };

		if (event_spec_parse(cases[i].text, &spec, &error) != 0)
			fail_msg("%s: %s", cases[i].text, strbuf_str(&error));
		assert_string_equal(spec.text, cases[i].text);
		assert_string_equal(spec.category, cases[i].category);
		assert_string_equal(spec.name, cases[i].name);
		assert_int_equal(spec.is_syscall, cases[i].is_syscall);
	}
}

#define FORMS                                                                                      \
	"': expected a system call such as getrandom, or CATEGORY:EVENT such as "                  \
	"sched:sched_switch"

static void wrong_texts_are_refused_with_what_to_give(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "invalid -e '" FORMS },
		{ ":", "invalid -e ':" FORMS },
		{ "sched:", "invalid -e 'sched:" FORMS },
		{ "a:b:c:d", "invalid -e 'a:b:c:d" FORMS },
		{ "sched/sched_switch", "invalid -e 'sched/sched_switch" FORMS },
		{ "..:id", "invalid -e '..:id" FORMS },
		{ "read,by=comm", "invalid -e 'read,by=comm" FORMS },
		{ "kmem:mm_page_alloc:order",
		  "invalid -e 'kmem:mm_page_alloc:order': expected 'kmem:mm_page_alloc' for "
		  "the stacks of the event, or '--hist kmem:mm_page_alloc:order' for a histogram "
		  "of its field" },
		{ "malloc", "invalid -e 'malloc': leave it out, allocations are traced without it "
			    "(beside other jobs: --alloc)" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		struct event_spec spec = { 0 };

		if (event_spec_parse(cases[i].text, &spec, &error) != -EINVAL)
			fail_msg("is not refused: %s", cases[i].text);
		assert_string_equal(strbuf_str(&error), cases[i].error);
		assert_null(spec.text);
	}
}

static void all_but_system_calls_may_interrupt(void **state)
{
	static const struct {
		const char *text;
		bool interrupts;
	} cases[] = {
		{ "getrandom", false },
		{ "syscalls:sys_exit_read", false },
		{ "raw_syscalls:sys_enter", false },
		{ "sched:sched_switch", true },
		{ "exceptions:page_fault_user", true },
	};
	struct event_spec spec;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };

		assert_int_equal(event_spec_parse(cases[i].text, &spec, &error), 0);
		if (event_spec_interrupts(&spec) != cases[i].interrupts)
			fail_msg("%s", cases[i].text);
		event_spec_done(&spec);
	}
	assert_int_equal(event_spec_cpu(99, &spec), 0);
	assert_true(event_spec_interrupts(&spec));
	event_spec_done(&spec);
	assert_int_equal(event_spec_page_faults(1, &spec), 0);
	assert_true(event_spec_interrupts(&spec));
	event_spec_done(&spec);
	assert_int_equal(event_spec_off_cpu(&spec), 0);
	assert_true(event_spec_interrupts(&spec));
	event_spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_a_tracepoint_or_the_entry_of_a_system_call),
		cmocka_unit_test(wrong_texts_are_refused_with_what_to_give),
		cmocka_unit_test(all_but_system_calls_may_interrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
