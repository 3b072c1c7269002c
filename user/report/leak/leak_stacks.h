/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a leak check as memcheck would have them: the allocator's function that the program
 * called, then so many callers. Made where a check's result is read; valid as long as what
 * symbols_resolve gave (report/view/symbols.h).
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_STACKS_H
#define MEMTRACED_REPORT_LEAK_LEAK_STACKS_H

#include "analyze/valgrind_names.h"
#include "report/view/view_resolve.h"

/* Where blocks were allocated, as records have it. */
struct leak_place {
	uint64_t stack;
	uint16_t fn;
};

struct leak_frame {
	const struct view_place *place;
	const char *function, *file; /* NULL: unknown */
	uint32_t line;		     /* 0: unknown */
	size_t index;		     /* of the place in the stack */
	bool is_called;		     /* the function has jumped to the one that is at the place */
};

struct leak_stack {
	struct view_stack stack; /* all of it, malloc called by operator new included */
	size_t n_frames;	 /* without those, inlined functions as frames of their own */
	struct leak_frame *frames;
	struct suppression_frame *names; /* of each frame, and behind these of all others */
	size_t n_names;
	size_t n_keys; /* of its places: what tells stacks apart */
	uint64_t *keys;
};

struct leak_stacks {
	size_t n;
	struct leak_stack *stacks; /* in the order of the places */
};

/* Looks up the symbols as well. 0 or -ENOMEM; they have to be released in both cases. */
int leak_stacks_init(const struct view_resolver *resolver, const struct model_process *image,
		     const struct leak_place *places, size_t n, size_t num_callers,
		     struct leak_stacks *ret_stacks);
void leak_stacks_done(struct leak_stacks *stacks);

#endif
