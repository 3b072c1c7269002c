/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cgroup_memory.h"
#include "trace/live/cuts/live_usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_PID (1 << 22) /* PID_MAX_LIMIT: no process has it */

static struct live_usage *usage_new(uint64_t pss_every_ns)
{
	struct live_usage *usage;

	assert_int_equal(live_usage_new(pss_every_ns, &usage), 0);
	return usage;
}

static void what_is_resident_is_known_at_once(void **state)
{
	struct live_usage *usage = usage_new(0);
	struct live_usage_clock clock = { 0 };
	struct record_sample_process sample = { .live_bytes = 7 };

	(void)state;
	live_usage_begin(usage);
	live_usage_read(usage, getpid(), &clock, &sample);
	assert_in_range(sample.rss_bytes, 1 << 18, 1ULL << 40);
	assert_int_equal(sample.live_bytes, 7);
	assert_int_equal(sample.pss_bytes, 0);
	live_usage_free(usage);
}

static void a_share_is_read_after_a_while_and_not_each_time(void **state)
{
	struct live_usage *usage = usage_new(50000000);
	struct live_usage_clock clock = { 0 };
	struct record_sample_process sample = { 0 };

	(void)state;
	live_usage_begin(usage);
	assert_true(live_usage_read_share(usage, getpid(), &clock));
	live_usage_read(usage, getpid(), &clock, &sample);
	assert_int_equal(sample.pss_bytes, 0);
	usleep(60000);
	live_usage_begin(usage);
	assert_true(live_usage_read_share(usage, getpid(), &clock));
	live_usage_read(usage, getpid(), &clock, &sample);
	assert_in_range(sample.pss_bytes, 1, sample.rss_bytes + (16 << 20));
	live_usage_read(usage, getpid(), &clock, &sample);
	assert_int_equal(sample.pss_bytes, 0);
	live_usage_free(usage);
}

/* All of them are always due, and what was saved up is used up by some. */
static void shares_of_all_have_one_limit(void **state)
{
	struct live_usage *usage = usage_new(1);
	struct live_usage_clock clock = { .next_pss_ns = 1 };
	unsigned int n = 0;

	(void)state;
	live_usage_begin(usage);
	assert_false(live_usage_read_share(usage, getpid(), &clock));
	assert_int_equal(clock.pss_bytes, 0);
	usleep(20000);
	live_usage_begin(usage);
	for (clock.next_pss_ns = 1; live_usage_read_share(usage, getpid(), &clock); n++)
		clock = (struct live_usage_clock){ .next_pss_ns = 1 };
	assert_in_range(n, 1, 100000);
	clock.next_pss_ns = UINT64_MAX;
	assert_true(live_usage_read_share(usage, getpid(), &clock));
	live_usage_free(usage);
}

static void without_shares_none_is_read(void **state)
{
	struct live_usage *usage = usage_new(0);
	struct live_usage_clock clock = { .next_pss_ns = 1 };

	(void)state;
	live_usage_begin(usage);
	usleep(20000);
	live_usage_begin(usage);
	assert_false(live_usage_read_share(usage, getpid(), &clock));
	assert_int_equal(clock.pss_bytes, 0);
	live_usage_free(usage);
}

static void of_who_is_gone_nothing_is_known(void **state)
{
	struct live_usage *usage = usage_new(1);
	struct live_usage_clock clock = { .next_pss_ns = 1 };
	struct record_sample_process sample = { 0 };

	(void)state;
	live_usage_begin(usage);
	usleep(2000);
	live_usage_begin(usage);
	assert_true(live_usage_read_share(usage, NO_PID, &clock));
	live_usage_read(usage, NO_PID, &clock, &sample);
	assert_true(sample.rss_bytes == UINT64_MAX);
	assert_int_equal(sample.cgroup_bytes, 0);
	assert_int_equal(sample.pss_bytes, 0);
	live_usage_free(usage);
}

static void a_cgroup_uses_what_its_file_says(void **state)
{
	struct live_usage *usage = usage_new(0);
	struct live_usage_clock clock = { 0 };
	struct record_sample_process sample = { 0 };
	_cleanup_strbuf_ struct strbuf root = {}, name = {};
	struct cgroup_memory memory;
	int version;

	(void)state;
	live_usage_begin(usage);
	live_usage_read(usage, getpid(), &clock, &sample);
	version = cgroup_root_of_host(&root) ? 0 : cgroup_root_version(strbuf_str(&root));
	if (version <= 0 || cgroup_of_process(getpid(), version, &name) ||
	    cgroup_memory_read(strbuf_str(&root), version, strbuf_str(&name), &memory))
		assert_int_equal(sample.cgroup_bytes, 0);
	else /* others are in there, too */
		assert_in_range(sample.cgroup_bytes, memory.current_bytes / 4,
				4 * memory.current_bytes);
	live_usage_free(usage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_resident_is_known_at_once),
		cmocka_unit_test(a_share_is_read_after_a_while_and_not_each_time),
		cmocka_unit_test(shares_of_all_have_one_limit),
		cmocka_unit_test(without_shares_none_is_read),
		cmocka_unit_test(of_who_is_gone_nothing_is_known),
		cmocka_unit_test(a_cgroup_uses_what_its_file_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
