/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_answer.h"

#include "target/hold/hold.h"
#include "target/hold/stop.h"

#include <errno.h>
#include <sys/uio.h>

/* How long a thread is waited for that is inside the kernel. */
#define STOP_LIMIT_NS 100000000

static uint64_t first_argument(const struct stop *stop, pid_t tid)
{
	size_t n;
	const struct stopped_thread *threads = stop_threads(stop, &n);

	for (size_t i = 0; i < n; i++)
		if (threads[i].tid == tid)
			return threads[i].registers[STOP_FIRST_ARGUMENT];
	return 0;
}

int leak_answer_write(struct hold *hold, pid_t pid, pid_t tid, const struct loss_totals *totals)
{
	const struct loss_sum *classes = totals->classes;
	/* struct memtraced_leaks: bytes, blocks */
	uint64_t leaks[] = {
		classes[REACH_DEFINITE].bytes + classes[REACH_INDIRECT].bytes,
		classes[REACH_DEFINITE].blocks + classes[REACH_INDIRECT].blocks,
		classes[REACH_POSSIBLE].bytes,
		classes[REACH_POSSIBLE].blocks,
		classes[REACH_REACHABLE].bytes,
		classes[REACH_REACHABLE].blocks,
		totals->suppressed.bytes,
		totals->suppressed.blocks,
	};
	struct iovec local = { leaks, sizeof(leaks) }, remote = { .iov_len = sizeof(leaks) };
	_cleanup_(stop_free_p) struct stop *stop = NULL;
	int r = hold_stop(hold, pid, STOP_LIMIT_NS, &stop);

	if (r < 0)
		return r;
	remote.iov_base = (void *)(uintptr_t)first_argument(stop, tid);
	/* By the rights of its mappings, which ptrace(2) and /proc/PID/mem pass over. */
	return process_vm_writev(tid, &local, 1, &remote, 1, 0) < 0 ? -errno : 0;
}
