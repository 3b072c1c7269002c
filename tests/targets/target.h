/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the targets share: arguments, a random sequence that is the same every time, checks. */
#ifndef TESTS_TARGETS_TARGET_H
#define TESTS_TARGETS_TARGET_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A target that did not do what its test believes it did must not pass for one that did. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(2, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);       \
			_exit(98);                                                                 \
		}                                                                                  \
	} while (0)

static inline uint64_t argument(int argc, char **argv, int n, uint64_t otherwise)
{
	return argc > n ? strtoull(argv[n], NULL, 10) : otherwise;
}

/* xorshift64*, seeded by a number that need not be random. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 0x9e3779b97f4a7c15ULL;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* A number that the compiler does not know, so that it neither warns of a call nor drops it. */
static inline size_t opaque(size_t n)
{
	__asm__("" : "+r"(n));
	return n;
}

/* Larger than any object may be: every allocator refuses it. */
#define IMPOSSIBLE opaque((size_t)PTRDIFF_MAX + 1)

/* Tells the test over stdout. Not dprintf: that allocates. */
static inline __attribute__((format(printf, 1, 2))) void tell(const char *format, ...)
{
	char line[200];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	CHECK(len > 0 && len < (int)sizeof(line));
	CHECK(write(1, line, (size_t)len) == len);
}

/* Waits until the test writes a line (or closes the pipe). */
static inline void wait_for_line(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		continue;
}

#endif
