/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server that scenarios run: its objects, their code and symbols, its stacks, and what a site
 * and a process of it hold. Header only.
 */
#ifndef MEMTRACED_TESTS_REPLAY_SERVER_RUN_H
#define MEMTRACED_TESTS_REPLAY_SERVER_RUN_H

#include "tests/record_script.h"

#define APP "/opt/demo/server"
#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PLUGIN "/opt/demo/plugin.so"
#define OTHER "/opt/demo/other.so"

/* Inodes of the objects. */
enum { INO_APP = 11, INO_LIBC, INO_PLUGIN, INO_OTHER };

/* Stack ids. */
enum { AT_MAKE = 0x71, AT_LOOP, AT_PLUGIN_1, AT_PLUGIN_2, AT_OTHER, AT_LOST };

#define SECOND 1000000000ull

static inline void allocators(const struct script *s)
{
	emit_run(s);
	emit_function(s, 1, "malloc", LIBC, 0x9a000);
	emit_function(s, 2, "realloc", LIBC, 0x9b000);
	emit_function(s, 3, "mmap", LIBC, 0xff000);
}

/* The server's image: executable at 0x400000, libc at 0x7f0000000000. */
static inline void code(const struct script *s, uint32_t image, uint64_t time_ns)
{
	emit_map(s, image, 0x401000, 0x405000, 0x1000, time_ns, APP, INO_APP);
	emit_map(s, image, 0x7f0000000000, 0x7f0000150000, 0x28000, time_ns, LIBC, INO_LIBC);
}

static inline void symbols(const struct script *s)
{
	emit_symbol(s, LIBC, INO_LIBC, 0x9a000, { "malloc", 0, NULL, 0, false });
	emit_symbol(s, APP, INO_APP, 0x1189, { "make_buf", 0x19, "/src/demo/server.c", 42, false });
	emit_symbol(s, APP, INO_APP, 0x11c0, { "main", 0x20, "/src/demo/server.c", 80, false });
	emit_symbol(s, APP, INO_APP, 0x1300, { "loop", 0x40, NULL, 0, false });
}

static inline void stacks(const struct script *s, uint32_t image, uint64_t time_ns)
{
	emit_stack(s, AT_MAKE, image, time_ns, 0x401189, 0x4011c0, 0x7f0000001000);
	emit_stack(s, AT_LOOP, image, time_ns, 0x401300, 0x4011c0, 0x7f0000001000);
}

static inline struct record_site site(uint32_t image, uint16_t fn, uint64_t stack, int64_t bytes,
				      int64_t blocks)
{
	return (struct record_site){
		.image = { image },
		.fn = fn,
		.stack = stack,
		.live_bytes = bytes,
		.live_blocks = blocks,
		.allocs = 10 * (uint64_t)(blocks + 1),
		.bytes = 10 * (uint64_t)(bytes + 16),
		.temporary = 2,
		.peak_bytes = bytes + 1024,
		.peak_blocks = blocks + 1,
		.lifetime_ns = SECOND * (uint64_t)(blocks + 1),
		.oldest_ns = blocks > 0 ? 5 * SECOND : UINT64_MAX,
		.newest_ns = blocks > 0 ? SECOND / 2 : UINT64_MAX,
	};
}

static inline struct record_totals totals(uint32_t image, uint64_t allocs, int64_t bytes,
					  int64_t blocks)
{
	return (struct record_totals){
		.image = { image },
		.allocs = allocs,
		.frees = allocs - (uint64_t)blocks,
		.failed = 1,
		.bytes = 10 * (uint64_t)bytes + 320,
		.live_bytes = bytes,
		.live_blocks = blocks,
		.peak_bytes = bytes + 4096,
		.temporary = allocs / 8,
		.lifetime_resolution_ns = 1024,
	};
}

#endif
