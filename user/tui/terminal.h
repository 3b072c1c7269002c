/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal as a screen of lines and a source of keys, by ncurses. It is given back as it was by
 * terminal_free, and by a small process of its own when memtraced dies otherwise, by SIGKILL too.
 * One at a time, one thread.
 */
#ifndef MEMTRACED_TUI_TERMINAL_H
#define MEMTRACED_TUI_TERMINAL_H

#include "base/cleanup.h"
#include "tui/browser.h"

struct terminal;

/*
 * Takes standard input and output, and standard error if that is a terminal: what is written there
 * meanwhile is shown when it is over. 0 or negative errno; -ENODEV: no terminal that can do it.
 */
int terminal_new(struct terminal **ret_terminal);
void terminal_free(struct terminal *terminal); /* NULL is legal */
DEFINE_CLEANUP(struct terminal, terminal_free)

/* The size now; what is on it is drawn anew as a whole at the next terminal_show. */
void terminal_resize(struct terminal *terminal, size_t *ret_height, size_t *ret_width);
void terminal_show(struct terminal *terminal, const struct browser_screen *screen);

/* The next key, BROWSER_NO_KEY when there is none. Standard input says when to ask. */
int terminal_key(struct terminal *terminal);

/* The last line that was written to standard error since the last call; "" for none. */
const char *terminal_last_message(struct terminal *terminal);

#endif
