/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_frees.h"

#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <string.h>

static_assert(ABI_LIFETIMES == RECORD_LIFETIMES && ABI_LIFETIME_SHIFT == RECORD_LIFETIME_SHIFT,
	      "lifetimes are handed over as they are");

static int collect(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_free_key *key = keys;
	const struct abi_free_pair *value = values;
	struct live_frees *frees = userdata;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = vec_push(&frees->all, (struct live_free){ key[i], value[i] });
	return r;
}

static int frees_fd(const struct live *live)
{
	return bpf_map__fd(live->programs->skel->maps.free_pairs);
}

static int compare_images(const void *item_a, const void *item_b)
{
	const struct live_free *a = item_a, *b = item_b;

	return (a->key.image > b->key.image) - (a->key.image < b->key.image);
}

int live_frees_read(const struct live *live, struct live_frees *ret_frees)
{
	int r;

	*ret_frees = (struct live_frees){ 0 };
	if (!live->opts.free_stacks)
		return 0;
	r = bpf_batch_read(frees_fd(live), sizeof(struct abi_free_key),
			   sizeof(struct abi_free_pair), collect, ret_frees);
	if (r == 0 && ret_frees->all.len > 0)
		qsort(ret_frees->all.data, ret_frees->all.len, sizeof(ret_frees->all.data[0]),
		      compare_images);
	return r;
}

void live_frees_done(struct live_frees *frees)
{
	vec_done(&frees->all);
}

static int emit(struct live *live, const struct live_free *pair)
{
	const struct abi_free_pair *v = &pair->value;
	struct record record = {
		.type = RECORD_FREE_PAIR,
		.free_pair = { .slot = pair->key.image,
			       .fn = pair->key.fn,
			       .stack = pair->key.stack,
			       .free_fn = pair->key.free_fn,
			       .free_stack = pair->key.free_stack,
			       .count = v->count,
			       .bytes = v->bytes,
			       .others = v->others,
			       .unknown = v->unknown,
			       .total_ns = v->total_ns },
	};

	memcpy(record.free_pair.lifetimes, v->lifetimes, sizeof(v->lifetimes));
	return live_emit(live, &record);
}

/* The first of that image or a later one. */
static size_t first_of(const struct live_frees *frees, uint32_t image)
{
	size_t low = 0, high = frees->all.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frees->all.data[middle].key.image < image)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int live_frees_emit(struct live *live, const struct live_process *process,
		    const struct live_frees *frees)
{
	int r = 0;

	for (size_t i = first_of(frees, process->image); r == 0 && i < frees->all.len; i++) {
		if (frees->all.data[i].key.image != process->image)
			break;
		if (frees->all.data[i].value.count > 0)
			r = emit(live, &frees->all.data[i]);
	}
	return r;
}

int live_frees_purge(struct live *live, const bool *gone)
{
	_cleanup_(live_frees_done) struct live_frees frees;
	int r = live_frees_read(live, &frees);

	for (size_t slot = 0; r == 0 && slot < live->slots.all.len; slot++) {
		if (!gone[slot])
			continue;
		for (size_t i = first_of(&frees, live->slots.all.data[slot]->image);
		     i < frees.all.len; i++) {
			const struct abi_free_key *key = &frees.all.data[i].key;

			if (key->image != live->slots.all.data[slot]->image)
				break;
			bpf_batch_delete(frees_fd(live), sizeof(*key), key, sizeof(*key));
		}
	}
	return r;
}
