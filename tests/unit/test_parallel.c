/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/threads.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MOST 1000

struct calls {
	unsigned int of[MOST];
	unsigned int all, unblocked;
	pthread_t caller;
};

static void note(size_t i, void *userdata)
{
	struct calls *calls = userdata;
	sigset_t blocked;

	__atomic_fetch_add(&calls->of[i], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls->all, 1, __ATOMIC_RELAXED);
	if (!pthread_equal(pthread_self(), calls->caller) &&
	    (pthread_sigmask(SIG_SETMASK, NULL, &blocked) || !sigismember(&blocked, SIGTERM)))
		__atomic_fetch_add(&calls->unblocked, 1, __ATOMIC_RELAXED);
}

static void each_piece_is_done_once_when_the_call_returns(void **state)
{
	static const size_t pieces[] = { 0, 1, 2, 7, 8, 9, MOST };

	(void)state;
	for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
		struct calls calls = { .caller = pthread_self() };

		parallel_each(pieces[k], note, &calls);
		assert_int_equal(calls.all, pieces[k]);
		assert_int_equal(calls.unblocked, 0);
		for (size_t i = 0; i < MOST; i++)
			assert_int_equal(calls.of[i], i < pieces[k]);
	}
}

static void signals_are_blocked_in_its_threads_alone(void **state)
{
	struct calls calls = { .caller = pthread_self() };
	sigset_t before, after;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	parallel_each(MOST, note, &calls);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
	assert_int_equal(calls.unblocked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_piece_is_done_once_when_the_call_returns),
		cmocka_unit_test(signals_are_blocked_in_its_threads_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
