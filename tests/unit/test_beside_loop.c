/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/beside_loop.h"

#include "base/loop.h"
#include "base/threads.h"
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/bpf/large_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "skip_because.h"

enum result { MOVED, STAYED, NO_DEADLINE, NO_OTHER_CPU, FAILED };

struct look {
	void (*meet)(void); /* what looks at `meanwhile` */
	cpu_set_t before, after;
	bool fails;
};

/* Of the thread that looked last. */
static cpu_set_t meanwhile;
static bool has_looked;

static void look_here(void)
{
	has_looked = sched_getaffinity(0, sizeof(meanwhile), &meanwhile) == 0;
}

static void *look_started(void *userdata)
{
	(void)userdata;
	look_here();
	return NULL;
}

static void look_in_block(void)
{
	_beside_loop_;

	look_here();
}

static void look_in_started_thread(void)
{
	_beside_loop_;
	pthread_t thread;

	if (thread_start(&thread, look_started, NULL) == 0)
		(void)pthread_join(thread, NULL);
}

/* No map is made. */
int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
			  __u32 value_size, __u32 max_entries,
			  const struct bpf_map_create_opts *opts);
int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
			  __u32 value_size, __u32 max_entries,
			  const struct bpf_map_create_opts *opts)
{
	(void)type;
	(void)name;
	(void)key_size;
	(void)value_size;
	(void)max_entries;
	(void)opts;
	look_here();
	return -EPERM;
}

static void look_in_large_map(void)
{
	struct memtraced_bpf *skel = memtraced_bpf__open();

	if (skel && bpf_map__set_max_entries(skel->maps.block_buckets, 1U << 18) == 0 &&
	    large_maps_make(skel->obj) != -EPERM)
		has_looked = false;
	memtraced_bpf__destroy(skel);
}

static void *look_beside(void *userdata)
{
	struct look *look = userdata;

	look->fails = sched_getaffinity(0, sizeof(look->before), &look->before) != 0;
	look->meet();
	look->fails |= !has_looked || sched_getaffinity(0, sizeof(look->after), &look->after) != 0;
	return NULL;
}

static enum result compare(const struct look *look, int loop_cpu)
{
	cpu_set_t own;

	if (look->fails || !CPU_EQUAL(&look->before, &look->after))
		return FAILED;
	if (CPU_COUNT(&look->before) < 2)
		return NO_OTHER_CPU;
	if (CPU_EQUAL(&look->before, &meanwhile))
		return STAYED;
	CPU_ZERO(&own);
	CPU_SET(loop_cpu, &own);
	CPU_XOR(&own, &own, &meanwhile);
	return CPU_EQUAL(&own, &look->before) ? MOVED : FAILED;
}

static enum result look_at(void (*meet)(void), bool is_raised)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	struct look look = { .meet = meet };
	pthread_t thread;
	int cpu;

	if (loop_new(&loop) != 0)
		return FAILED;
	if (is_raised)
		loop_raise_priority(loop);
	if (is_raised && (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_DEADLINE)
		return NO_DEADLINE;
	/* Here it waits, and it may be woken on another one where other threads have deadlines. */
	cpu = sched_getcpu();
	if (thread_start(&thread, look_beside, &look) != 0 || pthread_join(thread, NULL) != 0)
		return FAILED;
	return compare(&look, cpu);
}

/* In a process whose first thread alone is the loop's. */
static void check(void (*meet)(void), bool is_raised, enum result expected)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(look_at(meet, is_raised));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_DEADLINE)
		skip_because("no thread may have a deadline here");
	if (WEXITSTATUS(status) == NO_OTHER_CPU)
		skip_because("there is one CPU alone");
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void a_thread_leaves_the_cpu_of_a_loop_with_a_deadline(void **state)
{
	(void)state;
	check(look_in_block, true, MOVED);
}

static void so_do_threads_that_it_starts(void **state)
{
	(void)state;
	check(look_in_started_thread, true, MOVED);
}

static void large_maps_are_made_on_other_cpus(void **state)
{
	(void)state;
	check(look_in_large_map, true, MOVED);
}

static void nothing_moves_where_no_loop_has_a_deadline(void **state)
{
	(void)state;
	check(look_in_block, false, STAYED);
	check(look_in_large_map, false, STAYED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_leaves_the_cpu_of_a_loop_with_a_deadline),
		cmocka_unit_test(so_do_threads_that_it_starts),
		cmocka_unit_test(large_maps_are_made_on_other_cpus),
		cmocka_unit_test(nothing_moves_where_no_loop_has_a_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
