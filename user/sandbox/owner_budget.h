/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long workers may still read the files of an owner: so much at once, and then a share of the
 * time. So no user keeps them busy with one file after another that takes long or is deadly. For
 * sandbox/worker_group.h. Times are CLOCK_MONOTONIC; no threads.
 */
#ifndef MEMTRACED_SANDBOX_OWNER_BUDGET_H
#define MEMTRACED_SANDBOX_OWNER_BUDGET_H

#include "sandbox/file_owner.h"

#include <stddef.h>

/* More owners than that are forgotten, those first that may use most. */
#define OWNER_BUDGETS_MOST 256

struct budget {
	int64_t left_ns; /* below 0: more was used than there was */
	uint64_t at_ns;	 /* when that was */
};

struct owner_budgets {
	struct file_owner own;
	struct budget others; /* all together that are not of our user */
	struct owner_budget {
		struct file_owner owner;
		struct budget budget;
	} list[OWNER_BUDGETS_MOST];
	size_t n;
};

/* `own`: of our own program's file. Those of the same user on other mounts have larger budgets. */
void owner_budgets_init(struct owner_budgets *budgets, const struct file_owner *own,
			uint64_t now_ns);

/* May files of the owner be read now? What is under way may use more than is left. */
bool owner_budgets_allow(struct owner_budgets *budgets, const struct file_owner *owner,
			 uint64_t now_ns);

void owner_budgets_charge(struct owner_budgets *budgets, const struct file_owner *owner,
			  uint64_t used_ns, uint64_t now_ns);

#endif
