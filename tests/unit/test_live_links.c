/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When probes that all processes share are placed for those whose own find no calls. */
#include "target/process_list.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PID 10

static bool translator_runs, unread;
static size_t n_looks;

int __wrap_translator_find(char **ret_exe);
bool __wrap_programs_walk_waits(const struct programs *programs);
size_t __wrap_objects_count(const struct objects *objects);
bool __wrap_objects_probe(const struct objects *objects, const struct object *object,
			  uint32_t owner);
bool __wrap_object_attached(const struct object *object, uint32_t owner);
size_t __wrap_object_unprobed(const struct object *object);
bool __wrap_object_is_probed(const struct object *object);
int __wrap_objects_attach(struct objects *objects, struct object *object, uint32_t owner,
			  pid_t pid);

int __wrap_translator_find(char **ret_exe)
{
	n_looks++;
	*ret_exe = translator_runs ? strdup("/usr/bin/translator") : NULL;
	return unread && !translator_runs ? -ETIMEDOUT : 0;
}

/* Tracepoints of system calls come later. */
bool __wrap_programs_walk_waits(const struct programs *programs)
{
	(void)programs;
	return true;
}

/* No file is mapped. */
size_t __wrap_objects_count(const struct objects *objects)
{
	(void)objects;
	return 0;
}

/* One that has an allocator, whose probes are placed. */
bool __wrap_objects_probe(const struct objects *objects, const struct object *object,
			  uint32_t owner)
{
	(void)objects;
	(void)object;
	(void)owner;
	return true;
}

bool __wrap_object_attached(const struct object *object, uint32_t owner)
{
	(void)object;
	(void)owner;
	return false;
}

size_t __wrap_object_unprobed(const struct object *object)
{
	(void)object;
	return 0;
}

bool __wrap_object_is_probed(const struct object *object)
{
	(void)object;
	return false;
}

int __wrap_objects_attach(struct objects *objects, struct object *object, uint32_t owner, pid_t pid)
{
	(void)objects;
	(void)object;
	(void)owner;
	(void)pid;
	return 0;
}

static int ignore(const struct record *record, void *userdata)
{
	(void)record;
	(void)userdata;
	return 0;
}

struct fixture {
	struct abi_control control;
	struct abi_proc procs[2];
	struct programs programs;
	struct live_process process;
	struct live_process *all[2];
	struct live live;
};

/* A process with probes of its own, in slot 1. */
static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->programs.control = &f->control;
	f->programs.procs = f->procs;
	f->procs[1].owner = 2;
	f->process.slot.n = 1;
	f->process.pid = PID;
	f->process.links.own = true;
	f->all[1] = &f->process;
	f->live.programs = &f->programs;
	f->live.tick_ns = 1;
	f->live.slots.all.data = f->all;
	f->live.slots.all.len = f->live.slots.all.cap = 2;
	f->live.sink.fn = ignore;
	translator_runs = true;
	n_looks = 0;
}

/* The translator of before has ended. */
static void try_later(struct fixture *f)
{
	translator_runs = false;
	f->live.links.share_after_ns = 0;
	assert_int_equal(live_share_awaited(&f->live), 0);
}

static void a_process_that_waits_is_counted_once_no_translator_runs(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_false(live_awaits_shared(&f.live, 0));
	assert_int_equal(live_share_without_first(&f.live, &f.process), 0);
	assert_true(live_awaits_shared(&f.live, PID));
	assert_false(live_awaits_shared(&f.live, PID + 1));
	assert_int_equal(f.control.shared, 0);
	assert_int_equal(f.procs[1].owner, 2);
	try_later(&f);
	assert_int_equal(f.control.shared, 1);
	assert_int_equal(f.procs[1].owner, 0);
	assert_false(live_awaits_shared(&f.live, 0));
}

static void for_one_that_has_ended_or_has_a_book_nothing_is_shared(void **state)
{
	(void)state;
	for (int has_book = 0; has_book < 2; has_book++) {
		struct fixture f;

		begin(&f);
		assert_int_equal(live_share_without_first(&f.live, &f.process), 0);
		assert_int_equal(n_looks, 1);
		f.process.ended = !has_book;
		f.process.links.book = has_book;
		try_later(&f);
		assert_int_equal(f.control.shared, 0);
		assert_int_equal(n_looks, 1);
	}
}

static void what_may_be_a_translator_is_taken_for_one(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	translator_runs = false;
	unread = true;
	assert_int_equal(live_share_without_first(&f.live, &f.process), 0);
	assert_true(live_awaits_shared(&f.live, PID));
	assert_int_equal(f.control.shared, 0);
	unread = false;
	try_later(&f);
	assert_int_equal(f.control.shared, 1);
}

/* It has lost its first thread, and then loads an allocator. */
static void one_that_gets_probes_of_its_own_later_waits_as_well(void **state)
{
	struct fixture f;
	bool late = false;

	(void)state;
	begin(&f);
	f.process.links.own = false;
	assert_int_equal(live_share_without_first(&f.live, &f.process), 0);
	assert_false(live_awaits_shared(&f.live, PID));
	assert_int_equal(live_attach(&f.live, NULL, 2, PID, &late), 0);
	assert_true(live_awaits_shared(&f.live, PID));
	try_later(&f);
	assert_int_equal(f.control.shared, 1);
	assert_int_equal(f.procs[1].owner, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_waits_is_counted_once_no_translator_runs),
		cmocka_unit_test(for_one_that_has_ended_or_has_a_book_nothing_is_shared),
		cmocka_unit_test(what_may_be_a_translator_is_taken_for_one),
		cmocka_unit_test(one_that_gets_probes_of_its_own_later_waits_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
