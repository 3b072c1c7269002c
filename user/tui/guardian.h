/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that waits for ours to end. When it ends without saying goodbye, the terminal gets back
 * the modes and the screen that it had. It holds the terminal and a pipe, nothing else of ours.
 */
#ifndef MEMTRACED_TUI_GUARDIAN_H
#define MEMTRACED_TUI_GUARDIAN_H

#include "base/cleanup.h"

struct guardian;

/* Keeps the modes of standard input's terminal. 0 or negative errno; -ENODEV: it is none. */
int guardian_new(struct guardian **ret_guardian);
/* Says goodbye and waits for its end. NULL is legal. */
void guardian_free(struct guardian *guardian);
DEFINE_CLEANUP(struct guardian, guardian_free)

#endif
