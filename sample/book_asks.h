/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon is asked, and waited for: to open the book, and by which rule the caller of code
 * without call frame information is found, as it has read the code's instructions.
 */
#ifndef MEMTRACED_SAMPLE_BOOK_ASKS_H
#define MEMTRACED_SAMPLE_BOOK_ASKS_H

#include <stdint.h>

/* A word of the header, 0: until the daemon has made another one of it, two seconds at most. */
void book_wait_for(uint32_t *word);

/* A process begins its book: from now on rules are asked for (walk_rules_ask()). */
void book_asks_begin(void);

#endif
