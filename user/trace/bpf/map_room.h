/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many entries the maps get that grow with what a program allocates: by default, by what the
 * target is seen to hold, or so that all memory stays below a limit (--memory-limit). Pure.
 */
#ifndef MEMTRACED_TRACE_BPF_MAP_ROOM_H
#define MEMTRACED_TRACE_BPF_MAP_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct map_room {
	uint32_t blocks;  /* live at a time */
	uint32_t samples; /* of these, of one process that shows samples */
	uint32_t sites;	  /* and stacks, each */
	uint64_t frames;  /* of all stacks together */
	uint64_t places;  /* bytes, for what reports know of the addresses in these */
	uint32_t pairs;	  /* of where blocks are allocated and where they are freed */
	uint32_t tombs;	  /* of blocks freed while forked children share them, and of those */
	uint64_t copies;  /* of blocks that we hold for a while, of all processes together */
};

struct map_room_opts {
	uint64_t memory_limit; /* bytes; 0: none, else no less than MAP_ROOM_LEAST */
	uint64_t max_blocks;   /* 0: not given */
	uint64_t held_bytes;   /* resident memory whose blocks are to be entered at the start */
	uint64_t host_bytes;   /* memory of the host */
	bool free_stacks;      /* births and pairs are kept */
	bool without_table;    /* blocks are in the map alone: kernels before 5.15 */
};

/* Below it nothing is left for blocks: the other maps, and the daemon itself. */
#define MAP_ROOM_LEAST (96ULL << 20)

/* 0, or -ERANGE: no map has so many entries, or the limit is too low. */
int map_room_choose(const struct map_room_opts *opts, struct map_room *ret_room);

#endif
