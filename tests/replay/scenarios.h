/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up runs for the replay tests: each is a short history that one part of model, view or
 * writers has to get right, with the symbols that a recording would carry.
 */
#ifndef MEMTRACED_TESTS_REPLAY_SCENARIOS_H
#define MEMTRACED_TESTS_REPLAY_SCENARIOS_H

#include "report/report_opts.h"
#include "trace/record/record.h"

#include <stddef.h>

struct scenario {
	const char *name; /* of its golden files */
	void (*emit)(record_fn fn, void *userdata);
	bool cut_off; /* the recording has no end */
	struct report_opts opts;
};

const struct scenario *scenarios(size_t *ret_n);

#endif
