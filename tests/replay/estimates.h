/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scenarios of --sample: a process with many samples and few, and one of which none is live;
 * and another run of both, with more, and with so few that nothing is certain.
 */
#ifndef MEMTRACED_TESTS_REPLAY_ESTIMATES_H
#define MEMTRACED_TESTS_REPLAY_ESTIMATES_H

#include "trace/record/record.h"

void estimated(record_fn fn, void *userdata);
void estimated_later(record_fn fn, void *userdata);

#endif
