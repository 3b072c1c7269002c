/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose name the counts of system calls get, by their slot. The link has programs_refused() come
 * here (--wrap): there are no maps to read.
 */
#include "trace/jobs/job.h"
#include "trace/live/jobs/live_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The slot had image 2 before, which ended; image 9 is in it now. */
#define SLOT 2
#define IMAGE 9

int __wrap_programs_refused(const struct programs *programs, uint64_t *ret_events);

int __wrap_programs_refused(const struct programs *programs, uint64_t *ret_events)
{
	*ret_events = programs->max_procs == 0;
	return 0;
}

static int read_counts(struct job *job, record_fn fn, void *userdata)
{
	const struct record records[] = {
		{ .type = RECORD_SYSCALL, .syscall = { .image = { SLOT }, .calls = 1 } },
		{ .type = RECORD_SYSCALL_FILE, .syscall_file = { .image = { SLOT } } },
		{ .type = RECORD_SYSCALL_STACK,
		  .syscall_stack = { .image = { SLOT }, .calls = 1 } },
	};
	int r = 0;

	(void)job;
	for (size_t i = 0; r == 0 && i < sizeof(records) / sizeof(records[0]); i++)
		r = fn(&records[i], userdata);
	return r;
}

struct seen {
	uint32_t slots[4];
	size_t n;
};

static int keep_slot(const struct record *record, void *userdata)
{
	struct seen *seen = userdata;

	assert_true(seen->n < sizeof(seen->slots) / sizeof(seen->slots[0]));
	seen->slots[seen->n++] = record->type == RECORD_SYSCALL ? record->syscall.image.n :
				 record->type == RECORD_SYSCALL_FILE ?
								  record->syscall_file.image.n :
								  record->syscall_stack.image.n;
	return 0;
}

/* The slots that records name when the counts are read; `process` is known in the slot, or NULL. */
static struct seen read_jobs(struct live_process *process, bool ring_lost)
{
	static const struct job_ops ops = { .read = read_counts };
	struct abi_proc procs[SLOT + 1] = { [SLOT] = { .image = IMAGE } };
	struct programs programs = { .procs = procs, .max_procs = ring_lost ? 0 : SLOT + 1 };
	struct job job = { .ops = &ops };
	struct seen seen = { .n = 0 };
	struct live live = { .programs = &programs,
			     .sink = { .fn = keep_slot, .userdata = &seen } };
	struct cut_coverage coverage = { 0 };

	assert_int_equal(stack_index_new(&live.stacks), 0);
	assert_int_equal(vec_push(&live.jobs.all, &job), 0);
	for (size_t slot = 0; slot <= SLOT; slot++)
		assert_int_equal(vec_push(&live.slots.all, slot == SLOT ? process : NULL), 0);
	assert_int_equal(live_read_jobs(&live, &coverage, &coverage), 0);
	stack_index_free(live.stacks);
	vec_done(&live.jobs.all);
	vec_done(&live.slots.all);
	return seen;
}

static void counts_are_of_the_image_that_the_slot_has(void **state)
{
	struct live_process process = { .slot = { SLOT }, .image = { IMAGE } };
	const struct seen seen = read_jobs(&process, false);

	(void)state;
	assert_int_equal(seen.n, 3);
	for (size_t i = 0; i < seen.n; i++)
		assert_int_equal(seen.slots[i], IMAGE);
}

static void they_are_though_its_start_was_lost(void **state)
{
	const struct seen seen = read_jobs(NULL, true);

	(void)state;
	assert_int_equal(seen.n, 3);
	for (size_t i = 0; i < seen.n; i++)
		assert_int_equal(seen.slots[i], IMAGE);
}

static void what_is_not_announced_yet_is_in_the_next_cut(void **state)
{
	(void)state;
	assert_int_equal(read_jobs(NULL, false).n, 0);
}

static void a_placeholder_has_no_counts(void **state)
{
	struct live_process process = { .slot = { SLOT }, .image = { IMAGE }, .placeholder = true };

	(void)state;
	assert_int_equal(read_jobs(&process, false).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_of_the_image_that_the_slot_has),
		cmocka_unit_test(they_are_though_its_start_was_lost),
		cmocka_unit_test(what_is_not_announced_yet_is_in_the_next_cut),
		cmocka_unit_test(a_placeholder_has_no_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
