/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bpf/abi.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define PID 10

/* Images by their slots; a change of depth makes 2 of 0 and 3 of 2. 4 is of another process. */
static struct live_process images[] = {
	{ .slot = { 0 }, .image = { 100 }, .prev_image = { UINT32_MAX }, .pid = PID },
	{ .slot = { 1 }, .image = { 101 }, .prev_image = { UINT32_MAX }, .pid = PID + 1 },
	{ .slot = { 2 }, .image = { 102 }, .prev_image = { 100 }, .pid = PID },
	{ .slot = { 3 }, .image = { 103 }, .prev_image = { 102 }, .pid = PID },
	{ .slot = { 4 }, .image = { 104 }, .prev_image = { 101 }, .pid = PID + 2 },
};

static int latest(const bool ended[N_ELEMENTS(images)], size_t from)
{
	struct live_process *all[N_ELEMENTS(images) + 1] = { NULL };
	struct live live = { .slots.all = { all, N_ELEMENTS(all), N_ELEMENTS(all) } };

	for (size_t i = 0; i < N_ELEMENTS(images); i++) {
		images[i].ended = ended[i];
		all[i] = &images[i];
	}
	return (int)live_process_latest(&live, &images[from])->slot.n;
}

static void an_event_of_an_image_from_before_a_change_of_depth_is_of_the_one_after(void **state)
{
	static const struct {
		bool ended[N_ELEMENTS(images)];
		size_t from;
		int expected;
	} cases[] = {
		{ { false, false, false, false, false }, 0, 0 },
		{ { true, false, false, false, false }, 0, 2 },
		{ { true, false, true, false, false }, 0, 3 },
		{ { true, false, true, true, false }, 0, 3 },
		{ { true, false, true, false, false }, 2, 3 },
		{ { false, true, false, false, false }, 1, 1 },
	};
	struct live live = { 0 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		assert_int_equal(latest(cases[i].ended, cases[i].from), cases[i].expected);
	assert_null(live_process_latest(&live, NULL));
}

static void a_peak_at_a_cut_is_the_saved_one_or_what_nobody_has_raised_since(void **state)
{
	static const struct {
		uint32_t cut_epoch;
		int64_t expected;
	} cases[] = {
		{ 6, 70 }, /* saved for that cut */
		{ 4, 90 }, /* for the one before */
		{ 4 | ABI_CUT_BUSY, 90 },
		{ 6 | ABI_CUT_BUSY, 90 }, /* its program does not go on */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		const struct abi_proc proc = { .peak_bytes = 90,
					       .peak_epoch = 9,
					       .cut_peak_bytes = 70,
					       .cut_peak_epoch = 7,
					       .cut_epoch = cases[i].cut_epoch };
		const struct peak_at_cut peak = shared_peak_at_cut(&proc, 6);

		assert_int_equal(peak.bytes, cases[i].expected);
		assert_int_equal(peak.epoch, cases[i].expected / 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_event_of_an_image_from_before_a_change_of_depth_is_of_the_one_after),
		cmocka_unit_test(a_peak_at_a_cut_is_the_saved_one_or_what_nobody_has_raised_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
