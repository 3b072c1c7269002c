/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>

#define LONG_NS UINT64_C(20000000000)

/* --- in the worker --------------------------------------------------------------------------- */

static int new_state(void **ret_state)
{
	*ret_state = calloc(1, sizeof(int));
	return *ret_state ? 0 : -ENOMEM;
}

static int do_what(const char *what, const int *fds, size_t n_fds, struct strbuf *answer)
{
	char text[64];
	ssize_t n;

	if (strcmp(what, "read") == 0) {
		n = n_fds == 1 ? pread(fds[0], text, sizeof(text), 0) : -1;
		if (n > 0)
			strbuf_add(answer, text, (size_t)n);
	} else if (strcmp(what, "open") == 0) {
		strbuf_adds(answer, open("/etc/passwd", O_RDONLY) < 0 ? strerror(errno) : "opened");
	} else if (strcmp(what, "socket") == 0) {
		(void)!socket(AF_UNIX, SOCK_STREAM, 0);
	} else if (strcmp(what, "execute") == 0) {
		(void)!mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else if (strcmp(what, "kill") == 0) {
		(void)kill(getppid(), SIGKILL);
	} else if (strcmp(what, "crash") == 0) {
		__builtin_trap();
	} else if (strcmp(what, "hang") == 0) {
		for (;;)
			__asm__ volatile("");
	} else if (strcmp(what, "flood") == 0) {
		for (int i = 0; i < 2 << 20; i++)
			strbuf_adds(answer, "0123456789abcdef0123456789abcdef0123456789abcdef");
	} else if (strcmp(what, "long") == 0) {
		for (int i = 0; i < LONG_BYTES / 16; i++)
			strbuf_adds(answer, "0123456789abcdef");
	} else if (strcmp(what, "fail") == 0) {
		return -ENOMEM;
	} else {
		strbuf_adds(answer, what);
	}
	return 0;
}

static int serve(void *state, const struct strbuf *request, const int *fds, size_t n_fds,
		 struct strbuf *answer)
{
	if (strcmp(strbuf_str(request), "count") == 0) {
		strbuf_addf(answer, "%d", ++*(int *)state);
		return 0;
	}
	return do_what(strbuf_str(request), fds, n_fds, answer);
}

const struct worker_ops ops = { new_state, free, serve, NULL };

/* --- asking it ------------------------------------------------------------------------------- */

int ask_about(struct worker *worker, const char *what, int fd, struct strbuf *answer)
{
	_cleanup_strbuf_ struct strbuf request = {};

	strbuf_adds(&request, what);
	return worker_call(worker, &request, &fd, fd >= 0 ? 1 : 0, answer);
}

void assert_answer(struct worker *worker, const char *what, const char *expected)
{
	_cleanup_strbuf_ struct strbuf answer = {};

	assert_int_equal(ask_about(worker, what, -1, &answer), 0);
	assert_string_equal(strbuf_str(&answer), expected);
}

int ask(struct worker *worker, const char *what, int fd)
{
	_cleanup_strbuf_ struct strbuf answer = {};

	return ask_about(worker, what, fd, &answer);
}

int worker_fixture_new(void **state)
{
	return worker_new(&ops, LONG_NS, (struct worker **)state);
}

int worker_fixture_free(void **state)
{
	worker_free(*state);
	return 0;
}

int file_of(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}
