/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/loss_records.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define LOW_FRAMES 2
#define MED_FRAMES 4

/* A record with what it is merged by; lives on for the next check. */
struct entry {
	struct loss_record record;
	uint64_t *frames;
	size_t n_frames;
};

struct loss_records {
	struct loss_opts opts;
	bool have_delta;
	size_t n;
	struct entry **entries; /* ascending by size */
	struct loss_totals totals;
};

void loss_opts_init(struct loss_opts *opts)
{
	*opts = (struct loss_opts){
		.resolution = LOSS_HIGH,
		.num_callers = 12,
		.show = LOSS_DEFAULT_CLASSES,
		.errors = LOSS_DEFAULT_CLASSES,
	};
}

static void entry_free(struct entry *entry)
{
	if (!entry)
		return;
	free(entry->frames);
	free(entry);
}
DEFINE_CLEANUP(struct entry, entry_free)

static uint64_t entry_hash(const void *item)
{
	const struct entry *e = item;

	return hash_bytes(e->frames, e->n_frames * sizeof(*e->frames), e->record.class);
}

static bool entry_equal(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->record.class == y->record.class && x->n_frames == y->n_frames &&
	       (!x->n_frames || !memcmp(x->frames, y->frames, x->n_frames * sizeof(*x->frames)));
}

static size_t frames_that_count(const struct loss_opts *opts, size_t n)
{
	size_t limit = opts->num_callers ? opts->num_callers : SIZE_MAX;

	if (opts->resolution == LOSS_LOW && limit > LOW_FRAMES)
		limit = LOW_FRAMES;
	else if (opts->resolution == LOSS_MED && limit > MED_FRAMES)
		limit = MED_FRAMES;
	return n < limit ? n : limit;
}

/* A copy of `key` in the map, which owns it, or NULL: memory is short. */
static struct entry *insert(struct hashmap *map, const struct entry *key)
{
	_cleanup_(entry_free_p) struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->record.class = key->record.class;
	entry->record.stack = LOSS_NO_STACK;
	entry->record.suppression = -1;
	entry->n_frames = key->n_frames;
	entry->frames = malloc((key->n_frames ? key->n_frames : 1) * sizeof(*key->frames));
	if (!entry->frames)
		return NULL;
	if (key->n_frames)
		memcpy(entry->frames, key->frames, key->n_frames * sizeof(*key->frames));
	if (hashmap_insert(map, entry))
		return NULL;
	return TAKE_PTR(entry);
}

static struct entry *find_or_insert(struct hashmap *map, const struct entry *key)
{
	struct entry *entry = hashmap_find(map, key);

	return entry ? entry : insert(map, key);
}

/* The record of one block; what hangs on a definite one is its record's, too. */
static struct entry *entry_of(struct hashmap *map, const struct loss_opts *opts,
			      const struct loss_input *in, size_t block)
{
	const struct loss_stack *stack = &in->stacks[in->stacks_of[block]];
	struct entry key = {
		.record.class = in->verdicts[block].class,
		.frames = (uint64_t *)stack->frames, /* a key is not written to */
		.n_frames = frames_that_count(opts, stack->n),
	};

	return find_or_insert(map, &key);
}

static int add_blocks(struct loss_records *records, struct hashmap *map,
		      const struct loss_input *in)
{
	for (size_t i = 0; i < in->n_blocks; i++) {
		const struct reach_verdict *v = &in->verdicts[i];
		struct entry *entry = entry_of(map, &records->opts, in, i), *leader;

		if (!entry)
			return -ENOMEM;
		if (!entry->record.blocks)
			entry->record.stack = in->stacks_of[i];
		entry->record.blocks++;
		entry->record.bytes += in->blocks[i].size;
		if (v->class == REACH_INDIRECT && v->leader < in->n_blocks) {
			leader = entry_of(map, &records->opts, in, v->leader);
			if (!leader)
				return -ENOMEM;
			leader->record.indirect_bytes += in->blocks[i].size;
		}
		if (v->class == REACH_REACHABLE && v->heuristic != REACH_BY_POINTER) {
			records->totals.heuristics[v->heuristic].blocks++;
			records->totals.heuristics[v->heuristic].bytes += in->blocks[i].size;
		}
	}
	return 0;
}

static int add_earlier(struct loss_records *records, struct hashmap *map,
		       const struct loss_records *earlier)
{
	for (size_t i = 0; i < earlier->n; i++) {
		const struct loss_record *old = &earlier->entries[i]->record;
		struct entry *entry;

		if (!old->blocks)
			continue;
		entry = find_or_insert(map, earlier->entries[i]);
		if (!entry)
			return -ENOMEM;
		entry->record.old_blocks = old->blocks;
		entry->record.old_bytes = old->bytes;
		entry->record.old_indirect_bytes = old->indirect_bytes;
		if (!entry->record.blocks) /* there will be no stack to ask for */
			entry->record.suppression = old->suppression;
	}
	for (int h = 0; h < REACH_HEURISTICS; h++) {
		records->totals.heuristics[h].old_blocks = earlier->totals.heuristics[h].blocks;
		records->totals.heuristics[h].old_bytes = earlier->totals.heuristics[h].bytes;
	}
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/*
 * Size, class (reachable first), blocks: as memcheck, so that the worst stand last. What is equal
 * in all is ordered by its frames, for the same report each time.
 */
static int by_size(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	const struct loss_record *p = &x->record, *q = &y->record;
	int r = compare(p->bytes + p->indirect_bytes, q->bytes + q->indirect_bytes);

	if (!r)
		r = compare(q->class, p->class);
	if (!r)
		r = compare(p->blocks, q->blocks);
	for (size_t i = 0; !r && i < x->n_frames && i < y->n_frames; i++)
		r = compare(x->frames[i], y->frames[i]);
	return r ? r : compare(x->n_frames, y->n_frames);
}

static void add_sum(struct loss_sum *sum, const struct loss_record *record)
{
	sum->blocks += record->blocks;
	sum->bytes += record->bytes;
	sum->old_blocks += record->old_blocks;
	sum->old_bytes += record->old_bytes;
}

static bool is_wanted(const struct loss_records *records, const struct loss_record *r)
{
	bool more = r->bytes > r->old_bytes || r->indirect_bytes > r->old_indirect_bytes ||
		    r->blocks > r->old_blocks;
	bool less = r->bytes < r->old_bytes || r->indirect_bytes < r->old_indirect_bytes ||
		    r->blocks < r->old_blocks;

	switch (records->have_delta ? records->opts.delta : LOSS_ANY) {
	case LOSS_INCREASED:
		return more;
	case LOSS_CHANGED:
		return more || less;
	case LOSS_ANY:
		break;
	}
	return r->blocks;
}

/* Anew from the records: what is shown, what is an error, the sums of both. */
static void sum_up(struct loss_records *records)
{
	struct loss_totals *t = &records->totals;

	memset(t->classes, 0, sizeof(t->classes));
	t->suppressed = (struct loss_sum){ 0 };
	t->shown = t->errors = t->suppressed_errors = 0;
	for (size_t i = 0; i < records->n; i++) {
		struct loss_record *r = &records->entries[i]->record;
		bool error = records->opts.errors & (1U << r->class) && is_wanted(records, r);

		r->is_new = records->have_delta && !r->old_blocks;
		r->shown = r->suppression < 0 && records->opts.show & (1U << r->class) &&
			   is_wanted(records, r);
		r->error = r->suppression < 0 && error;
		t->shown += r->shown;
		t->errors += r->error;
		t->suppressed_errors += error && !r->error;
		add_sum(r->suppression < 0 ? &t->classes[r->class] : &t->suppressed, r);
	}
}

/* Takes the entries out of the map. */
static int collect(struct loss_records *records, struct hashmap *map)
{
	size_t n = map->len, pos = 0;
	struct entry *entry;

	records->entries = calloc(n ? n : 1, sizeof(struct entry *));
	if (!records->entries)
		return -ENOMEM;
	while ((entry = hashmap_next(map, &pos)))
		records->entries[records->n++] = entry;
	qsort(records->entries, n, sizeof(struct entry *), by_size);
	return 0;
}

static int fill(struct loss_records *records, struct hashmap *map, const struct loss_input *input,
		const struct loss_records *earlier)
{
	int r = add_blocks(records, map, input);

	if (!r && earlier)
		r = add_earlier(records, map, earlier);
	return r ? r : collect(records, map);
}

int loss_records_new(const struct loss_input *input, const struct loss_opts *opts,
		     const struct loss_records *earlier, struct loss_records **ret_records)
{
	/* The map owns nothing: what it holds is freed below, or the records'. */
	static const struct hashmap_ops ops = { entry_hash, entry_equal, NULL };
	_cleanup_(loss_records_free_p) struct loss_records *records = NULL;
	_cleanup_(hashmap_done) struct hashmap map = { .ops = &ops };
	struct entry *entry;
	size_t pos = 0;
	int r;

	if (earlier && (earlier->opts.resolution != opts->resolution ||
			earlier->opts.num_callers != opts->num_callers))
		return -EINVAL;
	for (size_t i = 0; i < input->n_blocks; i++)
		if (input->stacks_of[i] >= input->n_stacks)
			return -EINVAL;
	records = calloc(1, sizeof(*records));
	if (!records)
		return -ENOMEM;
	records->opts = *opts;
	records->have_delta = earlier;
	r = fill(records, &map, input, earlier);
	if (r) {
		while (!records->entries && (entry = hashmap_next(&map, &pos)))
			entry_free(entry);
		return r;
	}
	sum_up(records);
	*ret_records = TAKE_PTR(records);
	return 0;
}

int loss_records_of_totals(const struct loss_totals *totals, struct loss_records **ret_records)
{
	struct loss_records *records = calloc(1, sizeof(*records));

	if (!records)
		return -ENOMEM;
	records->totals = *totals;
	*ret_records = records;
	return 0;
}

void loss_records_free(struct loss_records *records)
{
	if (!records)
		return;
	for (size_t i = 0; i < records->n; i++)
		entry_free(records->entries[i]);
	free(records->entries);
	free(records);
}

/* Default entries look at all frames, `n_all`. */
static int match(const struct suppressions *suppressions, enum reach_class class,
		 const struct suppression_frame *stack, size_t n, size_t n_all, bool default_first)
{
	int found = default_first ?
			    suppressions_match_default(suppressions, class, stack, n_all) :
			    suppressions_match(suppressions, SUPPRESSION_LEAK, class, stack, n);

	if (found != -ENOENT)
		return found;
	return default_first ? suppressions_match(suppressions, SUPPRESSION_LEAK, class, stack, n) :
			       suppressions_match_default(suppressions, class, stack, n_all);
}

int loss_records_suppress(struct loss_records *records, struct suppressions *suppressions,
			  bool default_first, loss_frames_fn frames, void *ctx)
{
	for (size_t i = 0; i < records->n; i++) {
		struct loss_record *r = &records->entries[i]->record;
		const struct suppression_frame *stack;
		size_t n_all;
		int n, found;

		if (r->stack == LOSS_NO_STACK || r->suppression >= 0)
			continue;
		n = frames(ctx, r->stack, &stack, &n_all);
		if (n < 0)
			return n;
		found = match(suppressions, r->class, stack, (size_t)n, n_all, default_first);
		if (found == -ENOMEM)
			return found;
		if (found < 0)
			continue;
		r->suppression = found;
		suppressions_count(suppressions, found, r->blocks, r->bytes);
	}
	sum_up(records);
	return 0;
}

struct loss_sum loss_records_take_out(struct loss_records *records, size_t first)
{
	struct loss_sum sum = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < records->n; i++) {
		struct entry *entry = records->entries[i];

		if (entry->record.suppression < 0 || (size_t)entry->record.suppression < first) {
			records->entries[n++] = entry;
			continue;
		}
		add_sum(&sum, &entry->record);
		entry_free(entry);
	}
	records->n = n;
	sum_up(records);
	return sum;
}

size_t loss_records_n(const struct loss_records *records)
{
	return records->n;
}

const struct loss_record *loss_records_get(const struct loss_records *records, size_t index)
{
	return &records->entries[index]->record;
}

const struct loss_totals *loss_records_totals(const struct loss_records *records)
{
	return &records->totals;
}

bool loss_records_have_delta(const struct loss_records *records)
{
	return records->have_delta;
}
