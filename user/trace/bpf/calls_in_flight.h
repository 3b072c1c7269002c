/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is there a thread in a call of an allocator function that only its entry and return see the end
 * of? Asked when these are to be closed. By one thread; the programs go on meanwhile.
 */
#ifndef MEMTRACED_TRACE_BPF_CALLS_IN_FLIGHT_H
#define MEMTRACED_TRACE_BPF_CALLS_IN_FLIGHT_H

#include <stdint.h>

struct programs;

/* In one of `fn` that began before abi_result_check.sited was set: 1, 0, or negative errno. */
int calls_in_flight(const struct programs *programs, uint16_t fn);

#endif
