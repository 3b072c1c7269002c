/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the live view shows and how keys change it: list of sites, a site's stack, help, prompts.
 * It knows neither terminal nor session: keys in, lines out. One thread.
 */
#ifndef MEMTRACED_TUI_BROWSER_H
#define MEMTRACED_TUI_BROWSER_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/site_rows.h"

#include <stddef.h>

struct browser;

/* Keys that are no character; others are code points. */
enum browser_key {
	BROWSER_NO_KEY = 0x200000, /* above all code points */
	BROWSER_UP,
	BROWSER_DOWN,
	BROWSER_PAGE_UP,
	BROWSER_PAGE_DOWN,
	BROWSER_HOME,
	BROWSER_END,
	BROWSER_LEFT,
	BROWSER_RIGHT,
	BROWSER_ENTER,
	BROWSER_ESCAPE,
	BROWSER_BACKSPACE,
};

/* What the caller must do about a key, beside drawing anew. */
enum browser_wish {
	BROWSER_NOTHING,
	BROWSER_UPDATE, /* call browser_update: other rows, or a stack, are wanted */
	BROWSER_MARK,	/* a generation begins */
	BROWSER_SAVE,	/* browser_answer() is FORMAT:PATH */
	BROWSER_QUIT,
};

enum browser_style { STYLE_PLAIN, STYLE_BOLD, STYLE_REVERSE };

struct browser_line {
	size_t start, len; /* in the text */
	enum browser_style style;
};

/* One screen: at most `height` lines of at most `width` columns, control characters in none. */
struct browser_screen {
	struct strbuf text;
	struct browser_line *lines;
	size_t n_lines;
};

int browser_new(struct browser **ret_browser);
void browser_free(struct browser *browser); /* NULL is legal */
DEFINE_CLEANUP(struct browser, browser_free)

/* The size of the terminal, before the first key and when it changes. */
void browser_resize(struct browser *browser, size_t height, size_t width);

/* Takes in a new state. 0 or -ENOMEM (what it showed stays). */
int browser_update(struct browser *browser, const struct view *view);

/* A generation began: rows have new bytes since then from the next update on. */
void browser_marked(struct browser *browser, uint64_t mark_ns);

/* A line for the bottom, until the next key. */
void browser_set_message(struct browser *browser, const char *message);

enum browser_wish browser_key(struct browser *browser, int key);

/* What was typed at the last prompt. */
const char *browser_answer(const struct browser *browser);

/* The screen; lines are replaced. 0 or -ENOMEM. */
int browser_draw(const struct browser *browser, struct browser_screen *screen);
void browser_screen_done(struct browser_screen *screen);

#endif
