/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By which form a call is, by marks and stacks that are made by hand. */
#include "bpf/abi_book.h"
#include "sample/book_forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct walker *walker;

static int begin(void **state)
{
	(void)state;
	walker = calloc(1, sizeof(*walker));
	return walker ? 0 : -1;
}

static int done(void **state)
{
	(void)state;
	free(walker);
	return 0;
}

/* Frames from the innermost out, each deeper by 16 bytes than the next one: the last is main's. */
#define STACK_END 0x7000

static const struct walker *stack_of(size_t n, const uint64_t *pcs)
{
	walker->joined = 0;
	walker->n_fresh = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		walker->fresh[i] =
			(struct walk_frame){ .pc = pcs[i], .sp = STACK_END - (n - i - 1) * 16 };
	return walker;
}

#define STACK(...)                                                                                 \
	stack_of(sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t),                           \
		 (uint64_t[]){ __VA_ARGS__ })

enum { MAIN = 1, OTHER, NEW, ARRAY, HANDLER };

static void what_a_marked_function_calls_is_of_its_form(void **state)
{
	struct book_mark mark = { 0 };

	(void)state;
	assert_int_equal(book_mark_form(&mark, STACK(MAIN), true), ABI_FORM_OWN);
	book_mark_add(&mark, STACK(MAIN), ABI_FORM_NEW);
	assert_int_equal(book_mark_form(&mark, STACK(NEW, MAIN), true), ABI_FORM_NEW);
	/* It has jumped there. */
	assert_int_equal(book_mark_form(&mark, STACK(MAIN), true), ABI_FORM_NEW);
	/* Another call of the same function. */
	assert_int_equal(book_mark_form(&mark, STACK(OTHER), true), ABI_FORM_OWN);
	book_mark_used(&mark, ABI_FORM_UNKNOWN);
	assert_int_equal(book_mark_form(&mark, STACK(NEW, MAIN), true), ABI_FORM_NEW);
	book_mark_used(&mark, ABI_FORM_NEW);
	assert_int_equal(book_mark_form(&mark, STACK(NEW, MAIN), true), ABI_FORM_OWN);
}

static void forms_that_call_others_keep_theirs(void **state)
{
	struct book_mark mark = { 0 };

	(void)state;
	book_mark_add(&mark, STACK(MAIN), ABI_FORM_ARRAY);
	book_mark_add(&mark, STACK(ARRAY, MAIN), ABI_FORM_NEW);
	assert_int_equal(book_mark_form(&mark, STACK(NEW, ARRAY, MAIN), true), ABI_FORM_ARRAY);
}

/* What a handler of new does is its own; which form goes on behind it is not known. */
static void calls_in_between_are_of_no_form(void **state)
{
	struct book_mark mark = { 0 };

	(void)state;
	book_mark_add(&mark, STACK(MAIN), ABI_FORM_NEW);
	assert_int_equal(book_mark_form(&mark, STACK(HANDLER, NEW, MAIN), true), ABI_FORM_UNKNOWN);
	book_mark_add(&mark, STACK(HANDLER, NEW, MAIN), ABI_FORM_ARRAY);
	assert_int_equal(book_mark_form(&mark, STACK(ARRAY, HANDLER, NEW, MAIN), true),
			 ABI_FORM_ARRAY);
	book_mark_used(&mark, ABI_FORM_ARRAY);
	assert_int_equal(book_mark_form(&mark, STACK(NEW, MAIN), true), ABI_FORM_UNKNOWN);
	assert_int_equal(book_mark_form(&mark, STACK(OTHER), true), ABI_FORM_OWN);
	assert_int_equal(book_mark_form(&mark, STACK(NEW, MAIN), true), ABI_FORM_OWN);
}

static void a_thread_may_be_in_a_call_that_has_left_no_mark(void **state)
{
	struct book_mark mark = { 0 };

	(void)state;
	assert_int_equal(book_mark_form(&mark, STACK(NEW, MAIN), false), ABI_FORM_UNKNOWN);
	assert_int_equal(book_mark_form(&mark, STACK(MAIN), false), ABI_FORM_OWN);
}

static void forms_that_do_not_go_together_are_mismatched(void **state)
{
	static const struct {
		uint32_t made, made_by, taken, taken_by;
		bool wrong;
	} cases[] = {
		{ ABI_FORM_OWN, ABI_BOOK_MALLOC, ABI_FORM_OWN, ABI_BOOK_FREE, false },
		{ ABI_FORM_NEW, ABI_BOOK_MALLOC, ABI_FORM_NEW, ABI_BOOK_FREE, false },
		{ ABI_FORM_NEW, ABI_BOOK_MALLOC, ABI_FORM_ARRAY, ABI_BOOK_FREE, true },
		{ ABI_FORM_NEW, ABI_BOOK_MALLOC, ABI_FORM_OWN, ABI_BOOK_FREE, true },
		{ ABI_FORM_NEW, ABI_BOOK_MALLOC, ABI_FORM_OWN, ABI_BOOK_REALLOC, true },
		{ ABI_FORM_NEW, ABI_BOOK_MALLOC, ABI_FORM_UNKNOWN, ABI_BOOK_FREE, false },
		{ ABI_FORM_UNKNOWN, ABI_BOOK_MALLOC, ABI_FORM_NEW, ABI_BOOK_FREE, false },
		{ ABI_FORM_OWN, ABI_BOOK_NEW, ABI_FORM_OWN, ABI_BOOK_DELETE, false },
		{ ABI_FORM_OWN, ABI_BOOK_NEW_ARRAY, ABI_FORM_OWN, ABI_BOOK_DELETE, true },
		{ ABI_FORM_OWN, ABI_BOOK_NEW_ARRAY, ABI_FORM_OWN, ABI_BOOK_DELETE_ARRAY, false },
		{ ABI_FORM_OWN, ABI_BOOK_NEW, ABI_FORM_OWN, ABI_BOOK_SDALLOCX, true },
		{ ABI_FORM_OWN, ABI_BOOK_MALLOCX, ABI_FORM_OWN, ABI_BOOK_FREE, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(book_is_mismatched(cases[i].made, cases[i].made_by, cases[i].taken,
						    cases[i].taken_by),
				 cases[i].wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_marked_function_calls_is_of_its_form),
		cmocka_unit_test(forms_that_call_others_keep_theirs),
		cmocka_unit_test(calls_in_between_are_of_no_form),
		cmocka_unit_test(a_thread_may_be_in_a_call_that_has_left_no_mark),
		cmocka_unit_test(forms_that_do_not_go_together_are_mismatched),
	};

	return cmocka_run_group_tests(tests, begin, done);
}
