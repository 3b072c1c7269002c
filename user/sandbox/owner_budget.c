/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/owner_budget.h"

#include "base/clock.h"

struct allowance {
	int64_t burst_ns;
	uint64_t divisor; /* the share of time that comes back is one by this */
};

/*
 * A user's programs with some hundred libraries take 4 s, and the debug information of one of 1 GiB
 * takes 5 s. What one request takes is bounded besides, and may be more than is left.
 */
static const struct allowance of_another = { 15 * (int64_t)SECOND_NS, 20 };
/* The whole of a host, where our own program is not on the same mount. */
static const struct allowance of_our_user = { 120 * (int64_t)SECOND_NS, 4 };
/* A user may have many uids (subordinate ones, or of containers) and mounts. */
static const struct allowance of_all_others = { 60 * (int64_t)SECOND_NS, 2 };

static void refill(struct budget *budget, const struct allowance *allowance, uint64_t now_ns)
{
	uint64_t back = (now_ns - budget->at_ns) / allowance->divisor;
	uint64_t missing = (uint64_t)(allowance->burst_ns - budget->left_ns);

	budget->left_ns += (int64_t)(back < missing ? back : missing);
	budget->at_ns = now_ns;
}

static bool is_of_our_user(const struct owner_budgets *budgets, const struct file_owner *owner)
{
	return owner->uid == budgets->own.uid && !owner->is_group && !owner->is_anybody;
}

/* Anybody makes mounts in a namespace of his own: they count for files of our own user only. */
static struct file_owner key_of(const struct owner_budgets *budgets, const struct file_owner *owner)
{
	struct file_owner key = *owner;

	if (!is_of_our_user(budgets, owner))
		key.mount = key.dev = 0;
	return key;
}

static const struct allowance *allowance_of(const struct owner_budgets *budgets,
					    const struct file_owner *owner)
{
	return is_of_our_user(budgets, owner) ? &of_our_user : &of_another;
}

void owner_budgets_init(struct owner_budgets *budgets, const struct file_owner *own,
			uint64_t now_ns)
{
	budgets->own = *own;
	budgets->others = (struct budget){ of_all_others.burst_ns, now_ns };
	budgets->n = 0;
}

/* NULL: it has used nothing, as far as is known. Those that have all again are forgotten. */
static struct owner_budget *find_budget(struct owner_budgets *budgets,
					const struct file_owner *owner, uint64_t now_ns)
{
	const struct file_owner key = key_of(budgets, owner);
	struct owner_budget *found = NULL;

	for (size_t i = budgets->n; i-- > 0;) {
		struct owner_budget *known = &budgets->list[i];
		const struct allowance *allowance = allowance_of(budgets, &known->owner);

		refill(&known->budget, allowance, now_ns);
		if (known->budget.left_ns == allowance->burst_ns) {
			*known = budgets->list[--budgets->n];
			if (found == &budgets->list[budgets->n])
				found = known;
		} else if (file_owner_equal(&known->owner, &key)) {
			found = known;
		}
	}
	return found;
}

/* In place of the one that may use most, where there is no room. */
static struct owner_budget *add_budget(struct owner_budgets *budgets,
				       const struct file_owner *owner, uint64_t now_ns)
{
	struct owner_budget *place = &budgets->list[0];

	if (budgets->n < OWNER_BUDGETS_MOST)
		place = &budgets->list[budgets->n++];
	else
		for (size_t i = 1; i < budgets->n; i++)
			if (budgets->list[i].budget.left_ns > place->budget.left_ns)
				place = &budgets->list[i];
	place->owner = key_of(budgets, owner);
	place->budget = (struct budget){ allowance_of(budgets, owner)->burst_ns, now_ns };
	return place;
}

bool owner_budgets_allow(struct owner_budgets *budgets, const struct file_owner *owner,
			 uint64_t now_ns)
{
	const struct owner_budget *known = find_budget(budgets, owner, now_ns);

	refill(&budgets->others, &of_all_others, now_ns);
	return (!known || known->budget.left_ns > 0) &&
	       (is_of_our_user(budgets, owner) || budgets->others.left_ns > 0);
}

void owner_budgets_charge(struct owner_budgets *budgets, const struct file_owner *owner,
			  uint64_t used_ns, uint64_t now_ns)
{
	struct owner_budget *known = find_budget(budgets, owner, now_ns);

	if (used_ns == 0)
		return;
	if (!known)
		known = add_budget(budgets, owner, now_ns);
	known->budget.left_ns -= (int64_t)used_ns;
	refill(&budgets->others, &of_all_others, now_ns);
	if (!is_of_our_user(budgets, owner))
		budgets->others.left_ns -= (int64_t)used_ns;
}
