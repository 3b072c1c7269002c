/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths N [held]: makes system calls from known paths of its own functions, with frame pointers,
 * and prints a line "path EVENT COUNT INNERMOST ... OUTERMOST" for each. "raw" ones are made by an
 * instruction of its own, the others by the C library. Then it prints "deep FRAMES COUNT" for a
 * recursion. With "held" it prints "ready PID" and waits for a line, by readv, before and after.
 */
#include "tests/targets/raw_syscall.h"
#include "tests/targets/target.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define APART __attribute__((noinline, noclone))
/* Behind a call, so that it is none in the last place, which would be a jump. */
#define STAY __asm__ volatile("")

static APART long raw(long nr, long a, long b, long c)
{
	return RAW_SYSCALL3(nr, a, b, c);
}

static char noise[16];

static APART void leaf_raw(void)
{
	CHECK(raw(SYS_getrandom, (long)noise, 8, 0) == 8);
	STAY;
}

static APART void leaf_library(void)
{
	/* From glibc 2.41 and Linux 6.11 on getrandom() makes hardly any system call. */
	CHECK(syscall(SYS_getrandom, noise, 8, 0) == 8);
	STAY;
}

static APART void leaf_priority(void)
{
	errno = 0;
	CHECK(getpriority(PRIO_PROCESS, 0) == 0 || errno == 0);
	STAY;
}

static APART void alpha(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		leaf_raw();
		if (i % 2 == 0)
			leaf_priority();
	}
	STAY;
}

static APART void beta(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		leaf_raw();
	alpha(n / 4);
	STAY;
}

static APART void gamma_(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		leaf_library();
	STAY;
}

static APART void deep(uint64_t depth)
{
	if (depth == 0)
		CHECK(raw(SYS_getpgid, 0, 0, 0) > 0);
	else
		deep(depth - 1);
	STAY;
}

static void *beta_in_thread(void *data)
{
	beta(*(uint64_t *)data);
	return NULL;
}

static void path(const char *event, uint64_t n, const char *frames)
{
	tell("path %s %llu %s\n", event, (unsigned long long)n, frames);
}

#define LEVELS 600

static void run(uint64_t n)
{
	pthread_t thread;
	uint64_t i;

	alpha(n);
	path("getrandom", n, "raw leaf_raw alpha run main");
	path("getpriority", (n + 1) / 2, "leaf_priority alpha run main");
	beta(2 * n);
	path("getrandom", 2 * n, "raw leaf_raw beta run main");
	path("getrandom", n / 2, "raw leaf_raw alpha beta run main");
	path("getpriority", (n / 2 + 1) / 2, "leaf_priority alpha beta run main");
	gamma_(3 * n);
	path("getrandom", 3 * n, "leaf_library gamma_ run main");
	CHECK(!pthread_create(&thread, NULL, beta_in_thread, &n));
	CHECK(!pthread_join(thread, NULL));
	path("getrandom", n, "raw leaf_raw beta beta_in_thread");
	path("getrandom", n / 4, "raw leaf_raw alpha beta beta_in_thread");
	path("getpriority", (n / 4 + 1) / 2, "leaf_priority alpha beta beta_in_thread");
	for (i = 0; i < n; i++)
		deep(LEVELS);
	tell("deep %d %llu\n", LEVELS, (unsigned long long)n);
	STAY;
}

/* Children that end: what they did is theirs, in the report of the whole. */
static APART void child(uint64_t n)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		alpha(n);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	tell("child %d %llu\n", pid, (unsigned long long)n);
	STAY;
}

static void wait_held(void)
{
	struct iovec line = { .iov_base = (char[8]){ 0 }, .iov_len = 8 };

	tell("ready %d\n", getpid());
	CHECK(readv(0, &line, 1) >= 0);
}

int main(int argc, char **argv)
{
	bool held = argc > 2 && strcmp(argv[2], "held") == 0;
	uint64_t n = argument(argc, argv, 1, 100), i;

	/* glibc's first malloc calls getrandom, from where no frame pointer leads out */
	free(malloc(1));
	if (held)
		wait_held();
	run(n);
	for (i = 0; i < 5; i++)
		child(n + i);
	if (held)
		wait_held();
	return 0;
}
