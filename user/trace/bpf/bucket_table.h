/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs' table of blocks (bpf/block_table.bpf.h) in our memory: 64 MB by default, so mapped
 * for not longer than it is read, and no more of it than was ever used. Of that programs and
 * bucket_table_mark() keep a bit for each bucket, which is never taken back.
 */
#ifndef MEMTRACED_TRACE_BPF_BUCKET_TABLE_H
#define MEMTRACED_TRACE_BPF_BUCKET_TABLE_H

#include "bpf/abi.h"

#include <stddef.h>
#include <stdint.h>

struct programs;

/* All of it. */
struct bucket_table {
	struct abi_block_bucket *buckets;
	uint64_t *marks;
	size_t n, len, marks_len;
};

int bucket_table_map(const struct programs *programs, struct bucket_table *ret_table);
void bucket_table_done(struct bucket_table *table);

/* Before a block is put into this bucket. */
void bucket_table_mark(const struct bucket_table *table, size_t bucket);

/* 0, or what ends the visit. */
typedef int (*bucket_fn)(struct abi_block_bucket *bucket, void *userdata);

/* Each bucket that was marked before the call, in order. 0, negative errno, or what fn returned. */
int bucket_table_visit(const struct programs *programs, bucket_fn fn, void *userdata);

#endif
