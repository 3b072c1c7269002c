/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/map_room.h"

#include <errno.h>

#define DEFAULT_BLOCKS (2ULL << 20)
/* A browser makes some 330,000, of which one process makes 230,000: docs/hacking/cost.md. */
#define DEFAULT_SITES (1024U << 10)
#define DEFAULT_TOMBS (256U << 10)
/* Small blocks; room for more of them than this is asked for with --max-blocks. */
#define HELD_BYTES_A_BLOCK 256
#define HELD_BLOCKS_MAX (32ULL << 20)

/*
 * What does not grow with allocations, on Linux 6.18: 30 MB of maps and 40 MB of the daemon, most
 * of that its code and libraries' (make bench: memory.*), and as much again for a report.
 */
#define FIXED_BYTES (80ULL << 20)
/*
 * A block takes 32 bytes of the table, and a quarter of them an element of the map: 16 bytes of
 * bucket twice over, 80 of element. Without a table the map has a third more elements (programs.c).
 */
#define BLOCK_BYTES 64
#define BLOCK_BYTES_IN_MAP (112 + 112 / 3)
/*
 * A site with its stack takes 306 bytes of maps, and in the daemon as many frames as it has, with
 * what reports know of each: 3 KB for 64 of them, which few programs' average exceeds.
 */
#define SITE_BYTES 3072
#define FRAMES_A_STACK 64
#define LEAST_SITES 1024
/*
 * Of a site's bytes those for places, which stacks share, and what a few sites of a program with
 * many have in common: symbols_limit().
 */
#define PLACE_BYTES_A_SITE 1024
#define LEAST_PLACE_BYTES (8ULL << 20)
/* --free-stacks: an element of the map of births for each block; pairs, of the rest a share. */
#define BIRTH_BYTES 104
#define DEFAULT_PAIRS (64U << 10)
#define LEAST_PAIRS 1024
#define PAIR_BYTES 400
#define PAIRS_SHARE 16
/* One for so many blocks: elements of 112 and 60 bytes, of what is freed while it is shared. */
#define BLOCKS_A_TOMB 16
#define TOMB_BYTES 172
/*
 * Of the blocks, the share that one process's samples may take, so that a noisy one leaves room to
 * others. From half of it on they are thinned, which is early: 131,072 are true to 0.6 %.
 */
#define SAMPLES_SHARE 8
#define LEAST_SAMPLES 1024
/* Of the rest, the share of sites. */
#define SITES_SHARE 4

/*
 * Blocks in processes' books have no bound but their memory: of the host's, copies of them may take
 * this share, at 32 bytes and as much again where a list grows.
 */
#define COPIES_SHARE 8
#define COPY_BYTES 64

static uint32_t share_of_pairs(uint64_t bytes)
{
	uint64_t pairs = bytes / PAIRS_SHARE / PAIR_BYTES;

	if (pairs > DEFAULT_PAIRS)
		return DEFAULT_PAIRS;
	return pairs > LEAST_PAIRS ? (uint32_t)pairs : LEAST_PAIRS;
}

static int choose_below(const struct map_room_opts *opts, struct map_room *room)
{
	uint64_t rest, sites, blocks, each = opts->without_table ? BLOCK_BYTES_IN_MAP : BLOCK_BYTES;

	if (opts->memory_limit < MAP_ROOM_LEAST)
		return -ERANGE;
	rest = opts->memory_limit - FIXED_BYTES;
	if (opts->free_stacks) {
		each += BIRTH_BYTES;
		room->pairs = share_of_pairs(rest);
		rest -= rest / PAIRS_SHARE;
	}
	sites = rest / SITES_SHARE / SITE_BYTES;
	blocks = (rest - rest / SITES_SHARE) * BLOCKS_A_TOMB / (each * BLOCKS_A_TOMB + TOMB_BYTES);
	if (sites > DEFAULT_SITES)
		sites = DEFAULT_SITES;
	if (blocks > room->blocks)
		blocks = room->blocks;
	room->blocks = (uint32_t)blocks;
	room->sites = sites > LEAST_SITES ? (uint32_t)sites : LEAST_SITES;
	if (room->tombs > blocks / BLOCKS_A_TOMB)
		room->tombs = (uint32_t)(blocks / BLOCKS_A_TOMB);
	return 0;
}

int map_room_choose(const struct map_room_opts *opts, struct map_room *ret_room)
{
	struct map_room room = {
		.sites = DEFAULT_SITES,
		.tombs = DEFAULT_TOMBS,
		.pairs = DEFAULT_PAIRS,
	};
	uint64_t blocks = opts->max_blocks, held = opts->held_bytes / HELD_BYTES_A_BLOCK;
	int r = 0;

	if (!blocks) {
		if (held > HELD_BLOCKS_MAX)
			held = HELD_BLOCKS_MAX;
		blocks = DEFAULT_BLOCKS + held;
	}
	if (blocks > UINT32_MAX)
		return -ERANGE;
	room.blocks = (uint32_t)blocks;
	if (opts->memory_limit)
		r = choose_below(opts, &room);
	room.copies = room.blocks;
	if (!opts->memory_limit && room.copies < opts->host_bytes / COPIES_SHARE / COPY_BYTES)
		room.copies = opts->host_bytes / COPIES_SHARE / COPY_BYTES;
	room.samples = room.blocks / SAMPLES_SHARE;
	if (room.samples < LEAST_SAMPLES)
		room.samples = LEAST_SAMPLES;
	room.frames = (uint64_t)room.sites * FRAMES_A_STACK;
	room.places = LEAST_PLACE_BYTES + (uint64_t)room.sites * PLACE_BYTES_A_SITE;
	if (r == 0)
		*ret_room = room;
	return r;
}
