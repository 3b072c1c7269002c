/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/ended.h"

#include "base/hashmap.h"
#include "base/saturate.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>

struct ended {
	struct hashmap *by_exe; /* struct model_ended */
	VEC(struct model_ended *) list;
};

/*
 * The name stands for an executable that is not known, since the process had ended before anybody
 * could look. Interned strings are equal when their addresses are.
 */
static const char *name_of(const struct model_ended *ended)
{
	return ended->exe ? ended->exe : ended->comm;
}

static uint64_t ended_hash(const void *item)
{
	return hash_u64((uintptr_t)name_of(item));
}

static bool ended_equal(const void *a, const void *b)
{
	return name_of(a) == name_of(b);
}

static const struct hashmap_ops ended_ops = { ended_hash, ended_equal, free };

int ended_new(struct ended **ret_ended)
{
	_cleanup_(ended_free_p) struct ended *ended = calloc(1, sizeof(*ended));
	int r;

	if (!ended)
		return -ENOMEM;
	r = hashmap_new(&ended_ops, &ended->by_exe);
	if (r < 0)
		return r;
	*ret_ended = TAKE_PTR(ended);
	return 0;
}

void ended_free(struct ended *ended)
{
	if (!ended)
		return;
	vec_done(&ended->list);
	hashmap_free(ended->by_exe);
	free(ended);
}

static int entry_of(struct ended *ended, const char *exe, const char *comm,
		    struct model_ended **ret_entry)
{
	struct model_ended key = { .exe = exe, .comm = comm };
	struct model_ended *entry = hashmap_find(ended->by_exe, &key);
	static const char others[] = "";
	int r;

	if (!entry && ended->list.len >= ENDED_MAX && (exe || comm != others))
		return entry_of(ended, NULL, others, ret_entry);
	if (!entry) {
		r = vec_reserve(&ended->list, ended->list.len + 1);
		entry = r == 0 ? malloc(sizeof(*entry)) : NULL;
		if (!entry)
			return -ENOMEM;
		*entry = (struct model_ended){ .exe = exe, .comm = comm };
		r = hashmap_insert(ended->by_exe, entry);
		if (r < 0) {
			free(entry);
			return r;
		}
		ended->list.data[ended->list.len++] = entry;
	}
	*ret_entry = entry;
	return 0;
}

/* Of estimates that do not depend on each other. */
static uint64_t sum_of_errors(uint64_t a, uint64_t b)
{
	return saturate_u64(ceil(hypot((double)a, (double)b)));
}

int ended_add(struct ended *ended, const struct model_process *image, const char *exe)
{
	const struct record_totals *from = &image->totals;
	struct model_ended *entry;
	struct record_totals *to;
	int r = entry_of(ended, exe, image->comm, &entry);

	if (r < 0)
		return r;
	/* An image that exec replaced is no process of its own, nor one of another depth. */
	entry->processes += image->how != RECORD_END_EXEC && image->how != RECORD_END_DEPTH;
	to = &entry->totals;
	to->allocs += from->allocs;
	to->frees += from->frees;
	to->failed += from->failed;
	to->bytes += from->bytes;
	/* Unsigned: damaged input may wrap. */
	to->live_bytes = (int64_t)((uint64_t)to->live_bytes + (uint64_t)from->live_bytes);
	to->live_blocks = (int64_t)((uint64_t)to->live_blocks + (uint64_t)from->live_blocks);
	if (from->peak_bytes > to->peak_bytes)
		to->peak_bytes = from->peak_bytes;
	to->temporary += from->temporary;
	to->missed_frees += from->missed_frees;
	to->unknown_frees += from->unknown_frees;
	to->lost += from->lost;
	/* Of several intervals the largest: what can be off is rather said to be more. */
	if (from->sample_interval > to->sample_interval)
		to->sample_interval = from->sample_interval;
	to->se_live_bytes = sum_of_errors(to->se_live_bytes, from->se_live_bytes);
	to->se_bytes = sum_of_errors(to->se_bytes, from->se_bytes);
	to->samples += from->samples;
	to->live_samples += from->live_samples;
	if (from->live_beyond > to->live_beyond)
		to->live_beyond = from->live_beyond;
	if (from->most_beyond > to->most_beyond)
		to->most_beyond = from->most_beyond;
	to->blocks_variance += from->blocks_variance;
	to->allocs_variance += from->allocs_variance;
	to->frees_variance += from->frees_variance;
	return 0;
}

size_t ended_count(const struct ended *ended)
{
	return ended->list.len;
}

const struct model_ended *ended_get(const struct ended *ended, size_t index)
{
	return ended->list.data[index];
}
