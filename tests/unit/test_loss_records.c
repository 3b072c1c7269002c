/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/loss_records.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N(array) (sizeof(array) / sizeof(*(array)))
#define LOST REACH_NO_LEADER

static const uint64_t frames[][6] = {
	{ 10, 20, 30, 40, 50, 60 }, { 10, 20, 30, 40, 50, 61 }, { 10, 20, 31 }, { 11 },
	{ 10, 20, 30, 40, 50, 60 },
};
static const struct loss_stack stacks[] = {
	{ frames[0], 6 }, { frames[1], 6 }, { frames[2], 3 },
	{ frames[3], 1 }, { frames[4], 6 }, { NULL, 0 },
};

struct row {
	uint64_t size;
	uint32_t stack;
	enum reach_class class;
	uint32_t leader;
	enum reach_heuristic heuristic;
};

#define MAX_ROWS 16

/* What a check has of its blocks. */
struct check {
	struct reach_block blocks[MAX_ROWS];
	struct reach_verdict verdicts[MAX_ROWS];
	uint32_t stacks_of[MAX_ROWS];
	struct loss_input input;
};

static const struct loss_input *input(struct check *check, const struct row *rows, size_t n)
{
	*check = (struct check){ 0 };
	for (size_t i = 0; i < n; i++) {
		check->blocks[i] = (struct reach_block){ 4096 + i * 64, rows[i].size, 0 };
		check->verdicts[i] =
			(struct reach_verdict){ rows[i].leader, rows[i].class, rows[i].heuristic };
		check->stacks_of[i] = rows[i].stack;
	}
	check->input = (struct loss_input){ check->blocks, check->verdicts, check->stacks_of, n,
					    stacks,	   N(stacks) };
	return &check->input;
}

static struct loss_records *make(const struct row *rows, size_t n, const struct loss_opts *opts,
				 const struct loss_records *earlier)
{
	struct loss_records *records = NULL;
	struct loss_opts defaults;
	struct check check;

	loss_opts_init(&defaults);
	assert_int_equal(loss_records_new(input(&check, rows, n), opts ? opts : &defaults, earlier,
					  &records),
			 0);
	return records;
}

static void assert_record(const struct loss_records *records, size_t index, enum reach_class class,
			  uint64_t blocks, uint64_t bytes, uint64_t indirect)
{
	const struct loss_record *r = loss_records_get(records, index);

	assert_string_equal(reach_class_name(r->class), reach_class_name(class));
	assert_int_equal(r->blocks, blocks);
	assert_int_equal(r->bytes, bytes);
	assert_int_equal(r->indirect_bytes, indirect);
}

static const struct row mixed[] = {
	{ 100, 0, REACH_DEFINITE, LOST, 0 }, { 30, 1, REACH_INDIRECT, 0, 0 },
	{ 100, 4, REACH_DEFINITE, LOST, 0 }, { 7, 0, REACH_POSSIBLE, LOST, 0 },
	{ 5, 3, REACH_REACHABLE, LOST, 0 },  { 12, 3, REACH_REACHABLE, LOST, REACH_NEWARRAY },
	{ 20, 2, REACH_INDIRECT, 2, 0 },     { 0, 5, REACH_POSSIBLE, LOST, 0 },
};

static void blocks_of_one_class_and_place_are_one_record(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *r = make(mixed, N(mixed), NULL, NULL);
	const struct loss_totals *t = loss_records_totals(r);

	(void)state;
	assert_int_equal(loss_records_n(r), 6);
	assert_record(r, 0, REACH_POSSIBLE, 1, 0, 0);
	assert_record(r, 1, REACH_POSSIBLE, 1, 7, 0);
	assert_record(r, 2, REACH_REACHABLE, 2, 17, 0);
	assert_record(r, 3, REACH_INDIRECT, 1, 20, 0);
	assert_record(r, 4, REACH_INDIRECT, 1, 30, 0);
	assert_record(r, 5, REACH_DEFINITE, 2, 200, 50);
	assert_int_equal(loss_records_get(r, 5)->stack, 0);
	assert_false(loss_records_have_delta(r));
	/* Each byte counts once: indirect ones in their own class. */
	assert_int_equal(t->classes[REACH_DEFINITE].bytes, 200);
	assert_int_equal(t->classes[REACH_INDIRECT].bytes, 50);
	assert_int_equal(t->classes[REACH_INDIRECT].blocks, 2);
	assert_int_equal(t->classes[REACH_POSSIBLE].blocks, 2);
	assert_int_equal(t->classes[REACH_REACHABLE].bytes, 17);
	assert_int_equal(t->heuristics[REACH_NEWARRAY].blocks, 1);
	assert_int_equal(t->heuristics[REACH_NEWARRAY].bytes, 12);
	assert_int_equal(t->heuristics[REACH_BY_POINTER].blocks, 0);
}

static void places_are_told_apart_as_finely_as_asked(void **state)
{
	static const struct row rows[] = {
		{ 1, 0, REACH_DEFINITE, LOST, 0 }, { 1, 1, REACH_DEFINITE, LOST, 0 },
		{ 1, 2, REACH_DEFINITE, LOST, 0 }, { 1, 3, REACH_DEFINITE, LOST, 0 },
		{ 1, 4, REACH_DEFINITE, LOST, 0 }, { 1, 5, REACH_DEFINITE, LOST, 0 },
	};
	static const struct {
		enum loss_resolution resolution;
		size_t num_callers, records;
	} wanted[] = {
		{ LOSS_HIGH, 12, 5 }, { LOSS_HIGH, 0, 5 }, { LOSS_HIGH, 5, 4 }, { LOSS_HIGH, 2, 3 },
		{ LOSS_MED, 12, 4 },  { LOSS_MED, 1, 3 },  { LOSS_LOW, 12, 3 }, { LOSS_LOW, 0, 3 },
	};

	(void)state;
	for (size_t i = 0; i < N(wanted); i++) {
		_cleanup_(loss_records_free_p) struct loss_records *r = NULL;
		struct loss_opts opts;

		loss_opts_init(&opts);
		opts.resolution = wanted[i].resolution;
		opts.num_callers = wanted[i].num_callers;
		r = make(rows, N(rows), &opts, NULL);
		assert_int_equal(loss_records_n(r), wanted[i].records);
	}
}

static void what_is_equal_in_size_is_ordered_by_class_then_blocks(void **state)
{
	static const struct row rows[] = {
		{ 16, 0, REACH_REACHABLE, LOST, 0 }, { 16, 0, REACH_POSSIBLE, LOST, 0 },
		{ 16, 0, REACH_DEFINITE, LOST, 0 },  { 8, 3, REACH_DEFINITE, LOST, 0 },
		{ 8, 3, REACH_DEFINITE, LOST, 0 },   { 16, 1, REACH_INDIRECT, 9, 0 },
		{ 16, 2, REACH_DEFINITE, LOST, 0 },
	};
	_cleanup_(loss_records_free_p) struct loss_records *r = make(rows, N(rows), NULL, NULL);

	(void)state;
	assert_int_equal(loss_records_n(r), 6);
	assert_record(r, 0, REACH_REACHABLE, 1, 16, 0);
	assert_record(r, 1, REACH_POSSIBLE, 1, 16, 0);
	assert_record(r, 2, REACH_INDIRECT, 1, 16, 0);
	assert_record(r, 3, REACH_DEFINITE, 1, 16, 0);
	assert_int_equal(loss_records_get(r, 3)->stack, 0); /* its third frame is lower */
	assert_int_equal(loss_records_get(r, 4)->stack, 2);
	assert_record(r, 5, REACH_DEFINITE, 2, 16, 0);
}

static void kinds_say_what_is_shown_and_what_is_an_error(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *r = NULL;
	struct loss_opts opts;

	(void)state;
	loss_opts_init(&opts);
	opts.show = 1U << REACH_REACHABLE;
	opts.errors = 1U << REACH_DEFINITE | 1U << REACH_INDIRECT;
	r = make(mixed, N(mixed), &opts, NULL);
	for (size_t i = 0; i < loss_records_n(r); i++) {
		const struct loss_record *record = loss_records_get(r, i);

		assert_int_equal(record->shown, record->class == REACH_REACHABLE);
		assert_int_equal(record->error, record->class <= REACH_INDIRECT);
		assert_false(record->is_new);
	}
	assert_int_equal(loss_records_totals(r)->shown, 1);
	assert_int_equal(loss_records_totals(r)->errors, 3);
}

static int one_frame(void *ctx, uint32_t stack, const struct suppression_frame **ret,
		     size_t *ret_all)
{
	static const struct suppression_frame known[] = {
		{ .linkage = "zero" },	{ .linkage = "one" },  { .linkage = "two" },
		{ .linkage = "three" }, { .linkage = "zero" }, { .linkage = "five" },
	};

	if (ctx)
		return *(int *)ctx;
	*ret = &known[stack];
	*ret_all = 1;
	return 1;
}

static struct suppressions *suppress(const char *text)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct suppressions *s = NULL;

	assert_int_equal(suppressions_new(&s), 0);
	assert_int_equal(suppressions_add_text(s, "t", text, strlen(text), &error), 0);
	return s;
}

static void suppressed_records_are_summed_apart(void **state)
{
	_cleanup_(suppressions_free_p) struct suppressions *s =
		suppress("{\nz\nMemcheck:Leak\nmatch-leak-kinds: definite\nfun:zero\n}\n"
			 "{\none\nMemcheck:Leak\nfun:three\n}\n");
	_cleanup_(loss_records_free_p) struct loss_records *r = make(mixed, N(mixed), NULL, NULL);
	const struct loss_totals *t = loss_records_totals(r);

	(void)state;
	assert_int_equal(t->errors, 3);
	assert_int_equal(loss_records_suppress(r, s, false, one_frame, NULL), 0);
	assert_int_equal(t->suppressed.blocks, 4);
	assert_int_equal(t->suppressed.bytes, 217); /* direct ones */
	assert_int_equal(t->classes[REACH_DEFINITE].blocks, 0);
	assert_int_equal(t->classes[REACH_INDIRECT].bytes, 50); /* memcheck leaves these, too */
	assert_int_equal(t->classes[REACH_REACHABLE].blocks, 0);
	assert_int_equal(t->errors, 2);
	assert_int_equal(t->suppressed_errors, 1);
	assert_int_equal(suppressions_use(s, 0).blocks, 2);
	assert_int_equal(suppressions_use(s, 0).bytes, 200);
	assert_int_equal(suppressions_use(s, 1).records, 1);
	assert_false(loss_records_get(r, 5)->shown);
	assert_false(loss_records_get(r, 5)->error);
	/* Asked again, nothing is counted twice. */
	assert_int_equal(loss_records_suppress(r, s, false, one_frame, NULL), 0);
	assert_int_equal(suppressions_use(s, 0).blocks, 2);
}

static void what_frames_say_is_handed_on(void **state)
{
	_cleanup_(suppressions_free_p) struct suppressions *s = suppress("");
	_cleanup_(loss_records_free_p) struct loss_records *r = make(mixed, N(mixed), NULL, NULL);
	int error = -EIO;

	(void)state;
	assert_int_equal(loss_records_suppress(r, s, false, one_frame, &error), -EIO);
}

static void later_checks_say_what_has_changed(void **state)
{
	static const struct row first[] = {
		{ 10, 0, REACH_DEFINITE, LOST, 0 },
		{ 20, 1, REACH_DEFINITE, LOST, 0 },
		{ 30, 2, REACH_REACHABLE, LOST, REACH_LENGTH64 },
		{ 40, 3, REACH_DEFINITE, LOST, 0 },
	};
	static const struct row second[] = {
		{ 10, 4, REACH_DEFINITE, LOST, 0 }, /* the same place as 0 */
		{ 20, 1, REACH_DEFINITE, LOST, 0 },
		{ 21, 1, REACH_DEFINITE, LOST, 0 },
		{ 30, 2, REACH_DEFINITE, LOST, 0 },
	};
	static const struct {
		enum loss_delta delta;
		size_t shown;
	} rows[] = { { LOSS_ANY, 3 }, { LOSS_INCREASED, 2 }, { LOSS_CHANGED, 3 } };

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		_cleanup_(loss_records_free_p) struct loss_records *a = NULL, *b = NULL, *c = NULL;
		const struct loss_totals *t;
		struct loss_opts opts;

		loss_opts_init(&opts);
		opts.delta = rows[i].delta;
		a = make(first, N(first), &opts, NULL);
		assert_int_equal(loss_records_totals(a)->shown, 3);
		b = make(second, N(second), &opts, a);
		t = loss_records_totals(b);
		assert_true(loss_records_have_delta(b));
		assert_int_equal(loss_records_n(b), 5);
		assert_int_equal(t->shown, rows[i].shown);
		assert_int_equal(t->classes[REACH_DEFINITE].bytes, 81);
		assert_int_equal(t->classes[REACH_DEFINITE].old_bytes, 70);
		assert_int_equal(t->classes[REACH_REACHABLE].bytes, 0);
		assert_int_equal(t->classes[REACH_REACHABLE].old_blocks, 1);
		assert_int_equal(t->heuristics[REACH_LENGTH64].old_bytes, 30);
		/* gone: reachable at 2, definite at 3; then by size */
		assert_record(b, 0, REACH_REACHABLE, 0, 0, 0);
		assert_record(b, 1, REACH_DEFINITE, 0, 0, 0);
		assert_int_equal(loss_records_get(b, 1)->old_bytes, 40);
		assert_int_equal(loss_records_get(b, 1)->stack, LOSS_NO_STACK);
		assert_record(b, 2, REACH_DEFINITE, 1, 10, 0);
		assert_false(loss_records_get(b, 2)->is_new);
		assert_record(b, 3, REACH_DEFINITE, 1, 30, 0);
		assert_true(loss_records_get(b, 3)->is_new);
		assert_record(b, 4, REACH_DEFINITE, 2, 41, 0);
		assert_int_equal(loss_records_get(b, 4)->old_blocks, 1);
		/* What was gone is not remembered. */
		c = make(second, N(second), &opts, b);
		assert_int_equal(loss_records_n(c), 3);
	}
}

static void what_was_suppressed_and_is_gone_stays_suppressed(void **state)
{
	_cleanup_(suppressions_free_p) struct suppressions *s =
		suppress("{\nz\nMemcheck:Leak\nfun:zero\n}\n");
	static const struct row rows[] = { { 10, 0, REACH_DEFINITE, LOST, 0 } };
	_cleanup_(loss_records_free_p) struct loss_records *a = make(rows, 1, NULL, NULL);
	_cleanup_(loss_records_free_p) struct loss_records *b = NULL;

	(void)state;
	assert_int_equal(loss_records_suppress(a, s, false, one_frame, NULL), 0);
	b = make(NULL, 0, NULL, a);
	assert_int_equal(loss_records_suppress(b, s, false, one_frame, NULL), 0);
	assert_int_equal(loss_records_totals(b)->suppressed.old_bytes, 10);
	assert_int_equal(loss_records_totals(b)->classes[REACH_DEFINITE].old_bytes, 0);
	assert_int_equal(suppressions_use(s, 0).blocks, 1);
}

static void what_does_not_fit_together_is_refused(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *a = make(mixed, N(mixed), NULL, NULL);
	struct loss_records *none = NULL;
	struct loss_opts opts;
	struct check check;

	(void)state;
	loss_opts_init(&opts);
	opts.num_callers = 3;
	assert_int_equal(loss_records_new(input(&check, mixed, N(mixed)), &opts, a, &none),
			 -EINVAL);
	loss_opts_init(&opts);
	(void)input(&check, mixed, N(mixed));
	check.stacks_of[3] = N(stacks);
	assert_int_equal(loss_records_new(&check.input, &opts, NULL, &none), -EINVAL);
	assert_null(none);
}

static void no_blocks_are_no_records(void **state)
{
	_cleanup_(loss_records_free_p) struct loss_records *r = make(NULL, 0, NULL, NULL);

	(void)state;
	assert_int_equal(loss_records_n(r), 0);
	assert_int_equal(loss_records_totals(r)->errors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_one_class_and_place_are_one_record),
		cmocka_unit_test(places_are_told_apart_as_finely_as_asked),
		cmocka_unit_test(what_is_equal_in_size_is_ordered_by_class_then_blocks),
		cmocka_unit_test(kinds_say_what_is_shown_and_what_is_an_error),
		cmocka_unit_test(suppressed_records_are_summed_apart),
		cmocka_unit_test(what_frames_say_is_handed_on),
		cmocka_unit_test(later_checks_say_what_has_changed),
		cmocka_unit_test(what_was_suppressed_and_is_gone_stays_suppressed),
		cmocka_unit_test(what_does_not_fit_together_is_refused),
		cmocka_unit_test(no_blocks_are_no_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
