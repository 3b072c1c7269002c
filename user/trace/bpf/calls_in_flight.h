/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is there a thread in a call of an allocator function that only its entry and return see the end
 * of? Asked when these are to be closed. By one thread; the programs go on meanwhile.
 */
#ifndef MEMTRACED_TRACE_BPF_CALLS_IN_FLIGHT_H
#define MEMTRACED_TRACE_BPF_CALLS_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct programs;

/* A call of function `fn` that began before abi_result_check.sited was set. 0 or negative errno. */
int calls_in_flight(const struct programs *programs, uint16_t fn, bool *ret_any);

#endif
