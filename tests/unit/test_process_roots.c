/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/process_roots.h"

#include "base/clock.h"
#include "skip_because.h"
#include "target/hold/stop.h"
#include "target/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OWN_BYTES (1 << 20)

#ifdef __SANITIZE_ADDRESS__
#define OTHER_MALLOC true
#else
#define OTHER_MALLOC false
#endif

/* Has memory by brk of its own, behind malloc's; says where. */
static void run_child(uint64_t *volatile *shared)
{
	void *block = malloc(1000);
	uint64_t *own = block ? sbrk(OWN_BYTES) : (void *)-1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (own == (void *)-1)
		_exit(1);
	memset(own, 1, OWN_BYTES);
	*shared = own;
	for (;;)
		pause();
}

static bool has_root(pid_t pid, uint64_t addr, uint64_t deadline_ns)
{
	const struct process_roots_opts opts = { .deadline_ns = deadline_ns };
	_cleanup_(process_roots_free_p) struct process_roots *roots = NULL;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	_cleanup_(stop_free_p) struct stop *stop = NULL;

	assert_int_equal(stop_new(pid, SECOND_NS, &stop), 0);
	assert_int_equal(memory_new(pid, &memory), 0);
	assert_int_equal(process_roots_new(memory, stop, &opts, &roots), 0);
	vec_foreach(&roots->ranges, range)
		if (addr >= range->start && addr < range->end)
			return true;
	return false;
}

/* As its chunks are many, that may take far longer than the process may be stopped. */
static void a_heap_is_not_followed_beyond_the_deadline(void **state)
{
	uint64_t *volatile *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	(void)state;
	if (OTHER_MALLOC)
		skip_because("malloc is not the C library's own");
	assert_ptr_not_equal(shared, MAP_FAILED);
	pid = fork();
	if (pid == 0)
		run_child(shared);
	assert_true(pid > 0);
	while (!*shared) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		(void)usleep(1000);
	}
	assert_true(has_root(pid, (uintptr_t)*shared + OWN_BYTES / 2, 0));
	assert_false(has_root(pid, (uintptr_t)*shared + OWN_BYTES / 2, 1));
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heap_is_not_followed_beyond_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
