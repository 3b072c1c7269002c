/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks by their 64-bit content hash. A stack's addresses mean something only within the
 * process and at the time that it was first seen in, which it keeps. Owned by the model.
 */
#ifndef MEMTRACED_MODEL_STACKS_H
#define MEMTRACED_MODEL_STACKS_H

#include "base/hashmap.h"
#include "base/pieces.h"
#include "trace/record/image.h"
#include "trace/record/record.h"

struct model_stack {
	uint64_t id;
	uint64_t time_ns;
	struct model_stack *other; /* the same addresses, first seen in another process */
	image_t image;
	bool truncated;
	uint64_t exact[RECORD_EXACT_WORDS]; /* as in a record; frame 0 also when `interrupted` */
	uint32_t n_frames, n_more_exact;
	struct words_piece **pieces; /* the outer frames; behind `words` */
	uint64_t words[];	     /* the innermost frames, then the record's `more_exact` */
};

/* Its address; 0 is the innermost. */
uint64_t model_stack_frame(const struct model_stack *stack, size_t frame);

/* Is it a return address, behind the call that is meant? Else the place itself. */
bool model_stack_is_call(const struct model_stack *stack, size_t frame);

struct stacks {
	struct hashmap map; /* by their ids: each is one process's, but for what recordings say */
	struct pieces pieces;
};

void stacks_init(struct stacks *ret_stacks);
void stacks_done(struct stacks *stacks);

/* Copies; a stack that is known for this process already is left as it is. 0 or -ENOMEM. */
int stacks_add(struct stacks *stacks, const struct record_stack *record);

/* Forgets those of images that are gone; `images` is sorted. 0 or -ENOMEM. */
int stacks_forget(struct stacks *stacks, const image_t *images, size_t n);

/* Those of one process each, in no order: begin with *pos = 0 and NULL; NULL at the end. */
const struct model_stack *stacks_next(const struct stacks *stacks, size_t *pos,
				      const struct model_stack *last);

/* The stack as seen in the image, else as seen first, else NULL: it was lost. */
const struct model_stack *stacks_find(const struct stacks *stacks, uint64_t id, image_t image);

#endif
