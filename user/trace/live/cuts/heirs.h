/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose blocks each forked process may have inherited, by the process that allocated them: so that
 * a block is compared with its owner's descendants and not with every process of the host.
 */
#ifndef MEMTRACED_TRACE_LIVE_HEIRS_H
#define MEMTRACED_TRACE_LIVE_HEIRS_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct heirs;
struct programs;

/* `forked`: n slots, each of which is asked for its ancestors; below n_slots. 0 or -ENOMEM. */
int heirs_new(const struct programs *programs, const uint32_t *forked, size_t n, size_t n_slots,
	      struct heirs **ret_heirs);
void heirs_free(struct heirs *heirs); /* NULL is legal */
DEFINE_CLEANUP(struct heirs, heirs_free)

/* Those of `forked` that descend from this slot, *ret_n of them. */
const uint32_t *heirs_of(const struct heirs *heirs, uint32_t slot, size_t *ret_n);

#endif
