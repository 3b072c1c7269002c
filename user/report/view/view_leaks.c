/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_leaks.h"

#include <errno.h>

struct found {
	uint64_t id;
	uint8_t class;
};

static int compare(const void *item_a, const void *item_b)
{
	const struct found *a = item_a, *b = item_b;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->class - b->class;
}

static int find_ids(const struct view_resolver *resolver, const struct model_process *image,
		    const struct leak_result *leaks, struct found *found)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < leaks->n_places; i++) {
		struct view_stack stack;

		r = view_resolve_site(resolver, image, leaks->places[i].fn, leaks->places[i].stack,
				      &stack);
		if (r == 0)
			found[i] = (struct found){ view_stack_id(&stack, VIEW_HEAP),
						   leaks->classes[i] };
		view_stack_done(&stack);
	}
	return r;
}

/* The first of those with the site's id is the worst. */
static enum reach_class class_of(const struct view_site *site, const struct found *found, size_t n)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (found[middle].id < site->id)
			low = middle + 1;
		else
			high = middle;
	}
	if (site->class != VIEW_HEAP || low >= n || found[low].id != site->id)
		return REACH_CLASSES;
	return found[low].class;
}

int view_leaks_init(const struct view_resolver *resolver, const struct report_opts *opts,
		    struct view_process *process)
{
	_cleanup_free_ struct found *found = NULL;
	int r;

	for (size_t i = 0; i < process->n_sites; i++)
		process->sites[i].leak = REACH_CLASSES;
	for (size_t i = 0; i < opts->n_leaks; i++)
		if (opts->leaks[i]->image == process->image->slot)
			process->leaks = opts->leaks[i];
	if (!process->leaks)
		return 0;
	found = calloc(process->leaks->n_places + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	r = find_ids(resolver, process->image, process->leaks, found);
	if (r < 0)
		return r;
	qsort(found, process->leaks->n_places, sizeof(*found), compare);
	for (size_t i = 0; i < process->n_sites; i++)
		process->sites[i].leak =
			class_of(&process->sites[i], found, process->leaks->n_places);
	return 0;
}
