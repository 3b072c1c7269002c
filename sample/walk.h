/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the calling thread's stack, from inside. Most stacks differ from the one before in their
 * innermost frames alone, so the last one is kept: where a walk comes to one of its frames in the
 * same registers, memory is compared from there on, and nothing is looked up. Innermost frames of
 * some stacks before that are kept, too. The steps are those of the BPF programs
 * (bpf/unwind_steps.h). A walker belongs to one thread.
 */
#ifndef MEMTRACED_SAMPLE_WALK_H
#define MEMTRACED_SAMPLE_WALK_H

#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stdint.h>

/* Registers of a caller, as they are when the call has returned. */
struct walk_registers {
	uint64_t pc, sp, bp, bx;
};

struct walk_frame {
	uint64_t pc, sp;
	uint64_t bp; /* in a path: of an earlier stack, unless it needs it */
	/* The caller's frame pointer is so far from the caller's sp; 0: it is the same. */
	int32_t bp_at;
	uint16_t flags;	   /* ABI_BOOK_EXACT, ABI_BOOK_GUIDED */
	bool is_plain : 1; /* what the caller is goes by the stack's words alone */
	bool by_bp : 1;	   /* and where they are, by the frame pointer */
	bool needs_bp : 1; /* in a path: it goes by that, or one of its callers by the same value */
	uint32_t words;	   /* in a path: that it and its callers were found by */
	uint32_t node;	   /* the caller's own; 0 in frames that are new */
};

/* A word of the stack by which a frame's caller was found. */
struct walk_word {
	const uint64_t *at;
	uint64_t value;
};

/*
 * A stack of before: from a frame in these registers the words of the stack are these up to a frame
 * of the path, and all of it is this node of the caller's.
 */
#define WALK_RECALLED_WORDS 14
struct walk_recalled {
	uint64_t pc, sp, bp;
	bool needs_bp; /* else that may be another one */
	uint8_t n_words;
	uint32_t node; /* 0: none is recalled here */
	uint32_t epoch;
	uint32_t base, base_node; /* place and node of the frame of the path */
	uint64_t base_sp, base_bp;
	uint32_t at[WALK_RECALLED_WORDS]; /* bytes from sp, below base_sp */
	uint64_t value[WALK_RECALLED_WORDS];
};
#define WALK_RECALLED 64
#define WALK_RECALLED_WAYS 8

/* Memory that has been found to be readable: whole pages. */
struct walk_range {
	uint64_t low, high;
};

struct walker {
	/* The last stack from its root on, as far as it can be compared. */
	uint32_t n_path;
	uint32_t path_epoch;
	struct walk_range home, other;
	/* Of the stack that walk() has found: frames of the path from its root on, and */
	uint32_t joined;
	uint32_t n_fresh; /* others, the innermost first. */
	uint8_t cut;	  /* enum abi_stack_cut */
	bool has_root;	  /* a rule says that it begins there */
	struct walk_frame path[ABI_MAX_FRAMES];
	struct walk_word words[2 * ABI_MAX_FRAMES];
	struct walk_frame fresh[ABI_MAX_FRAMES + 1];
	uint32_t n_noted;
	uint32_t more_recalled; /* hashes in use beside the first one, to a power of two */
	struct walk_recalled recalled[WALK_RECALLED][WALK_RECALLED_WAYS]; /* by registers */
};

/*
 * Walks from the caller with these registers; the walker says what was found. The caller gives each
 * new frame its node, and then calls walk_keep().
 */
void walk(struct walker *w, const struct walk_registers *from);

/* Frame i from the innermost out of the stack that was found; NULL: there are fewer. */
const struct walk_frame *walk_frame_at(const struct walker *w, uint32_t i);

/*
 * Walks and keeps nothing: is the frame with this sp and pc a caller of the innermost one? Behind
 * a signal's frame: its handler runs. Cut: that is not known.
 */
enum walk_meeting { WALK_MEETS, WALK_MEETS_INTERRUPTED, WALK_MEETS_NOT, WALK_IS_CUT };
enum walk_meeting walk_meets(struct walker *w, const struct walk_registers *from, uint64_t sp,
			     uint64_t pc);

/* Is there memory at the begin of this page? */
bool walk_can_read(uint64_t page);

/* The stack is the last one from now on. */
void walk_keep(struct walker *w);

/*
 * Before system calls are filtered (book_is_filtered()), after which the kernel is not asked: all
 * memory that can be read, by rising addresses.
 */
void walk_note_readable(uint64_t low, uint64_t high);

/*
 * The node of the stack from these registers on, where it is one that was noted: found without a
 * rule, by comparing words. 0: it is to be walked. What the walker says of a stack is not of this
 * one.
 */
uint32_t walk_recall(const struct walker *w, const struct walk_registers *from);

/* The stack from there, which walk_keep() has just kept, has this node. */
void walk_note(struct walker *w, const struct walk_registers *from, uint32_t node);

#endif
