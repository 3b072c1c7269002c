/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --debuginfod: what a session asks of debuginfod servers, and says of it.
 */
#ifndef MEMTRACED_SERVICE_DEBUG_FETCH_H
#define MEMTRACED_SERVICE_DEBUG_FETCH_H

#include "symbol/debuginfod.h"

/* 0 or negative errno (logged): no servers are named, or their client is not installed. */
int debug_fetch_begin(struct debuginfod **ret_debuginfod);

/* Logs what came of it. */
void debug_fetch_say(const struct debuginfod *debuginfod);

#endif
