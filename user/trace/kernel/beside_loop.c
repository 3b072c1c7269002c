/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/beside_loop.h"

#include "base/strbuf.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define STAT_MAX 4096
/* Of proc(5)'s stat: the CPU that the first thread was on last. */
#define CPU_FIELD 39

static bool loop_has_deadline(void)
{
	const pid_t first = getpid();

	return gettid() != first &&
	       (sched_getscheduler(first) & ~SCHED_RESET_ON_FORK) == SCHED_DEADLINE;
}

/* -1: unknown. A thread with a deadline stays on its CPU as long as no other one has a deadline. */
static int loop_cpu(void)
{
	_cleanup_strbuf_ struct strbuf stat = {};
	const char *at;

	if (proc_file_read(getpid(), "stat", STAT_MAX, &stat) < 0)
		return -1;
	at = process_stat_field(strbuf_str(&stat), CPU_FIELD);
	return at ? atoi(at) : -1;
}

struct beside_loop beside_loop_begin(void)
{
	struct beside_loop beside = {};
	cpu_set_t others;
	int cpu;

	if (!loop_has_deadline() || sched_getaffinity(0, sizeof(beside.before), &beside.before))
		return beside;
	cpu = loop_cpu();
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return beside;
	others = beside.before;
	CPU_CLR(cpu, &others);
	/* All that there are: then those that come later, too. The kernel takes what it has. */
	if (CPU_COUNT(&beside.before) == get_nprocs())
		memset(&beside.before, 0xff, sizeof(beside.before));
	/* Refused where no CPU is left. */
	beside.has_moved = sched_setaffinity(0, sizeof(others), &others) == 0;
	return beside;
}

void beside_loop_end(struct beside_loop *beside)
{
	if (beside->has_moved)
		(void)sched_setaffinity(0, sizeof(beside->before), &beside->before);
}
