/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/grace.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool grace_is_offered(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL;
}

int grace_wait(void)
{
	/* synchronize_rcu() and nothing else (kernel/sched/membarrier.c) */
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
}
