/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the heap of a process is traced where a service is asked for it: `depth` of its addresses,
 * rules and post-mortems. Pure.
 */
#ifndef MEMTRACED_CONFIG_HEAP_DEPTH_H
#define MEMTRACED_CONFIG_HEAP_DEPTH_H

enum heap_depth {
	HEAP_EXACT,   /* each call of its allocator */
	HEAP_SAMPLED, /* samples that it shows by otel_memory probes */
};

/* 0; -EINVAL: it is neither word. */
int heap_depth_parse(const char *word, enum heap_depth *ret_depth);
const char *heap_depth_name(enum heap_depth depth);

#endif
