/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the inner end of a stack looks in Valgrind, which replaces the functions that a program
 * calls, where we see those that are called in the end. Pure.
 */
#ifndef MEMTRACED_ANALYZE_ALLOC_FRAMES_H
#define MEMTRACED_ANALYZE_ALLOC_FRAMES_H

#include "analyze/supp_types.h"

/* Is it one of the functions that massif takes for allocators: malloc, operator new, ...? */
bool alloc_frames_is_allocator(const struct suppression_frame *frame);

/*
 * How many frames at the start of a stack are allocator functions called by operator new: malloc by
 * that, and that by operator new[]; the same of free and operator delete. Reports leave them out,
 * as Valgrind has no such frames.
 */
size_t alloc_frames_inner(const struct suppression_frame *frames, size_t n);

/*
 * Valgrind 3.19 has a frame "memalign" within posix_memalign (*ret_skip is 0) and instead of
 * aligned_alloc (1). False: the stack begins with neither.
 */
bool alloc_frames_memalign(const struct suppression_frame *frames, size_t n, size_t *ret_skip);

/*
 * What Valgrind calls the function in suppressions of its argument: where the name begins, and its
 * length.
 */
const char *alloc_frames_valgrind_name(const struct suppression_frame *frame, size_t *ret_len);

#endif
