/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts blocks that no program has seen into the kernel's tables, and their site with them. The
 * process that they are of must not run; others may use the same tables meanwhile, whose protocol
 * (bpf/block_table.bpf.h) is kept.
 */
#ifndef MEMTRACED_TRACE_LIVE_BLOCK_INSERT_H
#define MEMTRACED_TRACE_LIVE_BLOCK_INSERT_H

#include <stddef.h>
#include <stdint.h>

struct glibc_block;
struct programs;

struct block_insert {
	const struct programs *programs;
	uint32_t slot;
	uint16_t fn; /* the site's, which has no stack */
	uint32_t tick, era;
	uint64_t lifetime_clock; /* as of abi_site_counts.lifetimes */
	/* The result: what is in, and blocks for which there was no room. */
	uint64_t blocks, bytes, no_room;
};

/* Those that tracing does not know yet, of a process that has none with that fn. 0 or -errno. */
int block_insert_all(struct block_insert *insert, const struct glibc_block *blocks, size_t n);

#endif
