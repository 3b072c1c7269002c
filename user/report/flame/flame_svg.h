/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draws stack paths as a flame graph: one SVG that needs no other file and no network, with a
 * script of its own for zoom and search (flamegraph.js); without scripts it is still a picture. For
 * writers.
 */
#ifndef MEMTRACED_REPORT_FLAME_FLAME_SVG_H
#define MEMTRACED_REPORT_FLAME_FLAME_SVG_H

#include "report/flame/stack_paths.h"

#include <stdbool.h>
#include <stdio.h>

struct view_event;

struct flame {
	const char *title;
	const char *remark;		/* what is to be known of it, below the title; "" */
	const char *unit;		/* of the values: "bytes" */
	const struct view_event *pages; /* of page faults: what they are in bytes; NULL: others */
	bool is_event;			/* of another colour than memory */
	bool is_diff;	/* side 0 is before, side 1 after, which says how wide frames are, */
	bool by_before; /* unless it is side 0 that does */
};

/* 0, -ENOMEM, or -EIO when the stream took not all. */
int flame_svg_write(const struct flame *flame, struct stack_paths *paths, FILE *file);

#endif
