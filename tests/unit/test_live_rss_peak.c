/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { NEVER_BEGUN = -1 };

static void the_mark_is_that_of_the_image(void **state)
{
	static const struct {
		const char *what;
		int earlier; /* pages of earlier images, or NEVER_BEGUN */
		uint64_t noted_pages;
		uint32_t end_pages, flags;
		uint64_t pages;
		bool is_least;
	} cases[] = {
		{ "its own, less than earlier images", 900, 0, 30, ABI_PROCESS_OWN_PEAK, 30,
		  false },
		{ "its own, of one that ran before", NEVER_BEGUN, 20, 30, ABI_PROCESS_OWN_PEAK, 30,
		  false },
		{ "a new process's", 0, 20, 30, 0, 30, false },
		{ "the pid's has risen", 29, 20, 30, 0, 30, false },
		{ "the pid's is an earlier image's", 30, 20, 30, 0, 20, true },
		{ "the same, and never read", 30, 0, 30, 0, 0, true },
		{ "whose earlier images are not known", NEVER_BEGUN, 20, 30, 0, 20, true },
		{ "read later than the counters of all CPUs", 0, 31, 30, 0, 31, false },
		{ "may not be looked at any more", 0, 20, 0, ABI_PROCESS_HIDDEN, 20, true },
	};
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct live_rss_peak peak = { 0 };
		const struct abi_ev_process ev = { .peak_pages = cases[i].end_pages,
						   .flags = cases[i].flags };

		if (cases[i].earlier != NEVER_BEGUN)
			live_rss_peak_begin(&peak, (uint32_t)cases[i].earlier);
		live_rss_peak_note(&peak, cases[i].noted_pages * page_bytes);
		live_rss_peak_end(&peak, &ev);
		if (peak.bytes != cases[i].pages * page_bytes || peak.is_least != cases[i].is_least)
			fail_msg("%s: %llu pages, %d", cases[i].what,
				 (unsigned long long)(peak.bytes / page_bytes), peak.is_least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mark_is_that_of_the_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
