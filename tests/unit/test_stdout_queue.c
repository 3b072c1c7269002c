/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/stdout_queue.h"
#include "skip_because.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* More than a pipe and a socket hold. */
#define LEN (4u << 20)

/* Standard output is one end, which a queue writes to; the test's own is put aside. */
struct run {
	struct loop *loop;
	struct stdout_queue *queue;
	int own_stdout, reader;
	int error; /* of a write by the loop */
};

static int on_error(int error, void *userdata)
{
	struct run *run = userdata;

	run->error = error;
	return error;
}

static void begin(struct run *run, int reader, int writer)
{
	*run = (struct run){ .reader = reader };
	fflush(stdout);
	run->own_stdout = dup(STDOUT_FILENO);
	assert_true(run->own_stdout >= 0);
	assert_int_equal(dup2(writer, STDOUT_FILENO), STDOUT_FILENO);
	close(writer);
	assert_int_equal(loop_new(&run->loop), 0);
	assert_int_equal(stdout_queue_new(run->loop, on_error, run, &run->queue), 0);
}

static void end(struct run *run)
{
	stdout_queue_free(run->queue);
	loop_free(run->loop);
	dup2(run->own_stdout, STDOUT_FILENO);
	close(run->own_stdout);
	if (run->reader >= 0)
		close(run->reader);
}

static void begin_kind(struct run *run, bool is_socket)
{
	int ends[2];

	if (is_socket)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	else
		assert_int_equal(pipe(ends), 0);
	begin(run, ends[0], ends[1]);
}

/* Of which no two parts are alike. */
static char *make_text(void)
{
	char *text = malloc(LEN);

	assert_non_null(text);
	for (size_t i = 0; i < LEN / sizeof(uint32_t); i++)
		memcpy(text + i * sizeof(uint32_t), &(uint32_t){ (uint32_t)i }, sizeof(uint32_t));
	return text;
}

static size_t read_some(int fd, char *to, size_t most)
{
	ssize_t n = read(fd, to, most);

	assert_true(n > 0);
	return (size_t)n;
}

static void what_a_reader_does_not_take_is_written_by_the_loop(void **state)
{
	char *text = make_text(), *got = malloc(LEN);

	(void)state;
	for (int is_socket = 0; is_socket < 2; is_socket++) {
		struct run run;
		size_t n = 0;

		begin_kind(&run, is_socket);
		assert_int_equal(stdout_queue_add(run.queue, text, LEN / 2), 0);
		assert_int_equal(stdout_queue_add(run.queue, text + LEN / 2, LEN / 2), 0);
		assert_true(stdout_queue_waiting(run.queue) > 0);
		assert_int_equal(fcntl(STDOUT_FILENO, F_GETFL) & O_NONBLOCK, 0);
		/* Nobody reads: nothing is to be done. */
		assert_int_equal(loop_run_once(run.loop, 0), 0);
		assert_true(stdout_queue_waiting(run.queue) > 0);
		while (n < LEN) {
			n += read_some(run.reader, got + n, LEN - n);
			assert_int_equal(loop_run_once(run.loop, 0), 0);
		}
		assert_memory_equal(got, text, LEN);
		assert_int_equal(stdout_queue_waiting(run.queue), 0);
		end(&run);
	}
	free(text);
	free(got);
}

/* Much passes, of which little waits at a time. */
static void a_reader_that_is_always_late_gets_all_of_it(void **state)
{
	char *text = make_text(), *got = malloc(LEN);
	const size_t piece = LEN / 64;
	size_t n = 0, most = 0;
	struct run run;

	(void)state;
	begin_kind(&run, false);
	for (size_t i = 0; i < 64; i++) {
		assert_int_equal(stdout_queue_add(run.queue, text + i * piece, piece), 0);
		/* Two pieces stay. */
		while (i >= 2 && n < (i - 1) * piece) {
			n += read_some(run.reader, got + n, (i - 1) * piece - n);
			assert_int_equal(loop_run_once(run.loop, 0), 0);
		}
		if (stdout_queue_waiting(run.queue) > most)
			most = stdout_queue_waiting(run.queue);
	}
	assert_true(most < 4 * piece);
	while (n < LEN) {
		n += read_some(run.reader, got + n, LEN - n);
		assert_int_equal(loop_run_once(run.loop, 0), 0);
	}
	assert_memory_equal(got, text, LEN);
	assert_int_equal(stdout_queue_waiting(run.queue), 0);
	end(&run);
	free(text);
	free(got);
}

static void a_reader_that_has_gone_is_told(void **state)
{
	char *text = make_text();

	(void)state;
	for (int is_socket = 0; is_socket < 2; is_socket++) {
		struct run run;

		begin_kind(&run, is_socket);
		assert_int_equal(stdout_queue_add(run.queue, text, LEN), 0);
		close(run.reader);
		run.reader = -1;
		assert_int_equal(loop_run_once(run.loop, 1000), -EPIPE);
		assert_int_equal(run.error, -EPIPE);
		assert_int_equal(stdout_queue_waiting(run.queue), 0);
		assert_int_equal(stdout_queue_add(run.queue, "x", 1), -EPIPE);
		assert_int_equal(stdout_queue_error(run.queue), -EPIPE);
		assert_int_equal(stdout_queue_flush(run.queue), -EPIPE);
		end(&run);
	}
	free(text);
}

struct slow_reader {
	int fd;
	char *got;
};

static void *read_all(void *userdata)
{
	struct slow_reader *reader = userdata;

	usleep(20000);
	for (size_t n = 0; n < LEN;) {
		ssize_t got = read(reader->fd, reader->got + n, LEN - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return NULL;
}

static void a_flush_waits_for_the_reader(void **state)
{
	char *text = make_text();

	(void)state;
	for (int is_socket = 0; is_socket < 2; is_socket++) {
		struct slow_reader reader = { .got = calloc(1, LEN) };
		pthread_t thread;
		struct run run;

		begin_kind(&run, is_socket);
		reader.fd = run.reader;
		assert_int_equal(stdout_queue_add(run.queue, text, LEN), 0);
		assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
		assert_int_equal(stdout_queue_flush(run.queue), 0);
		assert_int_equal(stdout_queue_waiting(run.queue), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_memory_equal(reader.got, text, LEN);
		/* The loop has nothing of it left. */
		assert_int_equal(loop_run_once(run.loop, 0), 0);
		end(&run);
		free(reader.got);
	}
	free(text);
}

static void files_take_all_at_once(void **state)
{
	char *text = make_text(), path[] = "/tmp/test-stdout-queue-XXXXXX";
	int fd = mkstemp(path);
	struct run run;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	begin(&run, dup(fd), fd);
	assert_int_equal(stdout_queue_add(run.queue, text, LEN), 0);
	assert_int_equal(stdout_queue_waiting(run.queue), 0);
	assert_int_equal(lseek(run.reader, 0, SEEK_END), LEN);
	end(&run);
	free(text);
}

static void a_full_device_is_an_error(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct run run;

	(void)state;
	if (fd < 0)
		skip_because("there is no /dev/full");
	begin(&run, -1, fd);
	assert_int_equal(stdout_queue_add(run.queue, "x", 1), -ENOSPC);
	assert_int_equal(stdout_queue_error(run.queue), -ENOSPC);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_reader_does_not_take_is_written_by_the_loop),
		cmocka_unit_test(a_reader_that_is_always_late_gets_all_of_it),
		cmocka_unit_test(a_reader_that_has_gone_is_told),
		cmocka_unit_test(a_flush_waits_for_the_reader),
		cmocka_unit_test(files_take_all_at_once),
		cmocka_unit_test(a_full_device_is_an_error),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
