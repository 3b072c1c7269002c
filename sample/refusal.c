/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/refusal.h"

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Weak: there where a sanitizer is, linked statically or not. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* NULL: none. */
static const char *reason(void)
{
	if (getauxval(AT_SECURE))
		return "it runs with more privileges than its caller";
	if (__asan_init || __hwasan_init)
		return "AddressSanitizer is its allocator";
	if (__lsan_init)
		return "LeakSanitizer is its allocator";
	if (__msan_init)
		return "MemorySanitizer is its allocator";
	if (__tsan_init)
		return "ThreadSanitizer is its allocator";
	return NULL;
}

bool sample_refused(void)
{
	return reason() != NULL;
}

void sample_say_refusal(void)
{
	static const char begin[] = "memtraced: this program is not sampled: ";
	const char *why = reason();
	char line[sizeof(begin) + 64];
	size_t len;

	if (!why)
		return;
	len = strlen(why);
	memcpy(line, begin, sizeof(begin) - 1);
	memcpy(line + sizeof(begin) - 1, why, len);
	line[sizeof(begin) - 1 + len] = '\n';
	/* Nobody may be there to read it. */
	if (write(STDERR_FILENO, line, sizeof(begin) + len) < 0)
		return;
}
