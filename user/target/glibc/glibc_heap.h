/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks that a program holds in glibc's malloc, read from its memory by the layout of glibc
 * 2.30 to 2.43 (target/glibc/glibc_layout.h): main arena, arenas of threads, mapped chunks;
 * without what lies in fastbins and threads' caches. Works on a callback, of memory that does not
 * change meanwhile. What is not as it should be is not guessed: it is left out, and counted. Any
 * thread.
 */
#ifndef MEMTRACED_TARGET_GLIBC_GLIBC_HEAP_H
#define MEMTRACED_TARGET_GLIBC_GLIBC_HEAP_H

#include "base/cleanup.h"
#include "target/glibc/glibc_types.h"

/* 0 or -ENOMEM. */
int glibc_heap_new(const struct glibc_source *source, struct glibc_heap **ret_heap);
void glibc_heap_free(struct glibc_heap *heap); /* NULL is legal */
DEFINE_CLEANUP(struct glibc_heap, glibc_heap_free)

/*
 * The main arena's memory by brk, as far as its chunks follow each other: up to where another
 * caller of sbrk(2) came between. Needs no threads. false: there is none, or it cannot be read.
 */
bool glibc_brk_extent(const struct glibc_source *source, uint64_t *ret_start, uint64_t *ret_end);

/* Is it all as it should be? */
bool glibc_heap_is_sound(const struct glibc_heap *heap);

#endif
