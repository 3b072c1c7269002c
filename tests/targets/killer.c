/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded to memtraced: its trial of a return probe under a seccomp filter ends as on the
 * kernels that kill the filtered process, from 6.11 until seccomp let the system call pass.
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list args;
	int i;

	if (option == PR_SET_SECCOMP)
		raise(SIGSYS);
	va_start(args, option);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	return (int)syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}
