/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flood N: says "ready PID", waits for a line, maps and unmaps a page N times, and ends. Each time
 * is three records of the ring; the records of a vfork child at the end are as long as that of the
 * process's own end, so that there is no room left for it where the ring is full.
 */
#include "tests/targets/target.h"

#include <sys/mman.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 100000);
	void *page;
	pid_t pid;

	tell("ready %d\n", getpid());
	wait_for_line();
	for (; n > 0; n--) {
		page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(page != MAP_FAILED && munmap(page, 4096) == 0);
	}
	pid = vfork();
	if (pid == 0)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return 0;
}
