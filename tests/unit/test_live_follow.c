/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is told of processes later than it happened: images whose event the ring refused, and an
 * exec whose entry in the map of pids a change of depth has overwritten. The link has operations on
 * that map come here (--wrap).
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/urgent.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/slots/live_slots.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PID 4242
#define PARENT 0
#define CHILD 1
#define N_SLOTS 4
#define IMAGE(slot) (100 + (slot))
#define COMM_LEN 16

static const char PARENT_COMM[COMM_LEN] = "parent";

/* The map of pids, with room for one entry. */
static struct {
	bool has;
	uint32_t pid, slot;
} pids;

int __wrap_urgent_lookup(int map_fd, const void *key, void *value);
int __wrap_urgent_lookup(int map_fd, const void *key, void *value)
{
	(void)map_fd;
	if (!pids.has || memcmp(key, &pids.pid, sizeof(pids.pid)) != 0)
		return -ENOENT;
	memcpy(value, &pids.slot, sizeof(pids.slot));
	return 0;
}

int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)fd;
	assert_int_equal(flags, BPF_EXIST);
	assert_memory_equal(key, &pids.pid, sizeof(pids.pid));
	memcpy(&pids.slot, value, sizeof(pids.slot));
	return 0;
}

struct run {
	struct abi_proc procs[N_SLOTS];
	struct abi_control control;
	struct memtraced_bpf skel;
	struct programs programs;
	uint32_t next_slot;
	struct live live;
	struct record_process told[4];
	char comm[4][COMM_LEN];
	size_t n_told;
};

static int keep(const struct record *record, void *userdata)
{
	struct run *run = userdata;

	if (record->type != RECORD_PROCESS)
		return 0;
	assert_true(run->n_told < sizeof(run->told) / sizeof(run->told[0]));
	(void)snprintf(run->comm[run->n_told], sizeof(run->comm[0]), "%s", record->process.comm);
	run->told[run->n_told++] = record->process;
	return 0;
}

static struct live_process *process_add(struct run *run, uint32_t slot, pid_t pid,
					const struct image_origin *origin)
{
	struct live_process *process;

	assert_int_equal(live_process_new(&run->live, (slot_t){ slot }, pid, origin, &process), 0);
	return process;
}

/* A process in the first slot, which is known; the second is the newest that was ever taken. */
static void begin(struct run *run)
{
	memset(run, 0, sizeof(*run));
	for (uint32_t slot = 0; slot < N_SLOTS; slot++)
		run->procs[slot] =
			(struct abi_proc){ .image = IMAGE(slot),
					   .parent = ABI_NO_SLOT,
					   .pid = PID + slot,
					   .state = slot <= CHILD ? ABI_PROC_ACTIVE : ABI_PROC_FREE,
					   .owner = 1 };
	run->next_slot = CHILD + 1;
	run->programs = (struct programs){ .procs = run->procs,
					   .max_procs = N_SLOTS,
					   .control = &run->control,
					   .skel = &run->skel,
					   .next_slot = &run->next_slot };
	run->live.programs = &run->programs;
	run->live.depth = RECORD_DEPTH_EXACT;
	run->live.sink.fn = keep;
	run->live.sink.userdata = run;
	pids.has = false;
	pids.pid = PID;
	(void)process_add(run, PARENT, PID, &(struct image_origin){ .comm = PARENT_COMM });
}

static void end(struct run *run)
{
	vec_foreach(&run->live.slots.all, process)
		free(*process);
	live_slots_done(&run->live);
	vec_done(&run->live.untold.images);
}

static void drained(struct run *run, uint64_t n_refused)
{
	assert_int_equal(live_end_refused(&run->live, n_refused), 0);
}

/* Its event may be in the ring: by the next drain it has come. */
static void a_child_whose_fork_was_refused_is_told_of_at_the_second_drain(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	run.procs[CHILD].parent = PARENT;
	drained(&run, 0);
	drained(&run, 0);
	assert_null(live_process_at(&run.live, (slot_t){ CHILD }));
	drained(&run, 1);
	assert_int_equal(run.n_told, 0);
	drained(&run, 1);
	assert_int_equal(run.n_told, 1);
	assert_int_equal(run.told[0].image.n, IMAGE(CHILD));
	assert_int_equal(run.told[0].pid, PID + CHILD);
	assert_int_equal(run.told[0].parent_image.n, IMAGE(PARENT));
	assert_true(run.told[0].inherits);
	assert_string_equal(run.comm[0], "parent");
	assert_non_null(live_process_at(&run.live, (slot_t){ CHILD }));
	drained(&run, 1);
	drained(&run, 2);
	drained(&run, 2);
	assert_int_equal(run.n_told, 1);
	end(&run);
}

static void one_whose_event_came_meanwhile_is_not_told_of_again(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	run.procs[CHILD].parent = PARENT;
	drained(&run, 1);
	(void)process_add(&run, CHILD, PID + CHILD, &(struct image_origin){ .comm = NULL });
	drained(&run, 1);
	assert_int_equal(run.n_told, 0);
	end(&run);
}

/* The slot was given back and taken again: the event of the later one may be in the ring. */
static void another_image_in_the_slot_is_waited_for_anew(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	run.procs[CHILD].parent = PARENT;
	drained(&run, 1);
	run.procs[CHILD].image = 900;
	drained(&run, 1);
	assert_int_equal(run.n_told, 0);
	drained(&run, 1);
	assert_int_equal(run.n_told, 1);
	assert_int_equal(run.told[0].image.n, 900);
	end(&run);
}

static void slots_that_nobody_has_are_not_told_of(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	run.procs[CHILD].state = ABI_PROC_FREE;
	/* Never taken, whatever is in there. */
	run.procs[CHILD + 1].state = ABI_PROC_ACTIVE;
	drained(&run, 1);
	drained(&run, 1);
	assert_int_equal(run.n_told, 0);
	end(&run);
}

/* As a process that did something for the first time; one that is not counted is no process. */
static void without_its_parent_it_is_told_of_as_seen(void **state)
{
	static const struct {
		bool parent_ended, unwanted, has_pid;
		size_t told;
		const char *comm; /* unknown, if its pid may be another's by now */
	} cases[] = { { true, false, true, 1, "test_live_follo" },
		      { false, false, true, 1, "test_live_follo" },
		      { false, false, false, 1, "" },
		      { false, true, true, 0, NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run run;

		begin(&run);
		run.procs[CHILD].pid = (uint32_t)getpid();
		pids.has = cases[i].has_pid;
		pids.pid = (uint32_t)getpid();
		pids.slot = CHILD;
		if (cases[i].parent_ended) {
			run.procs[CHILD].parent = PARENT;
			live_process_end(live_process_at(&run.live, (slot_t){ PARENT }), 0);
		}
		if (cases[i].unwanted)
			run.procs[CHILD].state = ABI_PROC_UNWANTED;
		drained(&run, 1);
		drained(&run, 1);
		assert_int_equal(run.n_told, cases[i].told);
		if (run.n_told) {
			assert_int_equal(run.told[0].parent_image.n, UINT32_MAX);
			assert_false(run.told[0].inherits);
			assert_string_equal(run.comm[0], cases[i].comm);
		}
		end(&run);
	}
}

/*
 * A change of depth ends the image in the first slot and puts the process into the second. What the
 * program of an exec put into the map of pids, the third, comes before that or after it.
 */
static void exec(struct run *run, bool in_map, uint32_t slot_in_map)
{
	const struct abi_ev_process ev = { .head = { .type = ABI_EV_EXEC, .slot = CHILD + 1 },
					   .pid = PID,
					   .old_slot = PARENT };
	struct live_process *told = live_process_at(&run->live, (slot_t){ PARENT });

	run->next_slot = CHILD + 2;
	run->procs[CHILD + 1].state = ABI_PROC_ACTIVE;
	live_process_end(told, 0);
	(void)process_add(run, CHILD, PID, &(struct image_origin){ .replaced = told });
	pids.has = in_map;
	pids.slot = slot_in_map;
	assert_int_equal(live_on_process_event(&run->live, &ev), 0);
	assert_int_equal(run->told[run->n_told - 1].image.n, IMAGE(CHILD + 1));
	assert_int_equal(run->told[run->n_told - 1].prev_image.n, IMAGE(CHILD));
}

static void the_pid_of_an_exec_is_put_back_where_a_change_of_depth_has_taken_it(void **state)
{
	static const struct {
		bool in_map;
		uint32_t slot, after;
		uint64_t late;
	} cases[] = {
		{ true, CHILD, CHILD + 1, 1 },
		{ true, CHILD + 1, CHILD + 1, 0 }, /* the exec came later */
		{ true, CHILD + 2, CHILD + 2, 0 }, /* the next exec did */
		{ false, 0, 0, 0 },		   /* it has ended */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run run;

		begin(&run);
		exec(&run, cases[i].in_map, cases[i].slot);
		assert_int_equal(pids.has, cases[i].in_map);
		assert_int_equal(pids.slot, cases[i].after);
		assert_int_equal(run.live.slots.losses[LOSS_ATTACHED_LATE - ABI_LOSSES],
				 cases[i].late);
		end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_whose_fork_was_refused_is_told_of_at_the_second_drain),
		cmocka_unit_test(one_whose_event_came_meanwhile_is_not_told_of_again),
		cmocka_unit_test(another_image_in_the_slot_is_waited_for_anew),
		cmocka_unit_test(slots_that_nobody_has_are_not_told_of),
		cmocka_unit_test(without_its_parent_it_is_told_of_as_seen),
		cmocka_unit_test(
			the_pid_of_an_exec_is_put_back_where_a_change_of_depth_has_taken_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
