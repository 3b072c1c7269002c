/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/coverage.h"

#include <errno.h>
#include <stdlib.h>

static void record_done(struct record_coverage *record)
{
	free((void *)record->losses);
	free((void *)record->cuts);
	*record = (struct record_coverage){ 0 };
}

void coverage_done(struct coverage *coverage)
{
	record_done(&coverage->latest);
	record_done(&coverage->next);
	free((void *)coverage->stack_check.results);
	vec_done(&coverage->stacks_differ);
	vec_done(&coverage->unprobed);
	vec_done(&coverage->sites_differ);
}

static int copy_losses(struct strings *strings, const struct record_loss *from, size_t n,
		       const struct record_loss **ret_losses)
{
	_cleanup_free_ struct record_loss *losses = calloc(n + 1, sizeof(*losses));
	int r = losses ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		losses[i].count = from[i].count;
		r = strings_intern(strings, from[i].cause ? from[i].cause : "unknown",
				   &losses[i].cause);
	}
	if (r == 0)
		*ret_losses = TAKE_PTR(losses);
	return r;
}

void coverage_cut_begin(struct coverage *coverage)
{
	coverage->has_next = false;
}

int coverage_cut(struct coverage *coverage, const struct record_coverage *record)
{
	struct record_coverage copy = *record;
	int r;

	copy.losses = copy.cuts = NULL;
	r = copy_losses(coverage->strings, record->losses, record->n_losses, &copy.losses);
	if (r == 0)
		r = copy_losses(coverage->strings, record->cuts, record->n_cuts, &copy.cuts);
	if (r) {
		record_done(&copy);
		return r;
	}
	record_done(&coverage->next);
	coverage->next = copy;
	coverage->has_next = true;
	return 0;
}

void coverage_cut_end(struct coverage *coverage)
{
	if (!coverage->has_next)
		return;
	record_done(&coverage->latest);
	coverage->latest = coverage->next;
	coverage->next = (struct record_coverage){ 0 };
	coverage->at_cut = &coverage->latest;
}

int coverage_cut_off(struct coverage *coverage)
{
	struct record_coverage *latest = &coverage->latest;
	struct record_loss *losses;

	if (!coverage->at_cut)
		return 0;
	losses = reallocarray((void *)latest->losses, latest->n_losses + 1, sizeof(*losses));
	if (!losses)
		return -ENOMEM;
	losses[latest->n_losses++] = (struct record_loss){ RECORD_CAUSE_CUT_OFF, 1 };
	latest->losses = losses;
	return 0;
}

int coverage_add_unprobed(struct coverage *coverage, const struct record_unprobed *record)
{
	struct record_unprobed unprobed = *record;
	int r = strings_intern_members(coverage->strings, &unprobed.function, &unprobed.object,
				       &unprobed.why, NULL);

	if (r < 0)
		return r;
	vec_foreach(&coverage->unprobed, it)
		if (it->function == unprobed.function && it->object == unprobed.object)
			return 0;
	return vec_push(&coverage->unprobed, unprobed);
}

int coverage_add_sites(struct coverage *coverage, const struct record_sites_differ *record)
{
	struct record_sites_differ differ = *record;
	int r = strings_intern_members(coverage->strings, &differ.function, &differ.object, NULL);

	if (r < 0)
		return r;
	vec_foreach(&coverage->sites_differ, it)
		if (it->function == differ.function && it->object == differ.object)
			return 0;
	return vec_push(&coverage->sites_differ, differ);
}

int coverage_stack_check(struct coverage *coverage, const struct record_stack_check *record)
{
	const struct record_loss *results;
	int r = copy_losses(coverage->strings, record->results, record->n_results, &results);

	if (r < 0)
		return r;
	free((void *)coverage->stack_check.results);
	coverage->stack_check = (struct record_stack_check){ record->n_results, results };
	coverage->of_stacks = &coverage->stack_check;
	return 0;
}

int coverage_add_differs(struct coverage *coverage, const struct record_stack_differs *record)
{
	struct record_stack_differs differs = *record;
	int r = strings_intern_members(coverage->strings, &differs.ours, &differs.reference, NULL);

	return r < 0 ? r : vec_push(&coverage->stacks_differ, differs);
}
