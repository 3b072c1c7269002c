// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_clock.h"

#include "sample/next.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int (*book_clock_read)(clockid_t clock, struct timespec *ret_time) = clock_gettime;

void book_clock_find(void)
{
	void *vdso = next_loaded("linux-vdso.so.1");
	void *function = vdso ? next_look_up(vdso, "__vdso_clock_gettime") : NULL;

	if (function)
		book_clock_read = (int (*)(clockid_t, struct timespec *))function;
}

/* With these the vDSO tells the time by itself (arch/x86: VDSO_CLOCKMODE_NONE is of others). */
static bool is_told_by_vdso(void)
{
	static const char *const names[] = { "tsc\n", "kvm-clock\n",
					     "hyperv_clocksource_tsc_page\n" };
	char name[64] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	(void)close(fd); /* it was read */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int (*read_any)(clockid_t clock, struct timespec *ret_time);

/* The coarse one takes no system call on any machine. */
static int read_coarse(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	return read_any(CLOCK_MONOTONIC_COARSE, ret_time);
}

void book_clock_without_calls(void)
{
	if (book_clock_read == read_coarse || is_told_by_vdso())
		return;
	read_any = book_clock_read;
	__atomic_store_n(&book_clock_read, read_coarse, __ATOMIC_RELEASE);
}
