/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/start_budget.h"

#include "base/clock.h"

#define MAX_STARTS 16
#define START_NS (10 * SECOND_NS)

void start_budget_init(struct start_budget *budget, uint64_t now_ns)
{
	*budget = (struct start_budget){ .left = MAX_STARTS, .refilled_ns = now_ns };
}

static void refill(struct start_budget *budget, uint64_t now_ns)
{
	while (budget->left < MAX_STARTS && now_ns - budget->refilled_ns >= START_NS) {
		budget->left++;
		budget->refilled_ns += START_NS;
	}
	if (budget->left == MAX_STARTS)
		budget->refilled_ns = now_ns;
}

bool start_budget_take(struct start_budget *budget, uint64_t now_ns)
{
	refill(budget, now_ns);
	if (budget->left == 0)
		return false;
	budget->left--;
	return true;
}
