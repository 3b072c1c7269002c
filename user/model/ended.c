/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/ended.h"

#include "base/saturate.h"

#include <math.h>

void ended_done(struct ended *ended)
{
	vec_done(&ended->list);
}

/* comm stands for an executable that is not known: the process ended before its file was read. */
static const char *name_of_entry(const struct model_ended *entry)
{
	return entry->exe ? entry->exe : entry->comm;
}

/* Interned strings are equal when their addresses are. */
static int find_or_add_entry(struct ended *ended, const char *exe, const char *comm,
			     struct model_ended **ret_entry)
{
	static const char others[] = "";
	const struct model_ended sought = { .exe = exe, .comm = comm };
	const char *name = name_of_entry(&sought);
	size_t i = 0;
	int r = 0;

	while (i < ended->list.len && name_of_entry(&ended->list.data[i]) != name)
		i++;
	if (i == ended->list.len && i >= ENDED_MAX && name != others)
		return find_or_add_entry(ended, NULL, others, ret_entry);
	if (i == ended->list.len)
		r = vec_push(&ended->list, sought);
	if (r == 0)
		*ret_entry = &ended->list.data[i];
	return r;
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
	int r = find_or_add_entry(ended, exe, image->comm, &entry);

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
