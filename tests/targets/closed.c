/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * closed: maps a file as code while another thread closes its descriptor. MAP_POPULATE makes the
 * call last after the mapping is there, and msync tells the other thread that it is: the
 * descriptor is gone when the call returns. Prints "ready PID" and waits for a line before, "done
 * SURE PERHAPS" after, and waits again: calls of which this was so, and others that found it
 * closed, but were preempted, perhaps behind the kernel's last look at the call.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define SIZE (64UL << 20)
#define PLACE ((void *)0x300000000000UL)
#define HITS 5
#define ROUNDS 200 /* at most: the other thread may have no CPU for a while */

static int fd, closed, sure, perhaps;

static long preemptions(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
	return usage.ru_nivcsw;
}

static void *close_when_mapped(void *unused)
{
	while (msync(PLACE, 4096, MS_ASYNC))
		continue;
	close(fd);
	__atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST);
	return unused;
}

/* Was the descriptor gone when mmap returned? */
static void map_once(void)
{
	pthread_t thread;
	int in_time;
	long before;

	closed = 0;
	fd = memfd_create("code", 0);
	CHECK(fd >= 0 && ftruncate(fd, SIZE) == 0);
	CHECK(pthread_create(&thread, NULL, close_when_mapped, NULL) == 0);
	before = preemptions();
	CHECK(mmap(PLACE, SIZE, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd, 0) == PLACE);
	in_time = __atomic_load_n(&closed, __ATOMIC_SEQ_CST);
	if (in_time && preemptions() == before)
		sure++;
	else if (in_time)
		perhaps++;
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(munmap(PLACE, SIZE) == 0);
}

int main(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	int round;

	tell("ready %d\n", getpid());
	wait_for_line();
	/* So that nobody preempts it. The other thread is not to have it, and needs another CPU. */
	CHECK(sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0);
	for (round = 0; round < ROUNDS && sure < HITS; round++)
		map_once();
	tell("done %d %d\n", sure, perhaps);
	wait_for_line();
	return 0;
}
