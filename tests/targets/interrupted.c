/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocking calls in a storm of signals, counted where they return to the program: whether the
 * kernel began one anew is not seen here. Tells "call NAME CALLS ERRORS BYTES", "errno ..." as
 * syscalls.c does, and "handled N".
 *
 *   read N, poll N, sleep N, futex N     N returns, with a handler that asks for EINTR
 *   restart-read N, restart-...          the same with SA_RESTART
 *   nested N                             the handler itself makes a call that is interrupted
 *   jump N                               the handler leaves by siglongjmp: the calls never return
 *   stopped                              a sleep during which the process is stopped and continued
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

struct counts {
	uint64_t calls, bytes, eintr, etimedout;
};

static int pipe_fds[2], silent_fds[2], socket_fds[2];
static volatile sig_atomic_t handled, inner_calls, nested;
static sigjmp_buf jump;

static void on_alarm(int sig)
{
	(void)sig;
	handled++;
}

/* Receives a byte, which further signals make the kernel begin anew, within the read that waits. */
static void on_nested(int sig)
{
	int error = errno;
	char c;

	(void)sig;
	handled++;
	if (nested)
		return;
	nested = 1;
	inner_calls++;
	CHECK(recv(socket_fds[0], &c, 1, 0) == 1);
	nested = 0;
	errno = error;
}

static void on_jump(int sig)
{
	(void)sig;
	handled++;
	siglongjmp(jump, 1);
}

static void *feed(void *argument)
{
	(void)argument;
	for (;;) {
		struct timespec pause = { 0, 700000 };

		/* Where nobody receives, the socket fills. */
		(void)!send(socket_fds[1], "x", 1, MSG_DONTWAIT);
		if (write(pipe_fds[1], "x", 1) != 1)
			return NULL;
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	CHECK(sigaction(sig, &action, NULL) == 0);
}

static void begin_storm(int which, long us)
{
	struct itimerval timer = { { 0, us }, { 0, us } };

	CHECK(setitimer(which, &timer, NULL) == 0);
}

/* The thread that feeds the pipe takes no signals. */
static void begin_feeding(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
	CHECK(pthread_create(&thread, NULL, feed, NULL) == 0);
	CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
}

static void made(struct counts *counts, long result, bool bytes)
{
	counts->calls++;
	if (result >= 0 && bytes)
		counts->bytes += (uint64_t)result;
	if (result < 0 && errno == EINTR)
		counts->eintr++;
	else if (result < 0 && errno == ETIMEDOUT)
		counts->etimedout++;
	else
		CHECK(result >= 0);
}

/* Times that are sometimes over before a signal comes. */
static void make_one(const char *what, uint64_t i, struct counts *counts)
{
	static uint32_t word;
	struct timespec time = { 0, (long)(i % 5) * 150000 };
	char c;
	struct iovec iov = { &c, 1 };

	if (strcmp(what, "readv") == 0)
		made(counts, readv(pipe_fds[0], &iov, 1), true);
#ifdef SYS_poll /* not on arm64 */
	else if (strcmp(what, "poll") == 0)
		made(counts,
		     syscall(SYS_poll, &(struct pollfd){ silent_fds[0], POLLIN, 0 }, 1,
			     (int)(i % 2)),
		     false);
#endif
	else if (strcmp(what, "nanosleep") == 0)
		made(counts, syscall(SYS_nanosleep, &time, NULL), false);
	else if (strcmp(what, "futex") == 0)
		made(counts, syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0), false);
	else
		CHECK(!"a call");
}

static void tell_counts(const char *name, const struct counts *counts)
{
	tell("call %s %lu %lu %lu\n", name, counts->calls, counts->eintr + counts->etimedout,
	     counts->bytes);
	if (counts->eintr)
		tell("errno %s %d %lu\n", name, EINTR, counts->eintr);
	if (counts->etimedout)
		tell("errno %s %d %lu\n", name, ETIMEDOUT, counts->etimedout);
	tell("handled %d\n", (int)handled);
}

static void storm(const char *name, uint64_t n, void (*handler)(int), int flags)
{
	struct counts counts = { 0 };

	handle(SIGALRM, handler, flags);
	if (strcmp(name, "readv") == 0)
		begin_feeding();
	begin_storm(ITIMER_REAL, 300);
	for (uint64_t i = 0; i < n; i++)
		make_one(name, i, &counts);
	begin_storm(ITIMER_REAL, 0);
	tell_counts(name, &counts);
	if (inner_calls)
		tell("call recvfrom %d 0 %d\n", (int)inner_calls, (int)inner_calls);
}

/* Each read is begun, and left by the handler: it counts, but never returns. */
static void leave_by_jump(uint64_t n)
{
	static volatile uint64_t begun, done;
	struct iovec iov;
	char c;

	handle(SIGALRM, on_jump, SA_RESTART);
	for (done = 0; done < n; done++) {
		struct itimerval once = { { 0, 0 }, { 0, 500 } };

		if (sigsetjmp(jump, 1) == 0) {
			CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
			iov = (struct iovec){ &c, 1 };
			begun++;
			readv(silent_fds[0], &iov, 1);
			CHECK(!"readv returned");
		}
	}
	tell("call readv %lu 0 0\n", (unsigned long)begun);
	tell("handled %d\n", (int)handled);
}

/* Until a process is stopped ('T'), or sleeps ('S'): another signal would come too early. */
static void wait_for_state(pid_t pid, char state)
{
	struct timespec moment = { 0, 1000000 };
	char path[32], text[256];
	const char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	do {
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
		fd = open(path, O_RDONLY);
		CHECK(fd >= 0);
		n = read(fd, text, sizeof(text) - 1);
		CHECK(n > 0);
		close(fd);
		text[n] = '\0';
		end = strrchr(text, ')');
		CHECK(end);
	} while (end[2] != state);
}

static void stop_and_continue(void)
{
	pid_t parent = getpid(), pid;
	struct counts counts = { 0 };
	struct timespec time = { 3, 0 };

	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct timespec moment = { 0, 100000000 };

		for (int i = 0; i < 3; i++) {
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
			wait_for_state(parent, 'S');
			CHECK(kill(parent, SIGSTOP) == 0);
			wait_for_state(parent, 'T');
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
			CHECK(kill(parent, SIGCONT) == 0);
		}
		_exit(0);
	}
	made(&counts, syscall(SYS_nanosleep, &time, NULL), false);
	CHECK(waitpid(pid, NULL, 0) == pid);
	tell_counts("nanosleep", &counts);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "readv";
	uint64_t n = argument(argc, argv, 2, 100);
	int flags = 0;

	CHECK(pipe(pipe_fds) == 0 && pipe(silent_fds) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fds) == 0);
	if (strncmp(mode, "restart-", 8) == 0) {
		flags = SA_RESTART;
		mode += 8;
	}
	if (strcmp(mode, "jump") == 0) {
		leave_by_jump(n);
	} else if (strcmp(mode, "stopped") == 0) {
		stop_and_continue();
	} else if (strcmp(mode, "nested") == 0) {
		storm("readv", n, on_nested, SA_RESTART | SA_NODEFER);
	} else {
		storm(mode, n, on_alarm, flags);
	}
	fflush(NULL);
	_exit(0); /* the feeding thread need not end */
}
