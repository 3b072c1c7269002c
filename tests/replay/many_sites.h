/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run with as many sites as asked for, to see how reports of large runs do: site i, counted from
 * 0, holds i + 1 blocks of 16 bytes, 12 to 43 frames deep, in n_functions with source lines; the
 * innermost one is number i % n_functions: demo::Worker12::step7 is number 607.
 */
#ifndef MEMTRACED_TESTS_REPLAY_MANY_SITES_H
#define MEMTRACED_TESTS_REPLAY_MANY_SITES_H

#include "trace/record/record.h"

#include <stdint.h>

void many_sites_emit(uint64_t n_sites, uint64_t n_functions, record_fn fn, void *userdata);

#endif
