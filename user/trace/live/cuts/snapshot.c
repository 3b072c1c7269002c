/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/snapshot.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "bpf/abi_sample.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/urgent.h"
#include "trace/live/books/live_books.h"
#include "trace/live/cuts/block_walk.h"
#include "trace/live/cuts/inheritance.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/record/record.h"

#include <errno.h>
#include <string.h>

struct snapshot {
	struct live *live;
	const struct programs *programs;
	const struct snapshot_process *processes;
	size_t n_processes;
	uint32_t cut, young_tick;
	uint32_t first_tick; /* of the run */
	struct hashmap by_key;
	VEC(struct snapshot_site *) order;
	struct snapshot_site *sorted;
	VEC(uint32_t) forked;		 /* wanted slots that may hold inherited blocks */
	struct inheritance *inheritance; /* read when there are forked ones, as are: */
	struct descendants *descendants;
	uint64_t merged; /* blocks and sites of [other stacks], as there was no room for theirs */
};

DEFINE_HASHMAP_OPS(site_ops, struct snapshot_site, free, stack, slot, fn);

static bool is_wanted_slot(const struct snapshot *s, uint32_t slot)
{
	return slot < s->n_processes && s->processes[slot].wanted;
}

static struct snapshot_site *site_find(const struct snapshot *s, uint32_t slot, uint16_t fn,
				       uint64_t stack)
{
	const struct snapshot_site key = { .stack = stack, .slot = slot, .fn = fn };

	return hashmap_find(&s->by_key, &key);
}

static struct snapshot_site *site_get(struct snapshot *s, uint32_t slot, uint16_t fn,
				      uint64_t stack)
{
	const struct snapshot_site added = {
		.stack = stack, .slot = slot, .fn = fn, .oldest_tick = UINT32_MAX
	};
	bool is_new;
	struct snapshot_site *site = hashmap_intern(&s->by_key, &added, sizeof(added), &is_new);

	return site && is_new && vec_push(&s->order, site) < 0 ? NULL : site;
}

/*
 * What the programs have no room in maps for: sites of books, and of what is inherited, of which
 * each child has all of its parent's.
 */
static struct snapshot_site *site_get_within(struct snapshot *s, uint32_t slot, uint16_t fn,
					     uint64_t stack)
{
	struct snapshot_site *site = site_find(s, slot, fn, stack);

	if (site || !stack || s->order.len < s->live->opts.run.room.sites)
		return site ? site : site_get(s, slot, fn, stack);
	s->merged++;
	return site_get(s, slot, fn, ABI_STACK_OTHER);
}

/* The parts of unions are numbers of the same kind: exact and sampled sites add up alike. */
static void add_counts(struct abi_site_counts *sum, const struct abi_site_counts *c)
{
	sum->live_bytes += c->live_bytes;
	sum->live_blocks += c->live_blocks;
	sum->allocs += c->allocs;
	sum->bytes += c->bytes;
	sum->temporary += c->temporary;
	sum->missed_frees += c->missed_frees;
	sum->lifetimes += c->lifetimes; /* or bytes_variance, */
	sum->samples += c->samples;	/* or peak_blocks */
	if (c->most_beyond > sum->most_beyond)
		sum->most_beyond = c->most_beyond;
}

/* Has it changed since the cut, or is about to? */
static bool is_saved(const struct snapshot *s, const struct abi_site *site)
{
	return (site->cut_epoch & ~ABI_CUT_BUSY) == s->cut;
}

/*
 * The value at the cut is the saved one when the site has changed since. Its share of the peak is
 * what was saved at the first change after that peak, or what it holds if there was none.
 */
static int64_t counts_at_cut(const struct snapshot *s, const struct abi_site *site, uint32_t slot,
			     struct abi_site_counts *ret_counts)
{
	if (is_saved(s, site)) {
		*ret_counts = site->cut;
		return site->cut_peak_bytes;
	}
	*ret_counts = site->now;
	if (site->peak_epoch == shared_peak_at_cut(&s->programs->procs[slot], s->cut).epoch)
		return site->peak_bytes;
	if (!programs_has_samples(s->programs, slot))
		ret_counts->peak_blocks = site->now.live_blocks;
	return site->now.live_bytes;
}

static int on_site(struct snapshot *s, const struct abi_site_key *key, const struct abi_site *value)
{
	struct abi_site_counts counts;
	struct snapshot_site *site;

	if (!is_wanted_slot(s, key->slot))
		return 0;
	site = site_get(s, key->slot, key->fn, key->stack);
	if (!site)
		return -ENOMEM;
	site->touched = true;
	site->peak_bytes += counts_at_cut(s, value, key->slot, &counts);
	add_counts(&site->counts, &counts);
	return 0;
}

static int on_sites(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_site_key *key = keys;
	const struct abi_site *value = values;
	const struct snapshot *s = userdata;
	int fd = bpf_map__fd(s->programs->skel->maps.sites), r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct abi_site again = value[i];

		/* It may have been copied while it was saved: what is saved stands by now. */
		if (is_saved(s, &again))
			r = urgent_lookup(fd, &key[i], &again);
		if (r == 0)
			r = on_site(userdata, &key[i], &again);
	}
	return r;
}

/*
 * The first change after the cut saves the counts and then sets cut_epoch: a copy made while that
 * happens may have half of each, one that has the same epoch before and after has not.
 */
static void copy_site(struct abi_site *copy, const struct abi_site *site)
{
	uint32_t before, after;

	do {
		before = __atomic_load_n(&site->cut_epoch, __ATOMIC_ACQUIRE);
		*copy = *site;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = __atomic_load_n(&site->cut_epoch, __ATOMIC_RELAXED);
	} while ((before ^ after) & ~ABI_CUT_BUSY);
	copy->cut_epoch = after;
}

static int read_site_table(struct snapshot *s)
{
	int r = 0;

	for (size_t i = 0; i < ABI_SITE_ENTRIES && r == 0; i++) {
		const struct abi_site_entry *e = &s->programs->sites[i];
		struct abi_site copy;

		if (__atomic_load_n(&e->state, __ATOMIC_ACQUIRE) != ABI_SITE_USED)
			continue;
		copy_site(&copy, &e->site);
		r = on_site(s, &e->key, &copy);
	}
	return r;
}

static uint16_t function_of(const struct snapshot *s, uint32_t slot, const struct abi_block *block)
{
	return programs_has_samples(s->programs, slot) ? ABI_FN_SAMPLED : ABI_BLOCK_FN(block);
}

/* For how many it counts, in the unit of abi_site_counts. */
static int64_t blocks_of(const struct snapshot *s, uint32_t slot, const struct abi_block *block)
{
	if (!programs_has_samples(s->programs, slot))
		return 1;
	return (int64_t)abi_sample_blocks(ABI_BLOCK_SIZE(block), abi_sampled_size(block));
}

/* What a sample's weight goes beyond itself: of its own process's samples. */
static uint64_t beyond_of(const struct snapshot *s, const struct walked_block *walked)
{
	const struct abi_proc *owner = &s->programs->procs[ABI_BLOCK_SLOT(walked->key)];

	return abi_sampled_beyond(walked->block, owner->sample_interval);
}

/* What is unknown of the number of live blocks; the programs count that of all allocations. */
static uint64_t variance_of(const struct snapshot *s, uint32_t slot,
			    const struct walked_block *walked)
{
	const struct abi_block *block = walked->block;

	if (!programs_has_samples(s->programs, slot))
		return 0;
	return abi_sample_variance(ABI_BLOCK_SIZE(block), abi_sampled_size(block),
				   beyond_of(s, walked));
}

/* A live sample of the site. */
static void add_live_sample(const struct snapshot *s, struct snapshot_site *site,
			    const struct walked_block *walked)
{
	const struct abi_block *block = walked->block;
	uint64_t variance, beyond;

	if (!programs_has_samples(s->programs, site->slot))
		return;
	variance = variance_of(s, site->slot, walked);
	beyond = abi_sample_blocks_beyond((uint64_t)blocks_of(s, site->slot, block), variance);
	if (beyond > site->live_beyond)
		site->live_beyond = beyond;
	site->blocks_variance += variance;
	site->live_variance += (double)ABI_BLOCK_SIZE(block) * (double)beyond_of(s, walked);
	site->live_samples++;
}

/* A live block, its own or inherited. How old blocks from before the attach are is not known. */
static void add_age(const struct snapshot *s, struct snapshot_site *site,
		    const struct abi_block *block)
{
	uint64_t ticks = (uint64_t)s->processes[site->slot].last_tick - s->first_tick + 1;
	uint64_t since = block->tick > s->first_tick ? block->tick - s->first_tick : 0;
	uint64_t part = since * RECORD_BIRTHS / ticks;

	if (block->tick >= s->young_tick) {
		site->young_bytes += ABI_BLOCK_SIZE(block);
		site->young_blocks += blocks_of(s, site->slot, block);
	}
	if (site->fn == RECORD_BEFORE_ATTACH)
		return;
	if (block->tick < site->oldest_tick)
		site->oldest_tick = block->tick;
	if (block->tick > site->newest_tick)
		site->newest_tick = block->tick;
	/* born since the ticks were read: in the last part */
	site->born_bytes[part < RECORD_BIRTHS ? part : RECORD_BIRTHS - 1] += ABI_BLOCK_SIZE(block);
}

static int add_inherited(struct snapshot *s, const struct walked_block *walked)
{
	const struct abi_block *block = walked->block;
	int64_t size = ABI_BLOCK_SIZE(block);
	size_t n;
	const uint32_t *descendants =
		descendants_of(s->descendants, ABI_BLOCK_SLOT(walked->key), &n);

	for (const uint32_t *child = descendants; child < descendants + n; child++) {
		struct snapshot_site *site;

		if (!inheritance_got(s->inheritance, *child, walked))
			continue;
		site = site_get_within(s, *child, function_of(s, *child, block), block->stack);
		if (!site)
			return -ENOMEM;
		site->inherited_bytes += size;
		site->inherited_blocks += blocks_of(s, site->slot, block);
		site->counts.live_bytes += size;
		site->counts.live_blocks += blocks_of(s, site->slot, block);
		site->inherited_variance += variance_of(s, *child, walked);
		if (!inheritance_has_freed(s->inheritance, *child, walked->key))
			add_live_sample(s, site, walked);
		site->peak_bytes += size;
		add_age(s, site, block);
	}
	return 0;
}

static int on_block(const struct walked_block *walked, void *userdata)
{
	uint32_t slot = ABI_BLOCK_SLOT(walked->key);
	const struct abi_block *block = walked->block;
	struct snapshot *s = userdata;

	if (walked->freed_era == BLOCK_LIVE && is_wanted_slot(s, slot)) {
		struct snapshot_site *site =
			site_find(s, slot, function_of(s, slot, block), block->stack);

		/* Else it is of after the cut, or its site found no room, which was counted. */
		if (site) {
			add_age(s, site, block);
			add_live_sample(s, site, walked);
		}
	}
	return s->forked.len ? add_inherited(s, walked) : 0;
}

/* Books have no samples, and what is inherited comes last. */
static void forget_ages(uint32_t slot, void *userdata)
{
	const struct snapshot *s = userdata;

	vec_foreach(&s->order, it) {
		struct snapshot_site *site = *it;

		if (site->slot != slot)
			continue;
		site->young_bytes = site->young_blocks = 0;
		site->oldest_tick = UINT32_MAX;
		site->newest_tick = 0;
		memset(site->born_bytes, 0, sizeof(site->born_bytes));
	}
}

/* --- of processes that keep books ------------------------------------------------------------ */

struct book_reading {
	struct snapshot *snapshot;
	uint32_t slot;
};

static int on_book_site(const struct live_book_site *told, void *userdata)
{
	const struct book_reading *reading = userdata;
	struct snapshot_site *site =
		site_get_within(reading->snapshot, reading->slot, told->fn, told->stack);

	if (!site)
		return -ENOMEM;
	site->touched = true;
	add_counts(&site->counts, told->counts);
	site->peak_bytes += told->peak_bytes;
	return 0;
}

/* Its stacks alone are wanted. */
static int no_site(const struct live_book_site *told, void *userdata)
{
	(void)told, (void)userdata;
	return 0;
}

static int read_book(struct snapshot *s, struct live_process *process, bool wanted)
{
	struct book_reading reading = { s, process->slot.n };

	return live_book_sites(s->live, process, wanted ? on_book_site : no_site, &reading);
}

/* Ancestors first, from which stacks are inherited; they are not in order of their slots. */
static int read_book_family(struct snapshot *s, struct live_process *process, bool *done)
{
	struct live_process *ancestor;
	int r = 0;

	if (done[process->slot.n])
		return 0;
	done[process->slot.n] = true;
	ancestor = live_book_ancestor(s->live, process);
	if (ancestor)
		r = read_book_family(s, ancestor, done);
	return r ? r : read_book(s, process, is_wanted_slot(s, process->slot.n));
}

static int read_books(struct snapshot *s)
{
	_cleanup_free_ bool *done = calloc(s->live->slots.all.len + 1, sizeof(*done));
	int r = done ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->n_processes && r == 0; i++)
		if (s->processes[i].wanted)
			r = read_book_family(s, s->processes[i].process, done);
	return r;
}

DEFINE_COMPARE(compare_sites, struct snapshot_site, slot)

/* An estimate in whole blocks: where a sample is live, one is. */
static int64_t whole_blocks(int64_t parts, bool any)
{
	const int64_t half = INT64_C(1) << (ABI_SAMPLE_BLOCK_SHIFT - 1);
	int64_t blocks = (parts + half) >> ABI_SAMPLE_BLOCK_SHIFT;

	return blocks < 1 && any ? 1 : blocks;
}

/* Rounded up: of what is no whole number less is not known. */
static uint64_t whole_variance(uint64_t parts)
{
	return parts ? ((parts - 1) >> ABI_SAMPLE_VARIANCE_SHIFT) + 1 : 0;
}

/* From parts of blocks, once all that makes a site has been added up. */
static void round_blocks(struct snapshot_site *site)
{
	struct abi_site_counts *counts = &site->counts;

	counts->live_blocks = whole_blocks(counts->live_blocks, counts->live_bytes > 0);
	counts->allocs = (uint64_t)whole_blocks((int64_t)counts->allocs, counts->bytes > 0);
	site->inherited_blocks = whole_blocks(site->inherited_blocks, site->inherited_bytes > 0);
	site->young_blocks = whole_blocks(site->young_blocks, site->young_bytes > 0);
	if (counts->allocs < (uint64_t)counts->live_blocks && !site->inherited_bytes)
		counts->allocs = (uint64_t)counts->live_blocks;
	site->blocks_variance = whole_variance(site->blocks_variance);
	site->allocs_variance = whole_variance(counts->allocs_variance);
	site->inherited_variance = whole_variance(site->inherited_variance);
	counts->temporary = 0;
	counts->missed_frees =
		(uint64_t)whole_blocks((int64_t)counts->missed_frees, counts->missed_frees > 0);
}

/* What exact sites have in place of what samples have. */
static void split_counts(struct snapshot_site *site)
{
	site->lifetimes = site->counts.lifetimes;
	site->peak_blocks = site->counts.peak_blocks + site->inherited_blocks;
	site->counts.bytes_variance = 0;
	site->counts.samples = 0;
}

static int sort_sites(struct snapshot *s)
{
	s->sorted = calloc(s->order.len + 1, sizeof(*s->sorted));
	if (!s->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->order.len; i++) {
		s->sorted[i] = *s->order.data[i];
		if (programs_has_samples(s->programs, s->sorted[i].slot))
			round_blocks(&s->sorted[i]);
		else
			split_counts(&s->sorted[i]);
	}
	qsort(s->sorted, s->order.len, sizeof(*s->sorted), compare_sites);
	return 0;
}

static int read_maps(struct snapshot *s, bool blocks)
{
	const struct memtraced_bpf *skel = s->programs->skel;
	const struct block_walk_opts walk = { .with_freed = s->forked.len > 0,
					      .fn = on_block,
					      .forget = forget_ages,
					      .userdata = s };
	int r = 0;

	/* The kernel looks at each of its places, however few are taken: with books, none. */
	if (__atomic_load_n(&s->programs->room_of_all->sites, __ATOMIC_ACQUIRE) > 0)
		r = bpf_batch_read(bpf_map__fd(skel->maps.sites), sizeof(struct abi_site_key),
				   sizeof(struct abi_site), on_sites, s);
	if (r == 0 && s->programs->has_tables)
		r = read_site_table(s);
	if (r == 0)
		r = read_books(s);
	if (r == 0 && blocks && s->forked.len)
		r = inheritance_new(s->live, &s->inheritance);
	if (r == 0 && blocks && s->forked.len)
		r = descendants_new(s->programs, s->forked.data, s->forked.len, s->n_processes,
				    &s->descendants);
	if (r == 0 && blocks)
		r = block_walk(s->live, &walk);
	return r ? r : sort_sites(s);
}

int snapshot_new(struct live *live, const struct snapshot_process *processes, size_t n, bool blocks,
		 uint32_t young_tick, struct snapshot **ret_snapshot)
{
	_cleanup_(snapshot_free_p) struct snapshot *s = calloc(1, sizeof(*s));
	bool any = false;
	int r;

	if (!s)
		return -ENOMEM;
	s->live = live;
	s->programs = live->programs;
	s->processes = processes;
	s->n_processes = n;
	s->young_tick = young_tick;
	s->first_tick = live_tick_of(live, live->start_ns);
	s->cut = live->programs->control->cut_epoch;
	for (size_t i = 0; i < n; i++) {
		any |= processes[i].wanted;
		if (!processes[i].wanted || !processes[i].forked)
			continue;
		r = vec_push(&s->forked, processes[i].slot);
		if (r)
			return r;
	}
	s->by_key.ops = &site_ops;
	/* Mapping the table of blocks alone takes 5 ms. */
	r = any ? read_maps(s, blocks) : sort_sites(s);
	live_raise_loss(live, LOSS_SITE_ROOM, s->merged);
	if (r)
		return r;
	*ret_snapshot = TAKE_PTR(s);
	return 0;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	hashmap_done(&snapshot->by_key);
	inheritance_free(snapshot->inheritance);
	descendants_free(snapshot->descendants);
	vec_done(&snapshot->order);
	vec_done(&snapshot->forked);
	free(snapshot->sorted);
	free(snapshot);
}

const struct snapshot_site *snapshot_sites(const struct snapshot *snapshot, size_t *ret_n)
{
	*ret_n = snapshot->order.len;
	return snapshot->sorted;
}
