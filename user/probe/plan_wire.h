/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan as bytes of a message (base/codec.h), from a process that has parsed a file to one that
 * trusts neither. Functions go by number, in the table and in what the user has named.
 */
#ifndef MEMTRACED_PROBE_PLAN_WIRE_H
#define MEMTRACED_PROBE_PLAN_WIRE_H

#include "base/codec.h"

/*
 * Of struct plan; the context is the struct custom_allocators that the plan was made for, or NULL.
 * A plan that was read keeps what plan.h promises, but that sites are where instructions begin,
 * which only the file could tell.
 */
extern const struct layout plan_layout;

#endif
