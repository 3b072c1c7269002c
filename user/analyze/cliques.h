/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides lost blocks as memcheck does: in the order of addresses each one that nothing has been
 * found to lead to becomes a leader, and takes what it leads to, earlier leaders with theirs, too.
 */
#ifndef MEMTRACED_ANALYZE_CLIQUES_H
#define MEMTRACED_ANALYZE_CLIQUES_H

#include "analyze/scanner.h"

/*
 * Lost are the verdicts of REACH_DEFINITE with REACH_NO_LEADER; those that hang on another become
 * REACH_INDIRECT. `next` is room for n_blocks. False: the deadline came first, and what had not
 * been looked at is left definite.
 */
bool cliques_divide(struct scanner *scanner, struct reach_verdict *verdicts, uint32_t *next);

#endif
