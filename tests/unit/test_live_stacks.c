/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/stacks/live_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FRAMES 300

/* Every third one is no return address. */
static struct abi_ev_stack unwound(uint32_t flags)
{
	struct abi_ev_stack ev = { .flags = flags | ABI_STACK_CFI, .frames = FRAMES };

	for (uint32_t i = 0; i < FRAMES; i++) {
		ev.frame[i] = 0x1000 + i;
		if (i % 3 == 0)
			ev.exact[i / 64] |= 1ULL << i % 64;
	}
	return ev;
}

static bool is_exact(const struct live_frames *frames, size_t i)
{
	return frames->exact[i / 64] >> i % 64 & 1;
}

static void which_frames_are_no_return_addresses_is_kept(void **state)
{
	const struct abi_ev_stack ev = unwound(0);
	const struct live_process process = { .pid = 1 };
	struct live_frames frames;

	(void)state;
	memset(&frames, 0xff, sizeof(frames));
	live_stack_frames(&process, &ev, &frames);
	assert_int_equal(frames.n, FRAMES);
	assert_int_equal(frames.cut, ABI_CUT_NONE);
	for (size_t i = 0; i < FRAMES; i++)
		assert_int_equal(is_exact(&frames, i), i % 3 == 0);
}

static void it_goes_with_them_when_the_first_is_left_out(void **state)
{
	const struct abi_ev_stack ev = unwound(ABI_STACK_SYSCALL);
	const struct live_process process = { .pid = 1 };
	struct live_frames frames;

	(void)state;
	live_stack_frames(&process, &ev, &frames);
	assert_int_equal(frames.n, FRAMES - 1);
	for (size_t i = 0; i < FRAMES - 1; i++) {
		assert_int_equal(frames.frame[i], 0x1001 + i);
		assert_int_equal(is_exact(&frames, i), (i + 1) % 3 == 0);
	}
}

static void the_kernels_are_as_they_came(void **state)
{
	const struct abi_ev_stack ev = unwound(ABI_STACK_KERNEL | ABI_STACK_TRUNCATED);
	struct live_frames frames;

	(void)state;
	live_stack_frames(NULL, &ev, &frames);
	assert_int_equal(frames.n, FRAMES);
	assert_int_equal(frames.cut, ABI_CUT_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_frames_are_no_return_addresses_is_kept),
		cmocka_unit_test(it_goes_with_them_when_the_first_is_left_out),
		cmocka_unit_test(the_kernels_are_as_they_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
