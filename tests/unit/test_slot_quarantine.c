/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "skip_because.h"
#include "trace/live/slots/slot.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define LATER_NS UINT64_C(1000000000) /* longer than any slot rests */

/* A queue map has room for `room` slots; where there are no rights for it the test is skipped. */
static int free_slots(uint32_t room)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_QUEUE, "test_slots", 0, sizeof(uint32_t), room, NULL);

	if (fd < 0)
		skip_because("it needs CAP_BPF");
	return fd;
}

/* Takes all that are free and notes them, one bit each; a slot that is there twice fails. */
static void take(int fd, uint32_t *taken)
{
	uint32_t slot;

	while (bpf_map_lookup_and_delete_elem(fd, NULL, &slot) == 0) {
		assert_true(slot < 32);
		assert_false(*taken & 1U << slot);
		*taken |= 1U << slot;
	}
}

static void slots_rest_before_they_are_free(void **state)
{
	struct slot_quarantine quarantine = {};
	uint32_t taken = 0;
	int fd = free_slots(8);

	(void)state;
	assert_int_equal(slot_quarantine_add(&quarantine, (slot_t){ 3 }), 0);
	assert_int_equal(slot_quarantine_release(&quarantine, fd, LATER_NS), 0);
	assert_int_equal(slot_quarantine_add(&quarantine, (slot_t){ 4 }), 0);
	assert_int_equal(slot_quarantine_release(&quarantine, fd, LATER_NS), 0);
	take(fd, &taken);
	assert_int_equal(taken, 0);
	assert_int_equal(slot_quarantine_release(&quarantine, fd, 2 * LATER_NS), 0);
	take(fd, &taken);
	assert_int_equal(taken, 1 << 3);
	assert_int_equal(slot_quarantine_release(&quarantine, fd, 3 * LATER_NS), 0);
	take(fd, &taken);
	assert_int_equal(taken, 1 << 3 | 1 << 4);
	slot_quarantine_done(&quarantine);
	close(fd);
}

/* The third push fails, and is made again: those before it are not. */
static void after_a_failed_push_no_slot_is_free_twice(void **state)
{
	struct slot_quarantine quarantine = {};
	uint32_t taken = 0;
	int fd = free_slots(2), r;

	(void)state;
	for (uint32_t slot = 0; slot < 5; slot++)
		assert_int_equal(slot_quarantine_add(&quarantine, (slot_t){ slot }), 0);
	assert_int_equal(slot_quarantine_release(&quarantine, fd, LATER_NS), 0);
	assert_true(slot_quarantine_release(&quarantine, fd, 2 * LATER_NS) < 0);
	for (int i = 0; i < 5; i++) {
		take(fd, &taken);
		r = slot_quarantine_release(&quarantine, fd, 3 * LATER_NS);
		assert_true(r == 0 || taken != 0x1f);
	}
	take(fd, &taken);
	assert_int_equal(taken, 0x1f);
	slot_quarantine_done(&quarantine);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_rest_before_they_are_free),
		cmocka_unit_test(after_a_failed_push_no_slot_is_free_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
