/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * closed: maps a file as code while another thread closes its descriptor. MAP_POPULATE makes the
 * call last after the mapping is there, and msync tells the other thread that it is: the
 * descriptor is gone when the call returns. Prints "ready PID" and waits for a line before, "done
 * N" after, N being the calls that it took to be so, and waits again.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#define SIZE (64UL << 20)
#define PLACE ((void *)0x300000000000UL)
#define ROUNDS 5

static int fd, closed;

static void *close_when_mapped(void *unused)
{
	while (msync(PLACE, 4096, MS_ASYNC))
		continue;
	close(fd);
	__atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST);
	return unused;
}

/* Was the descriptor gone when mmap returned? */
static int map_once(void)
{
	pthread_t thread;
	int in_time;

	closed = 0;
	fd = memfd_create("code", 0);
	CHECK(fd >= 0 && ftruncate(fd, SIZE) == 0);
	CHECK(pthread_create(&thread, NULL, close_when_mapped, NULL) == 0);
	CHECK(mmap(PLACE, SIZE, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd, 0) == PLACE);
	in_time = __atomic_load_n(&closed, __ATOMIC_SEQ_CST);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(munmap(PLACE, SIZE) == 0);
	return in_time;
}

int main(void)
{
	int round, hits = 0;

	tell("ready %d\n", getpid());
	wait_for_line();
	for (round = 0; round < ROUNDS; round++)
		hits += map_once();
	tell("done %d\n", hits);
	wait_for_line();
	return 0;
}
