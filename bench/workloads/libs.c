/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with many libraries that sees itself being traced: libs OUT FIRST.so... loads them,
 * then compares the code of the C library's allocator with what it was, some thousand times a
 * second. OUT is four int64 in CLOCK_MONOTONIC ns: when it was ready, when a breakpoint first came,
 * when one came or went last, when all had gone again (0: not yet). SIGTERM ends it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Sites inside a function, as where an instruction is emulated, lie near its start. */
#define WATCHED_BYTES 128
#define POLL_NS 200000

struct times {
	volatile int64_t ready, first, last, gone;
};

struct code {
	const char *name;
	const unsigned char *now;
	unsigned char before[WATCHED_BYTES], seen[WATCHED_BYTES];
};

static struct code watched[] = {
	{ .name = "malloc" },  { .name = "free" },	     { .name = "calloc" },
	{ .name = "realloc" }, { .name = "posix_memalign" }, { .name = "aligned_alloc" },
};
#define WATCHED (sizeof(watched) / sizeof(watched[0]))

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static bool begin_watch(void)
{
	for (size_t i = 0; i < WATCHED; i++) {
		watched[i].now = dlsym(RTLD_DEFAULT, watched[i].name);
		if (!watched[i].now)
			return false;
		memcpy(watched[i].before, watched[i].now, WATCHED_BYTES);
		memcpy(watched[i].seen, watched[i].now, WATCHED_BYTES);
	}
	return true;
}

static void look(struct times *times)
{
	bool changed = false, as_before = true;

	for (size_t i = 0; i < WATCHED; i++) {
		struct code *code = &watched[i];

		if (memcmp(code->seen, code->now, WATCHED_BYTES) != 0) {
			memcpy(code->seen, code->now, WATCHED_BYTES);
			changed = true;
		}
		as_before &= memcmp(code->seen, code->before, WATCHED_BYTES) == 0;
	}
	if (!changed)
		return;
	times->last = now_ns();
	if (!times->first)
		times->first = times->last;
	times->gone = as_before ? times->last : 0;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	struct times *times;
	int out = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

	if (out < 0 || ftruncate(out, sizeof(*times)) < 0)
		return 2;
	times = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
	if (times == MAP_FAILED)
		return 2;
	for (int i = 2; i < argc; i++) {
		if (!dlopen(argv[i], RTLD_NOW)) {
			(void)fprintf(stderr, "libs: %s\n", dlerror());
			return 2;
		}
	}
	if (!begin_watch())
		return 2;
	times->ready = now_ns();
	for (;;) {
		look(times);
		(void)nanosleep(&pause, NULL); /* an early return only looks sooner */
	}
}
