/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up pairs of runs for the replay tests of `memtraced diff`.
 */
#ifndef MEMTRACED_TESTS_REPLAY_DIFF_SCENARIOS_H
#define MEMTRACED_TESTS_REPLAY_DIFF_SCENARIOS_H

#include "report/report_opts.h"
#include "trace/record/record.h"

#include <stddef.h>

struct diff_scenario {
	const char *name; /* of its golden files */
	void (*emit[2])(record_fn fn, void *userdata);
	struct report_opts opts;
};

const struct diff_scenario *diff_scenarios(size_t *ret_n);

#endif
