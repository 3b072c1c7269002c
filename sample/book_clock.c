// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_clock.h"

#include "sample/next.h"

int (*book_clock_read)(clockid_t clock, struct timespec *ret_time) = clock_gettime;

void book_clock_find(void)
{
	void *vdso = next_loaded("linux-vdso.so.1");
	void *function = vdso ? next_look_up(vdso, "__vdso_clock_gettime") : NULL;

	if (function)
		book_clock_read = (int (*)(clockid_t, struct timespec *))function;
}
