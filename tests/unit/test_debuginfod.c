/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers that answer nothing: how long they are waited for, and what is asked afterwards. */
#include "symbol/debuginfod.h"

#include "built_program.h"
#include "skip_because.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_MS 600000
#define SHORT_MS 200
#define LIMIT_S 60 /* of a test: without its bound the client waits for 90 s */

/* A socket of this machine, of which the client is told; it takes connections if it listens. */
static int server(bool listens)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char url[64];

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	if (listens)
		assert_int_equal(listen(fd, 5), 0);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", (int)ntohs(address.sin_port));
	assert_int_equal(setenv("DEBUGINFOD_URLS", url, 1), 0);
	return fd;
}

static int setup(void **state)
{
	*state = built_folder();
	return setenv("DEBUGINFOD_CACHE_PATH", *state, 1);
}

static int teardown(void **state)
{
	built_folder_remove(*state);
	return 0;
}

/* The first one is asked for in vain, for this reason; the second one is not asked for any more. */
static void gives_up(uint64_t file_ms, uint64_t all_ms, bool listens, int error)
{
	_cleanup_(debuginfod_free_p) struct debuginfod *debuginfod = NULL;
	struct debuginfod_counts n;
	/* what was not had once the client does not ask for again, for a while */
	static uint8_t build_id[8];
	int fd = server(listens), r;

	build_id[0]++;

	r = debuginfod_new(file_ms, all_ms, &debuginfod);
	if (r == -ENOPKG)
		skip_because("libdebuginfod is not installed");
	assert_int_equal(r, 0);
	alarm(LIMIT_S);
	assert_int_equal(debuginfod_fetch(debuginfod, build_id, sizeof(build_id)), error);
	assert_int_equal(debuginfod_fetch(debuginfod, build_id, sizeof(build_id)), -ECANCELED);
	alarm(0);
	n = debuginfod_count(debuginfod);
	assert_int_equal(n.failed, 1);
	assert_int_equal(n.not_asked, 1);
	assert_int_equal(n.first_error, error);
	assert_int_equal(n.found + n.missing, 0);
	close(fd);
}

static void a_silent_server_is_waited_for_as_long_as_a_file_may_take(void **state)
{
	(void)state;
	gives_up(SHORT_MS, LONG_MS, true, -ETIMEDOUT);
}

static void it_is_waited_for_as_long_as_all_files_may_take(void **state)
{
	(void)state;
	gives_up(LONG_MS, SHORT_MS, true, -ETIMEDOUT);
}

static void a_server_that_is_not_there_is_asked_once(void **state)
{
	(void)state;
	gives_up(LONG_MS, LONG_MS, false, -ECONNREFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_server_is_waited_for_as_long_as_a_file_may_take),
		cmocka_unit_test(it_is_waited_for_as_long_as_all_files_may_take),
		cmocka_unit_test(a_server_that_is_not_there_is_asked_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
