/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a code address to its rule by the tables of unwind_maps.bpf.h.
 *
 * The steps of a search are a function's whose arguments the verifier does not know: it then takes
 * all ways through one step for one and the same, where from a constant on it would follow each of
 * the 2^20 to its end.
 */
#ifndef MEMTRACED_UNWIND_FIND_BPF_H
#define MEMTRACED_UNWIND_FIND_BPF_H

#include "stack_scratch.bpf.h"
#include "unwind_cache.bpf.h"
#include "unwind_maps.bpf.h"

/* What unwind_find() says in place of a code. */
enum {
	UNWIND_NO_MAPPING = 1 << 16,
	UNWIND_NOT_EXACT, /* the object's rows are right for return addresses only */
};

static __always_inline struct abi_unwind_mapping *mapping_at(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_mappings, &i);
}

static __always_inline bool in_mapping(const struct abi_unwind_mapping *m, __u64 address)
{
	return m->start && address - m->start < m->len;
}

/* Steps of a search, and recent mappings, that are one global function's loop. */
#define SEARCH_STEPS_AT_ONCE 4
#define RECENT_AT_ONCE 8

/* A few steps towards the last of n sorted mappings that begins at or below the address. */
VERIFIED_ONCE_NUMBERS __u32 sorted_steps(__u32 first, __u32 n, __u64 address, __u32 from,
					 __u32 step)
{
	struct abi_unwind_mapping *m;
	int i;

	for (i = 0; i < SEARCH_STEPS_AT_ONCE; i++, step >>= 1) {
		if (from + step >= n)
			continue;
		m = mapping_at(first + from + step);
		if (m && m->start <= address)
			from += step;
	}
	return from;
}

/* The last of n sorted mappings that begins at or below the address. Up to 2^16 of a process. */
static __always_inline __u32 sorted_mapping(__u32 first, __u32 n, __u64 address)
{
	__u32 step, from = 0;

	for (step = 1U << 15; step; step >>= SEARCH_STEPS_AT_ONCE)
		from = sorted_steps(first, n, address, from, step);
	return from;
}

/* The newest from a number on down that holds the address, of `news` and of a few: its number. */
VERIFIED_ONCE __u32 recent_number(const struct abi_unwind_space *space, __u64 address, __u32 newest,
				  __u32 news)
{
	const struct abi_unwind_mapping *m;
	__u32 i;

	if (!space)
		return 0;
	for (i = 0; i < RECENT_AT_ONCE; i++) {
		if (i >= news)
			return 0;
		m = &space->recent[(newest - i) % ABI_UNWIND_RECENT];
		if (m->number == newest - i && in_mapping(m, address))
			return newest - i;
	}
	return 0;
}

/* The newest recent mapping that holds the address, or NULL. */
static __always_inline struct abi_unwind_mapping *recent_mapping(struct abi_unwind_space *space,
								 __u64 address, __u32 newest,
								 __u32 news)
{
	__u32 i, number;

	for (i = 0; i < ABI_UNWIND_RECENT; i += RECENT_AT_ONCE) {
		if (i >= news)
			return NULL;
		number = recent_number(space, address, newest - i, news - i);
		if (number)
			return &space->recent[number % ABI_UNWIND_RECENT];
	}
	return NULL;
}

static __always_inline bool take_mapping(const struct abi_unwind_mapping *m,
					 const struct abi_unwind_space *space, __u32 slot,
					 struct abi_unwind_mapping *ret)
{
	*ret = *m;
	return ret->object && space->slot == slot;
}

static __always_inline bool is_lost(const struct abi_unwind_space *space, __u64 address)
{
	__u32 i;

	for (i = 0; i < ABI_UNWIND_LOST; i++)
		if (i < space->n_lost && address >= space->lost_ranges[i].start &&
		    address < space->lost_ranges[i].end)
			return true;
	return false;
}

/*
 * The newest of the recent mappings that holds the address, else the sorted one. False when no code
 * is known there, or when not all that happened there since the sorting is known.
 */
static __always_inline bool find_mapping(__u32 slot, __u64 address, struct abi_unwind_mapping *ret)
{
	struct abi_unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &slot);
	__u64 *word = bpf_map_lookup_elem(&unwind_sorted, &slot), sorted;
	struct abi_unwind_mapping *m;
	__u32 newest, news, first;

	if (!space || !word)
		return false;
	sorted = *(volatile __u64 *)word; /* first: what is merged has been appended before */
	newest = *(volatile __u32 *)&space->appended;
	news = ABI_UNWIND_NEWS(sorted, newest);
	m = recent_mapping(space, address, newest, news);
	if (m)
		return take_mapping(m, space, slot, ret);
	if (news > ABI_UNWIND_RECENT && is_lost(space, address))
		return false;
	first = ABI_UNWIND_FIRST(sorted);
	m = mapping_at(first + sorted_mapping(first, ABI_UNWIND_N(sorted), address));
	if (!m || !ABI_UNWIND_N(sorted) || !in_mapping(m, address))
		return false;
	return take_mapping(m, space, slot, ret);
}

/* A few steps towards the last of n rows that begins at or below rel. */
static __always_inline __u32 row_steps(void *rows, __u32 first, __u32 n, __u32 rel, __u32 from,
				       __u32 step)
{
	struct abi_unwind_row *row;
	__u32 at;
	int i;

	for (i = 0; i < SEARCH_STEPS_AT_ONCE; i++, step >>= 1) {
		at = first + from;
		barrier_var(at); /* no sum of from and a step: that would tell of from */
		at += step;
		if (at >= first + n)
			continue;
		row = bpf_map_lookup_elem(rows, &at);
		if (row && row->pc <= rel)
			from += step;
	}
	return from;
}

VERIFIED_ONCE_NUMBERS __u32 steps_in_first_chunk(__u32 first, __u32 n, __u32 rel, __u32 from,
						 __u32 step)
{
	return row_steps(&unwind_rows, first, n, rel, from, step);
}

VERIFIED_ONCE_NUMBERS __u32 steps_in_chunk(__u32 first, __u32 n, __u32 rel, __u32 from, __u32 step)
{
	__u32 number = first >> ABI_UNWIND_CHUNK_SHIFT;
	void *rows = bpf_map_lookup_elem(&unwind_chunks, &number);

	return rows ? row_steps(rows, ABI_UNWIND_CHUNK_ROW(first), n, rel, from, step) : 0;
}

/* The rule number of the row at `at`, which is the last that begins at or below rel; else 0. */
static __always_inline __u32 rule_at(void *rows, __u32 at, __u32 rel)
{
	struct abi_unwind_row *row = bpf_map_lookup_elem(rows, &at);

	return row && row->pc <= rel ? row->rule : 0;
}

static __always_inline __u32 rule_in_first_chunk(__u32 first, __u32 n, __u32 rel)
{
	__u32 step, from = 0;

	for (step = ABI_UNWIND_CHUNK_ROWS / 2; step; step >>= SEARCH_STEPS_AT_ONCE)
		from = steps_in_first_chunk(first, n, rel, from, step);
	return rule_at(&unwind_rows, first + from, rel);
}

static __always_inline __u32 rule_in_chunk(__u32 first, __u32 n, __u32 rel)
{
	__u32 number = first >> ABI_UNWIND_CHUNK_SHIFT, step, from = 0;
	void *rows = bpf_map_lookup_elem(&unwind_chunks, &number);

	if (n > ABI_UNWIND_CHUNK_ROWS)
		from = steps_in_chunk(first, n, rel, from, 1U << (ABI_UNWIND_CHUNK_SHIFT - 1));
	for (step = ABI_UNWIND_CHUNK_ROWS / 2; step; step >>= SEARCH_STEPS_AT_ONCE)
		from = steps_in_chunk(first, n, rel, from, step);
	return rows ? rule_at(rows, ABI_UNWIND_CHUNK_ROW(first) + from, rel) : 0;
}

static __always_inline __u32 row_rule(__u32 first, __u32 n, __u32 rel)
{
	if (!n)
		return 0;
	return first < ABI_UNWIND_CHUNK_ROWS ? rule_in_first_chunk(first, n, rel) :
					       rule_in_chunk(first, n, rel);
}

/* Is there a `syscall` instruction at the address? */
static __always_inline bool syscall_at(__u64 address)
{
	__u8 bytes[2];

	return !bpf_probe_read_user(bytes, sizeof(bytes), (void *)address) && bytes[0] == 0x0f &&
	       bytes[1] == 0x05;
}

/*
 * The address of the row for the walk's frame. A call may be the last instruction of its function,
 * so a return address is looked up one byte before it.
 */
static __always_inline bool row_address(const struct unwind_walk *w,
					const struct abi_unwind_object *object, __u64 *ret)
{
	*ret = w->at.pc - !w->at.exact;
	if (!w->at.exact || !(object->flags & ABI_UNWIND_PRUNED))
		return true;
	/* Rows behind system calls are kept: a call that is begun anew has its ip on it. */
	if (syscall_at(w->at.pc)) {
		*ret = w->at.pc + 2;
		return true;
	}
	return syscall_at(w->at.pc - 2);
}

/* The object whose code is at the address, and its mapping; NULL: none is known. */
static __always_inline struct abi_unwind_object *find_object(__u32 slot, __u64 address,
							     struct abi_unwind_mapping *ret)
{
	return find_mapping(slot, address, ret) ?
		       bpf_map_lookup_elem(&unwind_objects, &ret->object) :
		       NULL;
}

/* The number of the rule for an address in the object's mapping; 0: none. */
static __always_inline __u32 rule_in_object(const struct abi_unwind_object *object,
					    const struct abi_unwind_mapping *mapping, __u64 address)
{
	return row_rule(object->first_row, object->rows, address - mapping->start + mapping->rel);
}

/* Is there code of the process at the address? */
VERIFIED_ONCE_NUMBERS int unwind_is_code(__u32 slot, __u64 address)
{
	struct abi_unwind_mapping mapping;

	return find_mapping(slot, address, &mapping);
}

/*
 * The rule of a frame that the walk has left, which it found by rows: looked up once more, as codes
 * do not say all. Its number, 0: it is not known.
 */
VERIFIED_ONCE_NUMBERS __u32 unwind_rule_of(scratch_ref ref, __u64 frame)
{
	const struct stack_scratch *s = scratch_told(ref);
	struct abi_unwind_mapping mapping;
	struct abi_unwind_object *object;
	__u64 address;

	barrier_var(frame);
	if (!s || frame >= ABI_MAX_FRAMES)
		return 0;
	address = s->ev.frame[frame];
	if (!(s->ev.exact[frame >> 6 & (ABI_EXACT_WORDS - 1)] >> (frame & 63) & 1))
		address--;
	object = find_object(s->walk.slot, address, &mapping);
	return object ? rule_in_object(object, &mapping, address) : 0;
}

/* The code for the walk's frame, or one of the values above; what can be kept is. */
VERIFIED_ONCE_NUMBERS __u32 unwind_find(scratch_ref ref, __u64 mix)
{
	const struct stack_scratch *s = scratch_told(ref);
	struct unwind_cache *cache = unwind_cache();
	struct abi_unwind_mapping mapping;
	struct abi_unwind_object *object;
	struct abi_unwind_rule *rule;
	__u32 number, code;
	__u64 address;

	if (!s || !cache)
		return UNWIND_NO_MAPPING;
	object = find_object(s->walk.slot, s->walk.at.pc - !s->walk.at.exact, &mapping);
	if (!object)
		return UNWIND_NO_MAPPING;
	if (!row_address(&s->walk, object, &address))
		return UNWIND_NOT_EXACT;
	number = rule_in_object(object, &mapping, address);
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	code = rule ? unwind_code_short(rule) : 0;
	if (!code)
		code = number & (ABI_UNWIND_RULES - 1);
	cache->word[mix & (UNWIND_CACHE_WORDS - 1)] = (mix & ~UNWIND_CODE_MASK) | code;
	return code;
}

#endif
