/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often a helper process may be started after deaths that no owner of a file is charged for: so
 * many times at once, then once in ten seconds. Threading: the caller's lock.
 */
#ifndef MEMTRACED_SANDBOX_START_BUDGET_H
#define MEMTRACED_SANDBOX_START_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct start_budget {
	unsigned int left;
	uint64_t refilled_ns;
};

void start_budget_init(struct start_budget *budget, uint64_t now_ns);
/* True: one may be started, and it is counted. */
bool start_budget_take(struct start_budget *budget, uint64_t now_ns);

#endif
