/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer to memtraced_count_leaks() of include/memtraced.h: the sums of a check, written into
 * the process that asks for them. On the thread of a hold's callback.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_ANSWER_H
#define MEMTRACED_SERVICE_LEAK_LEAK_ANSWER_H

#include "analyze/loss_records.h"

#include <sys/types.h>

struct hold;

/*
 * Writes them to where the first argument of the function points that the thread is about to run,
 * if the process itself may write there. 0, or negative errno when it could not be stopped or
 * written to.
 */
int leak_answer_write(struct hold *hold, pid_t pid, pid_t tid, const struct loss_totals *totals);

#endif
