/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scenario of --sample: a process with many samples and few, and one of which none is live. */
#ifndef MEMTRACED_TESTS_REPLAY_ESTIMATES_H
#define MEMTRACED_TESTS_REPLAY_ESTIMATES_H

#include "trace/record/record.h"

void estimated(record_fn fn, void *userdata);

#endif
