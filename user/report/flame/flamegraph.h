/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as a flame graph: one SVG that needs no other file and no network, with a script of its
 * own for zoom and search (flamegraph.js); without scripts it is still a picture. For writers.
 */
#ifndef MEMTRACED_REPORT_FLAME_FLAMEGRAPH_H
#define MEMTRACED_REPORT_FLAME_FLAMEGRAPH_H

#include "report/flame/stack_paths.h"
#include "report/samples.h"

#include <stdio.h>

/* Zero-initialised is empty. */
struct flame_stacks {
	struct stack_paths paths;
	struct sample_frames frames; /* of the stack at hand */
	struct strbuf name;
	/* 1: the frame has this name; 0: it is left out; or -ENOMEM. NULL: each has its own. */
	int (*name_frame)(const struct sample_frame *frame, void *userdata, struct strbuf *name);
	void *userdata;
};

/* The stack stands on a root of that name. 0 or -ENOMEM; nothing where the value is 0. */
int flame_stacks_add(struct flame_stacks *stacks, unsigned int side, uint64_t value,
		     const char *root, const struct view_stack *stack);
void flame_stacks_done(struct flame_stacks *stacks);

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
int flamegraph_draw(const struct flame *flame, struct stack_paths *paths, FILE *file);

/* What pages call what they show, too: "Heap of server (pid 42) and 3 more processes" */
void flamegraph_title(const struct view *view, struct strbuf *out);

#endif
