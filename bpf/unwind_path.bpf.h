/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last stack that was walked whole on this CPU, from its root on. Most stacks differ from the
 * one before in their innermost frames alone: where a walk comes to a frame of that stack in the
 * same registers, it has but to see that memory holds the same words wherever it would read.
 * Nothing is assumed: a frame's address, its registers, the rules (of one seed, as in
 * unwind_cache.bpf.h) and these words are all that decides who called it. If one of them differs,
 * the walk goes on by rules from where it met the path.
 *
 *   frame[0] <- frame[1] <- ... frame[k] <- ... frame[count - 1]
 *   the root                                   the innermost; by_sp: which k may have that sp
 *
 * Hashes are folded from the root on, too, so that the one of any frame and its callers is there.
 * A path has steps from the stack pointer or the frame pointer by a constant only, none in which a
 * signal frame, a frame pointer for want of rules or a replaced return address had a part, and it
 * begins where END is the rule.
 */
#ifndef MEMTRACED_UNWIND_PATH_BPF_H
#define MEMTRACED_UNWIND_PATH_BPF_H

#include "unwind_cache.bpf.h"
#include "unwind_window.bpf.h"

#define PATH_FRAMES (ABI_MAX_FRAMES + 1)
#define PATH_WORDS (2 * PATH_FRAMES)
#define PATH_PLACES 512
/*
 * Rounds of one global function. A call costs as much as ten words (where returns are guarded
 * against speculation, 6 ns), a word 15 instructions of the verifier's.
 */
#define PATH_CHECKS_AT_ONCE 16
#define PATH_FOLDS_AT_ONCE 3
/* Frames further below the root are in no path. */
#define PATH_EXTENT (256 * 1024)
/* Of path_check() in a walk: by words, and by windows, which may have but the rest of a page. */
#define PATH_CALLS (PATH_WORDS / PATH_CHECKS_AT_ONCE + PATH_EXTENT / UNWIND_PAGE + 2)
/* Each costs a call, and what was checked in vain. */
#define PATH_MISSES 3
#define PATH_NEVER (~0ULL)

struct path_frame {
	__u64 pc, sp, bp;
	__u64 words; /* that it and its callers were found by */
	__u64 hash;
};

/* A per-CPU value may have 32 KiB at most. */
struct unwind_path {
	__u64 seed;
	__u64 count;
	__u16 by_sp[PATH_PLACES];
	struct path_frame frame[PATH_FRAMES];
	/*
	 * Words of the stack: return addresses and saved frame pointers. below: how many words each
	 * lies below the root's sp, rising. Word 0 is no word of the stack.
	 */
	__u64 value[PATH_WORDS];
	__u16 below[PATH_WORDS];
};
_Static_assert(sizeof(struct unwind_path) <= 32768, "PCPU_MIN_UNIT_SIZE");
/* below[0]: outside of each window that has a word of the path. */
#define PATH_NO_WORD 0xffff
_Static_assert(PATH_NO_WORD * 8 > PATH_EXTENT + 2 * 8 * UNWIND_WINDOW, "of no window");

/* Of who has taken the CPU's first scratch. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_path);
} unwind_paths SEC(".maps") __weak;

static __always_inline struct unwind_path *unwind_path(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&unwind_paths, &first);
}

static __always_inline struct path_frame *path_frame(struct unwind_path *path, __u64 k)
{
	barrier_var(k);
	return &path->frame[k & (PATH_FRAMES - 1)];
}

static __always_inline __u64 path_word_address(const struct unwind_path *path, __u64 n)
{
	return path->frame[0].sp - path->below[n & (PATH_WORDS - 1)] * 8ULL;
}

/* Frames are 16 bytes apart at least. */
static __always_inline __u16 *path_place(struct unwind_path *path, __u64 sp)
{
	return &path->by_sp[sp >> 4 & (PATH_PLACES - 1)];
}

static __always_inline void path_begin(struct stack_scratch *s)
{
	const struct unwind_path *path = unwind_path();
	struct unwind_walk *w = &s->walk;

	w->path_frames = !s->level && path && path->seed == w->seed ? path->count : 0;
	w->path_above = 0;
	w->path_from = w->at.exact;
	w->joined = 0;
	w->misses = 0;
}

/* Is the walk at a frame of the path? Then the rest of that has to be checked. */
static __always_inline bool path_meet(struct unwind_walk *w)
{
	struct unwind_path *path = unwind_path();
	const struct path_frame *f;
	__u64 k;

	if (!path)
		return false;
	k = *path_place(path, w->at.sp);
	f = path_frame(path, k);
	if (f->sp != w->at.sp || f->pc != w->at.pc || f->bp != w->at.bp || w->at.exact)
		return false;
	if (k >= w->path_frames || w->at.sp <= w->path_above || w->frames + k >= w->kept)
		return false;
	w->joined = k + 1;
	w->unchecked = f->words;
	if (w->window_at & 7)
		w->window_len = 0; /* so that words are whole ones of the window */
	return true;
}

/* Another word is there: what is above it may still be as it was. */
static __always_inline int path_miss(struct unwind_walk *w, __u64 address)
{
	w->joined = 0;
	w->path_above = address;
	if (++w->misses == PATH_MISSES)
		w->path_frames = 0;
	return 1;
}

/*
 * The window gets the word n of the path, and what there is behind it up to the root. False: that
 * cannot be read, and the path is left.
 */
static __always_inline bool path_window(struct stack_scratch *s, struct unwind_path *path, __u64 n)
{
	__u64 address = path_word_address(path, n), rest = path->frame[0].sp - address;
	struct unwind_walk *w = &s->walk;

	if (address - w->window_at < w->window_len)
		return true;
	w->window_next = rest < sizeof(w->window) ? rest : sizeof(w->window);
	if (unwind_refill(scratch_tell(s), address, 8))
		return true;
	path_miss(w, address);
	return false;
}

/*
 * Words of the path that was met, or is met now: a few, or up to the window's end. 0 when the walk
 * is over.
 */
VERIFIED_ONCE_NUMBERS int path_check(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_path *path = unwind_path();
	__u64 n, at, word, root_at, window_len;
	struct unwind_walk *w;
	bool differs = false;
	int i;

	if (!s || !path)
		return 0;
	w = &s->walk;
	if (!w->joined && !path_meet(w))
		return 1;
	n = w->unchecked;
	if (n && !path_window(s, path, n))
		return 1;
	root_at = (path->frame[0].sp - w->window_at) / 8;
	/* Where a word is looked for in vain, the window is the path's. */
	window_len = n ? w->window_len / 8 : 0;
	/* What ends a round is done behind them all: else the verifier walks it each time. */
	for (i = 0; i < PATH_CHECKS_AT_ONCE; i++) {
		word = n & (PATH_WORDS - 1);
		at = root_at - path->below[word];
		if (at >= window_len)
			break;
		differs = w->window[at & (UNWIND_WINDOW - 1)] != path->value[word];
		if (differs)
			break;
		n--;
		barrier_var(n);
	}
	if (differs)
		return path_miss(w, path_word_address(path, n));
	w->unchecked = n;
	if (n)
		return 1;
	w->at.sp = path->frame[0].sp;
	w->hash = path_frame(path, w->joined - 1)->hash;
	return unwind_cut(w, ABI_CUT_NONE);
}

static __always_inline void path_add_word(struct unwind_path *path, __u64 n, __u64 below,
					  __u64 value)
{
	path->below[n & (PATH_WORDS - 1)] = below;
	path->value[n & (PATH_WORDS - 1)] = value;
}

/* A frame that calls, or is called by, none but the last that was added. */
static __always_inline void path_add(struct unwind_path *path, struct unwind_walk *w, __u64 pc,
				     const struct unwind_from *from, __u64 hash)
{
	__u64 k = w->path_count, n = 0, below;
	struct path_frame *f = path_frame(path, k), *caller;

	if (!k) {
		path_add_word(path, 0, PATH_NO_WORD, 0);
	} else {
		if (path->frame[0].sp - from->sp > PATH_EXTENT) {
			w->path_from = PATH_NEVER;
			return;
		}
		caller = path_frame(path, k - 1);
		n = caller->words;
		below = (path->frame[0].sp - caller->sp) / 8;
		path_add_word(path, ++n, below + 1, caller->pc);
		if (from->words)
			path_add_word(path, ++n, below + from->words, caller->bp);
	}
	f->pc = pc;
	f->sp = from->sp;
	f->bp = from->bp;
	f->words = n;
	f->hash = hash;
	*path_place(path, from->sp) = k;
	path->count = k + 1;
	path->seed = w->seed;
	w->path_count = k + 1;
}

/* Folds a few of the walk's own frames, the outermost first, and adds them to the path. */
VERIFIED_ONCE_NUMBERS int path_fold(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_path *path = unwind_path();
	struct unwind_walk *w;
	__u64 n, at, hash;
	int i;

	if (!s || !path)
		return 0;
	w = &s->walk;
	n = w->to_fold;
	hash = w->hash;
	for (i = 0; i < PATH_FOLDS_AT_ONCE && n; i++) {
		at = --n;
		barrier_var(at);
		if (at >= ABI_MAX_FRAMES)
			return 0;
		hash = unwind_fold(hash, s->ev.frame[at]);
		if (w->from[at].sp & 7)
			w->path_from = PATH_NEVER;
		if (n >= w->path_from)
			path_add(path, w, s->ev.frame[at], &w->from[at], hash);
	}
	w->hash = hash;
	w->to_fold = n;
	return n;
}

/* The walk is over: folds its own frames, adds to the path those that can be. */
VERIFIED_ONCE_NUMBERS int path_end(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_walk *w;
	int i;

	if (!s)
		return 0;
	w = &s->walk;
	w->to_fold = w->frames;
	w->path_count = w->joined;
	if (w->cut || s->level)
		w->path_from = PATH_NEVER;
	for (i = 0; i <= ABI_MAX_FRAMES / PATH_FOLDS_AT_ONCE; i++)
		if (!path_fold(ref))
			break;
	return 0;
}

/* The frames that the walk shares with the path, a few from the i-th of them on, into the event. */
VERIFIED_ONCE_NUMBERS int path_copy(scratch_ref ref, __u32 i)
{
	struct stack_scratch *s = scratch_told(ref);
	struct unwind_path *path = unwind_path();
	__u64 at;
	int n;

	if (!s || !path)
		return 0;
	for (n = 0; n < PATH_FOLDS_AT_ONCE; n++, i++) {
		at = s->walk.frames + i;
		barrier_var(at);
		if (i >= s->walk.joined || at >= ABI_MAX_FRAMES)
			return 0;
		s->ev.frame[at] = path_frame(path, s->walk.joined - 1 - i)->pc;
	}
	return 1;
}

/* All frames of the stack that unwind() has walked are wanted. */
VERIFIED_ONCE_NUMBERS int path_copy_frames(scratch_ref ref)
{
	struct stack_scratch *s = scratch_told(ref);
	__u32 i;

	if (!s || !(s->ev.flags & ABI_STACK_CFI) || !s->walk.joined)
		return 0;
	for (i = 0; i < ABI_MAX_FRAMES; i += PATH_FOLDS_AT_ONCE)
		if (!path_copy(ref, i))
			break;
	return 0;
}

#endif
