/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_starts N: a forked child maps a page of the program's code at N addresses, one after the
 * other, and unmaps each. Then it holds a block of 4321 bytes until its end.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096UL

static __attribute__((noinline)) void map_about(uint64_t n)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at =
		mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(fd >= 0 && at != MAP_FAILED);
	CHECK(munmap(at, n * PAGE) == 0);
	for (uint64_t i = 0; i < n; i++) {
		void *page = mmap(at + i * PAGE, PAGE, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);

		CHECK(page == at + i * PAGE);
		CHECK(munmap(page, PAGE) == 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 140000);
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		map_about(n);
		CHECK(memset(malloc(4321), 1, 4321));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return 0;
}
