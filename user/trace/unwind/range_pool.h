/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which entries of an array are in use, where BPF programs may still read what was given up:
 * entries are handed out again only after two steps, a grace period of the kernel's and a drain of
 * the ring (trace/unwind/unwind_tables.c takes them). Not thread-safe.
 */
#ifndef MEMTRACED_TRACE_UNWIND_RANGE_POOL_H
#define MEMTRACED_TRACE_UNWIND_RANGE_POOL_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_pool;

/* Entries `first` to `end` - 1 are free. 0 or -ENOMEM. */
int range_pool_new(uint32_t first, uint32_t end, struct range_pool **ret_pool);
void range_pool_free(struct range_pool *pool); /* NULL is legal */
DEFINE_CLEANUP(struct range_pool, range_pool_free)

/* n > 0 entries in a row: the lowest that are free. 0, -ENOSPC or -ENOMEM. */
int range_pool_take(struct range_pool *pool, uint32_t n, uint32_t *ret_first);

/* These entries are not reached from now on. Without memory they are never used again. */
void range_pool_retire(struct range_pool *pool, uint32_t first, uint32_t n);

/* Entries that were retired and are not free yet. */
uint32_t range_pool_retired(const struct range_pool *pool);

/* Who came upon entries that are retired now has left them. */
void range_pool_grace(struct range_pool *pool);

/* What had its grace period before is free. */
void range_pool_reuse(struct range_pool *pool);

/* Entries that are neither free nor retired. */
uint32_t range_pool_used(const struct range_pool *pool);

#endif
