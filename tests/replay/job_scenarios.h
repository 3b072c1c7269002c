/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scenarios of jobs: histograms, events, both beside allocations, times, system calls.
 */
#ifndef MEMTRACED_TESTS_REPLAY_JOB_SCENARIOS_H
#define MEMTRACED_TESTS_REPLAY_JOB_SCENARIOS_H

#include "trace/record/record.h"

void counted(record_fn fn, void *userdata);
void random_event(record_fn fn, void *userdata);
void several_jobs(record_fn fn, void *userdata);
void cpu_and_waits(record_fn fn, void *userdata);
void system_calls(record_fn fn, void *userdata);

#endif
