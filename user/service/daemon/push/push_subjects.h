/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one server has been told so far: of each trace how far its counts were, and of each process
 * where it belongs, which a process that has ended says no more.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_SUBJECTS_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_SUBJECTS_H

#include "base/cleanup.h"
#include "config/push_targets.h"
#include "report/view/view.h"
#include "service/daemon/push/push_queue.h"

struct push_subjects;
struct push_told;

/* 0 or -ENOMEM. */
int push_subjects_new(struct push_subjects **ret_subjects);
void push_subjects_free(struct push_subjects *subjects); /* NULL is legal */
DEFINE_CLEANUP(struct push_subjects, push_subjects_free)

/*
 * What was told of this trace so far, held until push_told_release(). Its contents belong to the
 * thread of the trace's session, where jobs follow one another. 0 or -ENOMEM.
 */
int push_subjects_hold(struct push_subjects *subjects, uint64_t trace, struct push_told **ret_told);
void push_told_release(struct push_told *told);

/* The trace is over: what was told of it is freed when it is not held any more. */
void push_subjects_forget(struct push_subjects *subjects, uint64_t trace);

/* Takes the item over. */
typedef void (*push_item_fn)(struct push_item *item, void *userdata);

/*
 * Session's thread: the profiles of all processes of this view of the trace; levels as they are,
 * counts since the last time. 0 or the first negative errno, after the others were made.
 */
int push_told_take(struct push_told *told, const struct view *view,
		   const struct push_target *target, push_item_fn fn, void *userdata);

#endif
