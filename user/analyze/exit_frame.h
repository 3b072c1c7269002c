/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a thread's stack ended when it called exit(3). What exit handlers use of it since then is
 * laid over dead frames, whose stale words then look as if they were in use.
 */
#ifndef MEMTRACED_ANALYZE_EXIT_FRAME_H
#define MEMTRACED_ANALYZE_EXIT_FRAME_H

#include "base/cleanup.h"

#include <stdint.h>

struct exit_frame;
struct memory;
struct worker;

/*
 * Looks for exit() in the C library, or in an executable without one; the worker reads them
 * (probe/object_reader.h). 0 or -ENOMEM.
 */
int exit_frame_new(const struct memory *memory, struct worker *worker,
		   struct exit_frame **ret_frame);
void exit_frame_free(struct exit_frame *frame); /* NULL is legal */
DEFINE_CLEANUP(struct exit_frame, exit_frame_free)

/* The stack pointer at the call, for a thread that now stands at `sp`; `sp` when it is not seen. */
uint64_t exit_frame_find(const struct exit_frame *frame, uint64_t sp, uint64_t stack_end);

#endif
