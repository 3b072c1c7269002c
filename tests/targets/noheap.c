/* SPDX-License-Identifier: GPL-2.0-or-later */
/* noheap: a program without any C library, and so without an allocator, that waits for a line. */
#include "raw_syscall.h"

#include <sys/syscall.h>

void _start(void);

void _start(void)
{
	char c;

	(void)RAW_SYSCALL3(SYS_write, 1, (long)"ready\n", 6);
	(void)RAW_SYSCALL3(SYS_read, 0, (long)&c, 1);
	(void)RAW_SYSCALL3(SYS_exit_group, 7, 0, 0);
	__builtin_unreachable();
}
