/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan as bytes of a message (sandbox/wire.h), from a process that has parsed a file to one that
 * trusts neither. Functions go by number, in the table and in what the user has named.
 */
#ifndef MEMTRACED_PROBE_PLAN_WIRE_H
#define MEMTRACED_PROBE_PLAN_WIRE_H

#include "sandbox/wire.h"

#include <stdint.h>

struct custom_allocators;
struct plan;

/* `custom` is what the plan was made for; NULL: none. */
void plan_put(struct strbuf *message, const struct plan *plan, struct custom_allocators *custom);

/*
 * The plan of a file of so many bytes; what is given back keeps what plan.h promises, but that
 * sites are where instructions begin, which only the file could tell. 0, -EBADMSG or -ENOMEM.
 */
int plan_get(struct wire_reader *reader, uint64_t file_bytes, struct custom_allocators *custom,
	     struct plan **ret_plan);

#endif
