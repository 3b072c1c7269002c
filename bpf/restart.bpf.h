/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that a signal interrupts return ERESTART* inside the kernel: no result that the
 * program sees. The kernel begins them anew, goes on with them in restart_syscall, or turns them
 * into EINTR (arch/x86/kernel/signal.c: handle_signal).
 */
#ifndef MEMTRACED_RESTART_BPF_H
#define MEMTRACED_RESTART_BPF_H

#include "abi.h"

#include <bpf/bpf_helpers.h>

/* include/linux/errno.h */
enum {
	EINTR = 4,
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
	MAX_ERRNO = 4095,
};

#define SA_RESTART 0x10000000

static __always_inline bool is_restart(__s64 result)
{
	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
	       result == -ERESTART_RESTARTBLOCK;
}

/* Does delivering a signal with this action end the call that returned `result`, with EINTR? */
static __always_inline bool ends_with_eintr(__s64 result, __u64 sa_handler, __u64 sa_flags)
{
	if (sa_handler <= 1)
		return false; /* SIG_DFL, SIG_IGN: another signal, or the end, decides */
	if (result == -ERESTARTNOHAND || result == -ERESTART_RESTARTBLOCK)
		return true;
	return result == -ERESTARTSYS && !(sa_flags & SA_RESTART);
}

#endif
