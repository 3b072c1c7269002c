/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which places of two runs are the same. A stack is known by its program, and by function and
 * object a frame, inlined or not: no address, line, build or pid is in it. For diff.c and
 * diff_jobs.c.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_KEYS_H
#define MEMTRACED_REPORT_DIFF_DIFF_KEYS_H

#include "base/strbuf.h"
#include "report/view/view.h"

#define DIFF_BEFORE 0
#define DIFF_AFTER 1
#define DIFF_SIDES 2

struct diff_keys;

/* Looks at what both views know of their objects. They are borrowed. 0 or -ENOMEM. */
int diff_keys_new(const struct view *const views[DIFF_SIDES], struct diff_keys **ret_keys);
/* NULL is legal. */
void diff_keys_free(struct diff_keys *keys);
DEFINE_CLEANUP(struct diff_keys, diff_keys_free)

/*
 * What a process is matched by: its name and that of its executable. The program that was traced,
 * where each run has one, is the same under any name. `out` says in its error when memory ran out.
 */
void diff_keys_program(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		       struct strbuf *out);

/* What a stack is matched by, beside its program. 0 or -ENOMEM. */
int diff_keys_stack(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		    const struct view_stack *stack, struct strbuf *out);

/*
 * Is the frame part of the key? Inlined functions are not, where the other run has the object too
 * but knows no lines of it: it could not name them. 0, 1 or -ENOMEM.
 */
int diff_keys_shows(struct diff_keys *keys, unsigned int side, const struct model_process *image,
		    const struct view_frame *frame);

/*
 * Without Rust's hash ("::h" and 16 digits), and without what compilers append to the name of a
 * copy or a part of a function: "parse.constprop.0" and "parse() [clone .cold]" are parse.
 */
void diff_function_name(const char *name, struct strbuf *out);

/* "libfoo.so" of "/opt/lib/libfoo.so.1.2.3 (deleted)". */
void diff_object_name(const char *path, struct strbuf *out);

#endif
