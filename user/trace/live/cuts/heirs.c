/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/heirs.h"

#include "base/vec.h"
#include "bpf/abi.h"
#include "trace/bpf/programs.h"

#include <errno.h>
#include <stdlib.h>

struct heir {
	uint32_t ancestor, slot;
};

struct heirs {
	size_t n_slots;
	size_t *first;	 /* by slot: where its heirs begin; n_slots + 1 of them */
	uint32_t *slots; /* of the heirs, by ancestor */
};

typedef VEC(struct heir) heir_vec;

static int add_ancestors(const struct programs *programs, uint32_t slot, size_t n_slots,
			 heir_vec *found)
{
	uint32_t ancestor = programs->procs[slot].parent;

	/* Each step is an older process; the bound is for what changes while it is read. */
	for (size_t left = n_slots; left > 0 && ancestor < n_slots; left--) {
		int r = vec_push(found, (struct heir){ ancestor, slot });

		if (r)
			return r;
		ancestor = programs->procs[ancestor].parent;
	}
	return 0;
}

/* By counting: first[] becomes the place of each ancestor's next heir, then of its first. */
static int sort_heirs(struct heirs *heirs, const heir_vec *found)
{
	heirs->first = calloc(heirs->n_slots + 2, sizeof(*heirs->first));
	heirs->slots = calloc(found->len + 1, sizeof(*heirs->slots));
	if (!heirs->first || !heirs->slots)
		return -ENOMEM;
	vec_foreach(found, heir)
		heirs->first[heir->ancestor + 2]++;
	for (size_t i = 2; i < heirs->n_slots + 2; i++)
		heirs->first[i] += heirs->first[i - 1];
	vec_foreach(found, heir)
		heirs->slots[heirs->first[heir->ancestor + 1]++] = heir->slot;
	return 0;
}

int heirs_new(const struct programs *programs, const uint32_t *forked, size_t n, size_t n_slots,
	      struct heirs **ret_heirs)
{
	_cleanup_(heirs_free_p) struct heirs *heirs = calloc(1, sizeof(*heirs));
	heir_vec found = {};
	int r = heirs ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_ancestors(programs, forked[i], n_slots, &found);
	if (r == 0) {
		heirs->n_slots = n_slots;
		r = sort_heirs(heirs, &found);
	}
	vec_done(&found);
	if (r)
		return r;
	*ret_heirs = TAKE_PTR(heirs);
	return 0;
}

void heirs_free(struct heirs *heirs)
{
	if (!heirs)
		return;
	free(heirs->first);
	free(heirs->slots);
	free(heirs);
}

const uint32_t *heirs_of(const struct heirs *heirs, uint32_t slot, size_t *ret_n)
{
	*ret_n = 0;
	if (slot >= heirs->n_slots)
		return heirs->slots;
	*ret_n = heirs->first[slot + 1] - heirs->first[slot];
	return heirs->slots + heirs->first[slot];
}
