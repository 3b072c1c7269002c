/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loss records: blocks of one class that were allocated at the same place, merged, ordered and
 * numbered as memcheck does. Made for each check from its verdicts; an earlier check's records give
 * what has changed since. One thread.
 */
#ifndef MEMTRACED_ANALYZE_LOSS_RECORDS_H
#define MEMTRACED_ANALYZE_LOSS_RECORDS_H

#include "analyze/reach.h"
#include "analyze/suppressions.h"

struct loss_records;

/* A place of allocation: what tells frames apart (addresses), innermost first. */
struct loss_stack {
	const uint64_t *frames;
	size_t n;
};

struct loss_input {
	const struct reach_block *blocks;
	const struct reach_verdict *verdicts;
	const uint32_t *stacks_of; /* each block's index in `stacks` */
	size_t n_blocks;
	const struct loss_stack *stacks;
	size_t n_stacks;
};

/* Sets of classes are 1 << enum reach_class. */
#define LOSS_DEFAULT_CLASSES ((1U << REACH_DEFINITE) | (1U << REACH_POSSIBLE))

enum loss_resolution { LOSS_LOW, LOSS_MED, LOSS_HIGH }; /* 2, 4 frames, all of num_callers */

/* Which records are shown when there is an earlier check. */
enum loss_delta { LOSS_ANY, LOSS_INCREASED, LOSS_CHANGED };

struct loss_opts {
	enum loss_resolution resolution;
	size_t num_callers; /* frames that tell places apart; 0: all */
	uint32_t show, errors;
	enum loss_delta delta;
};

/* Those of the earlier check are 0 without one. Indirect: what hangs on a definite record. */
struct loss_record {
	enum reach_class class;
	uint32_t
		stack; /* index in `stacks` of its first block; LOSS_NO_STACK: nothing left of it */
	uint64_t blocks, bytes, indirect_bytes;
	uint64_t old_blocks, old_bytes, old_indirect_bytes;
	bool is_new;	 /* there was an earlier check, and it had no such blocks */
	bool shown;	 /* by `show`, `delta` and suppressions */
	bool error;	 /* by `errors` and suppressions */
	int suppression; /* of struct suppressions, or -1 */
};

#define LOSS_NO_STACK UINT32_MAX

struct loss_sum {
	uint64_t blocks, bytes, old_blocks, old_bytes;
};

struct loss_totals {
	struct loss_sum classes[REACH_CLASSES];	      /* without what is suppressed */
	struct loss_sum suppressed;		      /* of all classes */
	struct loss_sum heuristics[REACH_HEURISTICS]; /* of reachable blocks, suppressed ones too */
	size_t shown, errors;			      /* records */
	size_t suppressed_errors;		      /* records that would have been errors */
};

/* memcheck's: high, 12 callers, definite and possible. */
void loss_opts_init(struct loss_opts *opts);

/*
 * `earlier` (or NULL) is only looked at meanwhile; both must have the same resolution, num_callers
 * and struct suppressions. 0; -EINVAL: they do not, or a stack's index is too high; -ENOMEM.
 */
int loss_records_new(const struct loss_input *input, const struct loss_opts *opts,
		     const struct loss_records *earlier, struct loss_records **ret_records);
/* None, but with these totals: of a check that others have made. 0 or -ENOMEM. */
int loss_records_of_totals(const struct loss_totals *totals, struct loss_records **ret_records);
void loss_records_free(struct loss_records *records);
DEFINE_CLEANUP(struct loss_records, loss_records_free)

/*
 * The frames of stack `stack` as suppressions want them, valid until the next call; their number,
 * or a negative errno. Behind them are those that records are not told apart by, *ret_all with
 * them: what libraries hold by design may be known by these.
 */
typedef int (*loss_frames_fn)(void *ctx, uint32_t stack, const struct suppression_frame **ret,
			      size_t *ret_all);

/*
 * Asks for each record whether it is suppressed, and counts that there; what both the user's and
 * the default entries suppress is the user's unless `default_first`. Once, before the records are
 * shown. 0, -ENOMEM or what `frames` returned.
 */
int loss_records_suppress(struct loss_records *records, struct suppressions *suppressions,
			  bool default_first, loss_frames_fn frames, void *ctx);

/* Takes out those that suppressions from `first` on suppress, and returns their sum. */
struct loss_sum loss_records_take_out(struct loss_records *records, size_t first);

/* Ascending by size, as memcheck prints them: the number of the record at index i is i + 1. */
size_t loss_records_n(const struct loss_records *records);
const struct loss_record *loss_records_get(const struct loss_records *records, size_t index);
/* Valid until the records are freed or suppressed. */
const struct loss_totals *loss_records_totals(const struct loss_records *records);
/* There was an earlier check: numbers have a "(+N)". */
bool loss_records_have_delta(const struct loss_records *records);

#endif
