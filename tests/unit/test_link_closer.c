/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/link_closer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 100

static void open_pipes(int *read_ends, int *write_ends, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int fds[2];

		assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
		read_ends[i] = fds[0];
		write_ends[i] = fds[1];
	}
}

/* A pipe reads its end when the other side is closed, which no other descriptor can pretend. */
static void assert_closed(int *read_ends, size_t n)
{
	char c;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(read(read_ends[i], &c, 1), 0);
		close(read_ends[i]);
	}
}

static void all_are_closed_when_it_returns(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 16, 17, MANY };
	int read_ends[MANY], write_ends[MANY];

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		open_pipes(read_ends, write_ends, counts[i]);
		links_close(write_ends, counts[i]);
		assert_closed(read_ends, counts[i]);
	}
}

static void all_are_closed_when_the_closer_is_freed(void **state)
{
	int read_ends[MANY], write_ends[MANY];
	struct link_closer *closer = NULL;

	(void)state;
	open_pipes(read_ends, write_ends, MANY);
	assert_int_equal(link_closer_new(write_ends, MANY, &closer), 0);
	/* the list was copied */
	for (size_t i = 0; i < MANY; i++)
		write_ends[i] = -1;
	link_closer_free(closer);
	assert_closed(read_ends, MANY);
	link_closer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_closed_when_it_returns),
		cmocka_unit_test(all_are_closed_when_the_closer_is_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
