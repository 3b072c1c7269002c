/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/snapshot.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "memtraced.skel.h"
#include "trace/bpf_batch.h"
#include "trace/programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

struct snapshot {
	const struct programs *programs;
	const struct snapshot_process *processes;
	size_t n_processes;
	uint32_t cut;
	struct hashmap *by_key;
	VEC(struct snapshot_site *) order;
	struct snapshot_site *sorted;
	VEC(uint32_t) forked; /* wanted slots that may hold inherited blocks */
	struct hashmap *shed; /* struct shed_block; read when there are forked ones */
};

/* An inherited block that a forked process has freed. */
struct shed_block {
	uint64_t key; /* of the process that freed it */
	uint32_t era; /* its forks before */
};

static uint64_t shed_hash(const void *item)
{
	return hash_u64(((const struct shed_block *)item)->key);
}

static bool shed_equal(const void *a, const void *b)
{
	return ((const struct shed_block *)a)->key == ((const struct shed_block *)b)->key;
}

static const struct hashmap_ops shed_ops = { shed_hash, shed_equal, free };

static uint64_t site_hash(const void *item)
{
	const struct snapshot_site *s = item;

	return hash_u64(s->stack ^ (uint64_t)s->slot << 16 ^ s->fn);
}

static bool site_equal(const void *a, const void *b)
{
	const struct snapshot_site *x = a, *y = b;

	return x->stack == y->stack && x->slot == y->slot && x->fn == y->fn;
}

static const struct hashmap_ops site_ops = { site_hash, site_equal, free };

static bool wanted(const struct snapshot *s, uint32_t slot)
{
	return slot < s->n_processes && s->processes[slot].wanted;
}

static struct snapshot_site *site_get(struct snapshot *s, uint32_t slot, uint16_t fn,
				      uint64_t stack)
{
	struct snapshot_site key = { .stack = stack, .slot = slot, .fn = fn }, *site;

	site = hashmap_find(s->by_key, &key);
	if (site)
		return site;
	site = malloc(sizeof(*site));
	if (!site)
		return NULL;
	*site = key;
	site->oldest_tick = UINT32_MAX;
	if (hashmap_insert(s->by_key, site)) {
		free(site);
		return NULL;
	}
	return vec_push(&s->order, site) ? NULL : site;
}

static void add_counts(struct abi_site_counts *sum, const struct abi_site_counts *c)
{
	sum->live_bytes += c->live_bytes;
	sum->live_blocks += c->live_blocks;
	sum->allocs += c->allocs;
	sum->bytes += c->bytes;
	sum->temporary += c->temporary;
}

/*
 * The value at the cut is the saved one when the site has changed since. Its share of the peak is
 * what was saved at the first change after that peak, or what it holds if there was none.
 */
static int64_t peak_at_cut(const struct snapshot *s, const struct abi_site *site, uint32_t slot)
{
	const struct abi_proc *proc = &s->programs->procs[slot];
	bool proc_saved = proc->cut_epoch == s->cut;
	uint32_t epoch = proc_saved ? proc->cut_peak_epoch : proc->peak_epoch;

	if (site->cut_epoch == s->cut)
		return site->cut_peak_bytes;
	return site->peak_epoch == epoch ? site->peak_bytes : site->now.live_bytes;
}

static int on_sites(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_site_key *key = keys;
	const struct abi_site *value = values;
	struct snapshot *s = userdata;

	for (size_t i = 0; i < n; i++) {
		struct snapshot_site *site;

		if (!wanted(s, key[i].slot))
			continue;
		site = site_get(s, key[i].slot, key[i].fn, key[i].stack);
		if (!site)
			return -ENOMEM;
		site->touched = true;
		add_counts(&site->counts,
			   value[i].cut_epoch == s->cut ? &value[i].cut : &value[i].now);
		site->peak_bytes += peak_at_cut(s, &value[i], key[i].slot);
	}
	return 0;
}

static void add_age(struct snapshot_site *site, uint32_t tick)
{
	if (tick < site->oldest_tick)
		site->oldest_tick = tick;
	if (tick > site->newest_tick)
		site->newest_tick = tick;
}

/* Had the process freed an inherited block at that address before its fork number `era`? */
static bool had_shed(const struct snapshot *s, uint32_t slot, uint64_t block, uint32_t era)
{
	struct shed_block key = { .key = ABI_BLOCK_KEY(slot, ABI_BLOCK_ADDR(block)) };
	const struct shed_block *found = hashmap_find(s->shed, &key);

	return found && found->era < era;
}

/* Did `slot` get, by fork, a block of another process that was freed there at era `freed`? */
static bool inherits(const struct snapshot *s, uint32_t slot, uint64_t block, uint32_t born,
		     uint32_t freed)
{
	const struct abi_proc *procs = s->programs->procs;
	uint32_t owner = ABI_BLOCK_SLOT(block), era;

	/* Each step is an older process: the chain ends. */
	while (procs[slot].parent != ABI_NO_SLOT) {
		era = procs[slot].parent_era;
		slot = procs[slot].parent;
		if (slot == owner)
			return born < era && era <= freed;
		if (had_shed(s, slot, block, era))
			return false;
	}
	return false;
}

static int add_inherited(struct snapshot *s, uint64_t key, const struct abi_block *block,
			 uint32_t freed)
{
	int64_t size = ABI_BLOCK_SIZE(block);
	const uint32_t *child;

	for (child = s->forked.data; child < s->forked.data + s->forked.len; child++) {
		struct snapshot_site *site;

		if (!inherits(s, *child, key, block->era, freed))
			continue;
		site = site_get(s, *child, ABI_BLOCK_FN(block), block->stack);
		if (!site)
			return -ENOMEM;
		site->inherited_bytes += size;
		site->inherited_blocks++;
		site->counts.live_bytes += size;
		site->counts.live_blocks++;
		site->peak_bytes += size;
		add_age(site, block->tick);
	}
	return 0;
}

static int on_blocks(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_block *block = values;
	const uint64_t *key = keys;
	struct snapshot *s = userdata;

	for (size_t i = 0; i < n; i++) {
		uint32_t slot = ABI_BLOCK_SLOT(key[i]);

		if (wanted(s, slot)) {
			struct snapshot_site *site =
				site_get(s, slot, ABI_BLOCK_FN(&block[i]), block[i].stack);

			if (!site)
				return -ENOMEM;
			add_age(site, block[i].tick);
		}
		if (s->forked.len) {
			int r = add_inherited(s, key[i], &block[i], UINT32_MAX);

			if (r)
				return r;
		}
	}
	return 0;
}

static int on_tombs(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_tomb_key *key = keys;
	const struct abi_tomb *tomb = values;

	for (size_t i = 0; i < n; i++) {
		int r;

		if (key[i].n == 0)
			continue;
		r = add_inherited(userdata, key[i].block, &tomb[i].block, tomb[i].freed_era);
		if (r)
			return r;
	}
	return 0;
}

static int on_shed(const void *keys, const void *values, size_t n, void *userdata)
{
	const uint64_t *key = keys;
	const uint32_t *era = values;
	struct snapshot *s = userdata;

	for (size_t i = 0; i < n; i++) {
		struct shed_block *shed = malloc(sizeof(*shed));
		int r;

		if (!shed)
			return -ENOMEM;
		*shed = (struct shed_block){ key[i], era[i] };
		r = hashmap_insert(s->shed, shed);
		if (r)
			free(shed);
		if (r && r != -EEXIST)
			return r;
	}
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct snapshot_site *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int sort_sites(struct snapshot *s)
{
	s->sorted = calloc(s->order.len + 1, sizeof(*s->sorted));
	if (!s->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->order.len; i++)
		s->sorted[i] = *s->order.data[i];
	qsort(s->sorted, s->order.len, sizeof(*s->sorted), compare_sites);
	return 0;
}

static int read_maps(struct snapshot *s)
{
	const struct memtraced_bpf *skel = s->programs->skel;
	int r = bpf_batch_read(bpf_map__fd(skel->maps.sites), sizeof(struct abi_site_key),
			       sizeof(struct abi_site), on_sites, s);

	if (r == 0 && s->forked.len)
		r = bpf_batch_read(bpf_map__fd(skel->maps.shed), sizeof(uint64_t), sizeof(uint32_t),
				   on_shed, s);
	if (r == 0)
		r = bpf_batch_read(bpf_map__fd(skel->maps.blocks), sizeof(uint64_t),
				   sizeof(struct abi_block), on_blocks, s);
	if (r == 0 && s->forked.len)
		r = bpf_batch_read(bpf_map__fd(skel->maps.tombs), sizeof(struct abi_tomb_key),
				   sizeof(struct abi_tomb), on_tombs, s);
	return r ? r : sort_sites(s);
}

int snapshot_new(const struct programs *programs, const struct snapshot_process *processes,
		 size_t n, struct snapshot **ret_snapshot)
{
	_cleanup_(snapshot_free_p) struct snapshot *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->programs = programs;
	s->processes = processes;
	s->n_processes = n;
	s->cut = programs->control->cut_epoch;
	for (size_t i = 0; i < n; i++) {
		if (!processes[i].wanted || !processes[i].forked)
			continue;
		r = vec_push(&s->forked, processes[i].slot);
		if (r)
			return r;
	}
	r = hashmap_new(&site_ops, &s->by_key);
	if (r == 0)
		r = hashmap_new(&shed_ops, &s->shed);
	if (r)
		return r;
	r = read_maps(s);
	if (r)
		return r;
	*ret_snapshot = TAKE_PTR(s);
	return 0;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	hashmap_free(snapshot->by_key);
	hashmap_free(snapshot->shed);
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

/* --- purging --------------------------------------------------------------------------------- */

struct purge {
	const bool *slots;
	size_t n_slots;
	size_t key_size;
	uint32_t (*slot_of)(const void *key);
	VEC(unsigned char) keys;
};

static uint32_t slot_of_site(const void *key)
{
	return ((const struct abi_site_key *)key)->slot;
}

/* Keys of blocks, tombs, shed blocks and code starts begin with a block key. */
static uint32_t slot_of_block(const void *key)
{
	return ABI_BLOCK_SLOT(*(const uint64_t *)key);
}

static int collect_keys(const void *keys, const void *values, size_t n, void *userdata)
{
	struct purge *purge = userdata;

	(void)values; /* the key tells the slot */
	for (size_t i = 0; i < n; i++) {
		const unsigned char *key = (const unsigned char *)keys + i * purge->key_size;
		uint32_t slot = purge->slot_of(key);

		if (slot >= purge->n_slots || !purge->slots[slot])
			continue;
		if (vec_reserve(&purge->keys, purge->keys.len + purge->key_size))
			return -ENOMEM;
		memcpy(purge->keys.data + purge->keys.len, key, purge->key_size);
		purge->keys.len += purge->key_size;
	}
	return 0;
}

static int purge_map(const struct bpf_map *map, struct purge *purge)
{
	int fd = bpf_map__fd(map), r;

	purge->key_size = bpf_map__key_size(map);
	purge->keys.len = 0;
	r = bpf_batch_read(fd, purge->key_size, bpf_map__value_size(map), collect_keys, purge);
	for (size_t at = 0; at < purge->keys.len && r == 0; at += purge->key_size)
		(void)bpf_map_delete_elem(fd, purge->keys.data + at); /* gone already: fine */
	return r;
}

int snapshot_purge(const struct programs *programs, const bool *slots, size_t n_slots)
{
	const struct memtraced_bpf *skel = programs->skel;
	const struct bpf_map *by_block[] = { skel->maps.blocks, skel->maps.tombs, skel->maps.shed,
					     skel->maps.code_starts };
	struct purge purge = { .slots = slots, .n_slots = n_slots, .slot_of = slot_of_site };
	int r = purge_map(skel->maps.sites, &purge);

	purge.slot_of = slot_of_block;
	for (size_t i = 0; i < sizeof(by_block) / sizeof(by_block[0]) && r == 0; i++)
		r = purge_map(by_block[i], &purge);
	vec_done(&purge.keys);
	return r;
}
