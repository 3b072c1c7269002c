/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that pprof shall leave out (drop_frames of a profile), so that what is left of a
 * stack ends in the frame that its site is named by (view_stack_name). pprof goes from a stack's
 * root inwards and drops the first function that matches, with all that it calls: so no function
 * may match that is a caller in another stack of the profile. Used by pprof.c alone.
 */
#ifndef MEMTRACED_REPORT_PPROF_DROP_FRAMES_H
#define MEMTRACED_REPORT_PPROF_DROP_FRAMES_H

#include "base/interns.h"
#include "report/view/view_stack.h"

/* Of what pprof sees of a name. */
struct dropped_name {
	bool stays, is_dropped;
};

/* Zero-initialised is empty. */
struct drop_frames {
	struct interns functions; /* struct function_key: names are made once for each */
	VEC(size_t) numbers;	  /* of their names */
	struct interns texts;
	VEC(struct dropped_name) names; /* of the texts */
	struct strbuf pattern;
};

void drop_frames_done(struct drop_frames *frames);

/* First for each stack of the profile: the frames that stay. 0 or -ENOMEM. */
int drop_frames_mark(struct drop_frames *frames, const struct view_stack *stack);

/* Then again for each: the frame that is dropped with all that it calls. 0 or -ENOMEM. */
int drop_frames_drop(struct drop_frames *frames, const struct view_stack *stack);

/* The regular expression, in RE2's syntax; NULL: nothing is dropped. */
const char *drop_frames_pattern(const struct drop_frames *frames);

/* Appends the part of a name that pprof matches: it leaves out parameters. */
void drop_frames_matched(const char *name, struct strbuf *out);

#endif
