/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifetimes [fork|stopped]: blocks that live for different times, most of them at once at the peak,
 * without realloc. Tells between what the sums of their lifetimes are, in ns by CLOCK_MONOTONIC,
 * for each function that allocates. With "fork" a child frees what it has inherited 30 ms after
 * its fork. With "stopped" the parent is stopped while the long-lived ones live.
 */
#include "tests/targets/target.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define SHORT_ONES 1000
#define LONG_ONES 10
#define KEPT 3

struct sum {
	int64_t least, most;
};

static int64_t now_ns(void)
{
	struct timespec now;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000 };

	CHECK(!nanosleep(&time, NULL));
}

/* Each block is born between the two times around malloc, and ends before free has returned. */
static __attribute__((noinline)) void *birth(size_t size, struct sum *sum)
{
	int64_t before = now_ns();
	void *block = malloc(size);

	CHECK(block);
	sum->most -= before;
	sum->least -= now_ns();
	return block;
}

static __attribute__((noinline)) void death(void *block, struct sum *sum)
{
	sum->least += now_ns();
	free(block);
	sum->most += now_ns();
}

static __attribute__((noinline)) struct sum short_lived(void)
{
	struct sum sum = { 0 };

	for (int i = 0; i < SHORT_ONES; i++)
		death(birth(24, &sum), &sum);
	return sum;
}

static __attribute__((noinline)) struct sum long_lived(void)
{
	void *blocks[LONG_ONES];
	struct sum sum = { 0 };

	for (int i = 0; i < LONG_ONES; i++)
		blocks[i] = birth(1000, &sum);
	pause_ms(40);
	for (int i = 0; i < LONG_ONES; i++)
		death(blocks[i], &sum);
	return sum;
}

static void *kept[KEPT];

static __attribute__((noinline)) void keep(void)
{
	struct sum sum = { 0 };

	for (int i = 0; i < KEPT; i++)
		kept[i] = birth(100, &sum);
}

static void tell_sum(const char *name, struct sum sum)
{
	tell("%s %lld %lld\n", name, (long long)sum.least, (long long)sum.most);
}

/* Since the fork. */
static void child(int64_t before)
{
	struct sum sum = { -KEPT * now_ns(), -KEPT * before };

	pause_ms(30);
	for (int i = 0; i < KEPT; i++)
		death(kept[i], &sum);
	tell_sum("keep", sum);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sum sum;
	int status;

	tell_sum("short_lived", short_lived());
	keep();
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		int64_t before = now_ns();
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			child(before);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	if (argc > 1 && !strcmp(argv[1], "stopped"))
		CHECK(!kill(getppid(), SIGSTOP));
	sum = long_lived();
	if (argc > 1 && !strcmp(argv[1], "stopped"))
		CHECK(!kill(getppid(), SIGCONT));
	tell_sum("long_lived", sum);
	return 0;
}
