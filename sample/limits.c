/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program does to all of itself, of which the book is no part. mlockall(2) would make each
 * page of the book, and count it against RLIMIT_MEMLOCK; RLIMIT_AS would leave the program nothing
 * beside it, so that the book ends there; a filter of system calls (seccomp(2)) may end the program
 * for one of ours.
 */
#include "sample/book_clock.h"
#include "sample/book_forks.h"
#include "sample/exact.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- what is mapped --------------------------------------------------------------------------- */

struct own_map {
	uintptr_t start, end;
	const char *permissions; /* as in "rw-p" */
};
typedef int (*own_map_fn)(const struct own_map *map, bool flag);

/* Not strtoul(3): glibc's headers from 2.38 on name one that other C libraries do not have. */
static uintptr_t read_hex(const char **at)
{
	uintptr_t value = 0;

	for (;; (*at)++) {
		if (**at >= '0' && **at <= '9')
			value = value << 4 | (uintptr_t)(**at - '0');
		else if (**at >= 'a' && **at <= 'f')
			value = value << 4 | (uintptr_t)(**at - 'a' + 10);
		else
			return value;
	}
}

/* "START-END PERMISSIONS ..."; what is above all of a program's is left out. */
static int read_line(const char *line, own_map_fn fn, bool flag)
{
	struct own_map map = { .start = read_hex(&line) };

	if (*line == '-') {
		line++;
		map.end = read_hex(&line);
	}
	map.permissions = *line ? line + 1 : line;
	return map.end > map.start && (intptr_t)map.start > 0 ? fn(&map, flag) : 0;
}

/* By rising addresses. 0; -1: they cannot be read, or fn gave something else than 0. */
static int each_map(int fd, own_map_fn fn, bool flag)
{
	char line[64], bytes[4096];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] != '\n') {
				line[len] = bytes[i];
				len += len < sizeof(line) - 1;
				continue;
			}
			line[len] = '\0';
			len = 0;
			if (read_line(line, fn, flag))
				return -1;
		}
	}
	return n < 0 ? -1 : 0;
}

static int open_maps(void)
{
	return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

/* --- mlockall --------------------------------------------------------------------------------- */

static bool is_of_book(uintptr_t address)
{
	return address - (uintptr_t)book.header < ABI_BOOK_MAPPED || book_forks_have(address);
}

/* Where what can be faulted in later is all that fails, that is no error of mlockall's. */
static int lock_map(const struct own_map *map, bool on_fault)
{
	size_t len = map->end - map->start;

	if (is_of_book(map->start) || (!on_fault && syscall(SYS_mlock, map->start, len) == 0))
		return 0;
	return (int)syscall(SYS_mlock2, map->start, len, MLOCK_ONFAULT);
}

SAMPLE_EXPORT int mlockall(int flags);
SAMPLE_EXPORT int mlockall(int flags)
{
	int fd, r = 0;

	if (!exact_is_on() || !flags || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return (int)syscall(SYS_mlockall, flags);
	(void)book_is_kept(); /* one that is begun later would be locked whole */
	fd = flags & MCL_CURRENT && !book_is_filtered() ? open_maps() : -1;
	if (flags & MCL_CURRENT && fd < 0) {
		book_give_up();
		return (int)syscall(SYS_mlockall, flags);
	}
	if (flags & MCL_FUTURE || fd < 0)
		r = (int)syscall(SYS_mlockall, flags & ~MCL_CURRENT);
	if (r == 0 && fd >= 0)
		r = each_map(fd, lock_map, flags & MCL_ONFAULT);
	if (fd >= 0) {
		int error = errno;

		(void)close(fd); /* it was read */
		errno = error;
	}
	return r;
}

/* --- RLIMIT_AS -------------------------------------------------------------------------------- */

/* Others look at their limits when they begin their books. */
static void limit_space(pid_t pid, unsigned int resource, const struct rlimit *limit)
{
	int error = errno;

	if (resource == RLIMIT_AS && limit && limit->rlim_cur != RLIM_INFINITY &&
	    (pid == 0 || pid == getpid()) && exact_is_on())
		book_give_up();
	errno = error;
}

/* By the names of both widths of its numbers, which are one: the C library declares two types. */
#define SETRLIMIT(name)                                                                            \
	SAMPLE_EXPORT int limit_##name(unsigned int resource,                                      \
				       const struct rlimit *limit) __asm__(#name);                 \
	int limit_##name(unsigned int resource, const struct rlimit *limit)                        \
	{                                                                                          \
		limit_space(0, resource, limit);                                                   \
		return (int)syscall(SYS_prlimit64, 0, resource, limit, NULL);                      \
	}
#define PRLIMIT(name)                                                                              \
	SAMPLE_EXPORT int limit_##name(pid_t pid, unsigned int resource,                           \
				       const struct rlimit *limit,                                 \
				       struct rlimit *ret_old) __asm__(#name);                     \
	int limit_##name(pid_t pid, unsigned int resource, const struct rlimit *limit,             \
			 struct rlimit *ret_old)                                                   \
	{                                                                                          \
		limit_space(pid, resource, limit);                                                 \
		return (int)syscall(SYS_prlimit64, pid, resource, limit, ret_old);                 \
	}

SETRLIMIT(setrlimit)
SETRLIMIT(setrlimit64)
PRLIMIT(prlimit)
PRLIMIT(prlimit64)

/* --- seccomp ---------------------------------------------------------------------------------- */

#ifdef __x86_64__

static int note_map(const struct own_map *map, bool flag)
{
	(void)flag;
	if (strncmp(map->permissions, "rw-p", 4) == 0)
		walk_note_readable(map->start, map->end);
	return 0;
}

/* All that a book that goes on will not be able to ask for. */
static void prepare_book(void)
{
	int fd = open_maps();

	book_threads_fence();
	book_clock_without_calls();
	if (fd < 0)
		return; /* stacks that were not walked before are then cut off */
	(void)each_map(fd, note_map, false); /* what it has read holds */
	(void)close(fd);
}

/* A book that is not begun now could not be later. */
static void expect_filter(void)
{
	int error = errno;

	if (exact_is_on() && !book_is_filtered() && book_is_kept())
		prepare_book();
	(void)__atomic_fetch_add(&book_filters, 1, __ATOMIC_SEQ_CST); /* as many as it was */
	errno = error;
}

static void forget_filter(void)
{
	if (__atomic_sub_fetch(&book_filters, 1, __ATOMIC_SEQ_CST) == 0)
		book_threads_fence_no_more();
}

#define HIDDEN __attribute__((visibility("hidden"), used))

HIDDEN long limit_call(long number, long a, long b, long c, long d, long e, long f);

/* seccomp(2), or prctl(2) with PR_SET_SECCOMP. Libraries try whether the kernel has filters. */
HIDDEN long limit_filtering_call(long number, long a, long b, long c, long d, long e, long f);
HIDDEN long limit_filtering_call(long number, long a, long b, long c, long d, long e, long f)
{
	bool filters = number != SYS_seccomp || (unsigned int)a <= SECCOMP_SET_MODE_FILTER;
	long r;

	if (filters)
		expect_filter();
	r = limit_call(number, a, b, c, d, e, f);
	if (filters && r < 0)
		forget_filter();
	return r;
}

HIDDEN long limit_call_failed(long error);
HIDDEN long limit_call_failed(long error)
{
	errno = (int)-error;
	return -1;
}

/*
 * As the C library's, without a frame: a child that shares the stack (clone(2)) may return first.
 * 157 and 22: SYS_prctl and PR_SET_SECCOMP; 317: SYS_seccomp.
 */
__asm__(".text\n"
	".globl limit_syscall\n"
	".type limit_syscall, @function\n"
	"limit_syscall:\n"
	".cfi_startproc\n"
	"cmp $317, %rdi\n"
	"je limit_filtering_call\n"
	"cmp $157, %rdi\n"
	"jne limit_call\n"
	"cmp $22, %esi\n"
	"je limit_filtering_call\n"
	".globl limit_call\n"
	".hidden limit_call\n"
	"limit_call:\n"
	"mov %rdi, %rax\n"
	"mov %rsi, %rdi\n"
	"mov %rdx, %rsi\n"
	"mov %rcx, %rdx\n"
	"mov %r8, %r10\n"
	"mov %r9, %r8\n"
	"mov 8(%rsp), %r9\n"
	"syscall\n"
	"cmp $-4095, %rax\n"
	"jae 1f\n"
	"ret\n"
	"1: mov %rax, %rdi\n"
	"jmp limit_call_failed\n"
	".cfi_endproc\n"
	".size limit_syscall, .-limit_syscall\n");
static_assert(SYS_prctl == 157 && PR_SET_SECCOMP == 22 && SYS_seccomp == 317, "above");

SAMPLE_EXPORT int limit_prctl(int option, ...);
SAMPLE_EXPORT int limit_prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

#endif
