/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/configure.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define STEPS 4

/* What was called, in its order: "p0 p1 c0 c1" or "p0 p1 d0". */
static struct strbuf calls;
static int failing; /* the step whose prepare fails; STEPS: none */

static int prepare(int step, struct strbuf *error)
{
	strbuf_addf(&calls, "p%d ", step);
	if (step != failing)
		return 0;
	strbuf_addf(error, "step %d: it fails", step);
	return -EADDRINUSE;
}

#define STEP(n)                                                                                    \
	static int prepare_##n(struct service *service, struct reload *reload,                     \
			       struct strbuf *error)                                               \
	{                                                                                          \
		(void)service;                                                                     \
		(void)reload;                                                                      \
		return prepare(n, error);                                                          \
	}                                                                                          \
	static void commit_##n(struct service *service, struct reload *reload)                     \
	{                                                                                          \
		(void)service;                                                                     \
		(void)reload;                                                                      \
		strbuf_addf(&calls, "c%d ", n);                                                    \
	}                                                                                          \
	static void discard_##n(struct reload *reload)                                             \
	{                                                                                          \
		(void)reload;                                                                      \
		strbuf_addf(&calls, "d%d ", n);                                                    \
	}

STEP(0)
STEP(1)
STEP(2)
STEP(3)

static const struct reload_step steps[STEPS] = {
	{ prepare_0, commit_0, discard_0 },
	{ prepare_1, commit_1, discard_1 },
	{ prepare_2, commit_2, discard_2 },
	{ prepare_3, commit_3, discard_3 },
};

static void a_step_that_fails_discards_those_before_it_and_commits_none(void **state)
{
	static const struct {
		int failing, result;
		const char *calls, *error;
	} cases[] = {
		{ 0, -EADDRINUSE, "p0 ", "step 0: it fails" },
		{ 1, -EADDRINUSE, "p0 p1 d0 ", "step 1: it fails" },
		{ 2, -EADDRINUSE, "p0 p1 p2 d1 d0 ", "step 2: it fails" },
		{ 3, -EADDRINUSE, "p0 p1 p2 p3 d2 d1 d0 ", "step 3: it fails" },
		{ STEPS, 0, "p0 p1 p2 p3 c0 c1 c2 c3 ", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf error = {};
		struct reload reload = {};

		strbuf_reset(&calls);
		failing = cases[i].failing;
		assert_int_equal(reload_run(steps, STEPS, NULL, &reload, &error), cases[i].result);
		assert_string_equal(strbuf_str(&calls), cases[i].calls);
		assert_string_equal(strbuf_str(&error), cases[i].error);
	}
	strbuf_done(&calls);
}

static void a_step_may_have_nothing_to_do(void **state)
{
	static const struct reload_step sparse[] = { { NULL, commit_0, NULL },
						     { prepare_1, NULL, discard_1 },
						     { prepare_2, NULL, NULL } };
	_cleanup_strbuf_ struct strbuf error = {};
	struct reload reload = {};

	(void)state;
	failing = STEPS;
	assert_int_equal(reload_run(sparse, 3, NULL, &reload, &error), 0);
	failing = 2;
	assert_int_equal(reload_run(sparse, 3, NULL, &reload, &error), -EADDRINUSE);
	assert_string_equal(strbuf_str(&calls), "p1 p2 c0 p1 p2 d1 ");
	strbuf_done(&calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_that_fails_discards_those_before_it_and_commits_none),
		cmocka_unit_test(a_step_may_have_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
