/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/budget.h"

/* Shorter looks tell nothing of how it goes on. */
#define LOOK_NS UINT64_C(50000000)

void budget_done(struct budget *budget)
{
	vec_done(&budget->debts);
}

void budget_begin(struct budget_use *use, uint64_t now_ns)
{
	*use = (struct budget_use){ .start_ns = now_ns, .until_ns = now_ns, .last_ns = now_ns };
}

void budget_look(struct budget_use *use, uint64_t spent_ns, uint64_t until_ns, uint64_t now_ns)
{
	use->spent_ns = spent_ns;
	use->until_ns = until_ns;
	if (now_ns < use->last_ns + LOOK_NS)
		return;
	use->predicted = (double)(spent_ns - use->last_spent_ns) / (double)(now_ns - use->last_ns);
	use->last_ns = now_ns;
	use->last_spent_ns = spent_ns;
}

static double share(uint64_t spent_ns, uint64_t start_ns, uint64_t until_ns)
{
	return until_ns > start_ns ? (double)spent_ns / (double)(until_ns - start_ns) : 0;
}

double budget_used(const struct budget_use *use)
{
	return share(use->spent_ns, use->start_ns, use->until_ns);
}

bool budget_is_over(const struct budget *budget, const struct budget_use *use)
{
	return budget->most > 0 && budget_used(use) > budget->most;
}

int budget_end(struct budget *budget, const struct budget_use *use, pid_t pid, uint64_t start_ticks,
	       bool is_roots, uint64_t now_ns)
{
	struct budget_debt debt = { .pid = pid,
				    .start_ticks = start_ticks,
				    .start_ns = use->start_ns,
				    .spent_ns = use->spent_ns,
				    .is_roots = is_roots };

	if (budget->most <= 0)
		return 0;
	debt.until_ns = use->start_ns + (uint64_t)((double)use->spent_ns / budget->most);
	return debt.until_ns > now_ns ? vec_push(&budget->debts, debt) : 0;
}

uint64_t budget_wait_ns(struct budget *budget, pid_t pid, uint64_t start_ticks, bool of_root,
			uint64_t now_ns)
{
	uint64_t wait_ns = 0;
	size_t n = 0;

	vec_foreach(&budget->debts, debt) {
		if (debt->until_ns <= now_ns || budget->most <= 0)
			continue;
		if (debt->pid == pid && debt->start_ticks == start_ticks &&
		    (!of_root || debt->is_roots) && debt->until_ns - now_ns > wait_ns)
			wait_ns = debt->until_ns - now_ns;
		budget->debts.data[n++] = *debt;
	}
	budget->debts.len = n;
	return wait_ns;
}

double budget_owed(const struct budget *budget, bool of_root, uint64_t now_ns)
{
	double sum = 0;

	vec_foreach(&budget->debts, debt)
		if (debt->until_ns > now_ns && (!of_root || debt->is_roots))
			sum += share(debt->spent_ns, debt->start_ns, debt->until_ns);
	return sum / budget->cpus;
}
