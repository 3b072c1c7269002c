/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the browser: its state, shared by browser_keys.c (keys) and browser_draw.c (lines)
 * alone.
 */
#ifndef MEMTRACED_TUI_BROWSER_STATE_H
#define MEMTRACED_TUI_BROWSER_STATE_H

#include "tui/browser.h"

/*
 * Lines above the list: process, totals, what is shown, heads of the columns; one more each where
 * it is known what is resident, and what tracing costs. And the bottom.
 */
#define HEADER_LINES 4
#define FOOTER_LINES 1

/* Columns that the list has, and sorts by. */
#define BROWSER_COLUMNS SITE_GROWN

enum browser_page { PAGE_LIST, PAGE_STACK, PAGE_NOTES, PAGE_HELP };
enum browser_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SAVE };

/* Sums over the processes shown. */
struct browser_totals {
	size_t n_processes;
	bool exact, ended;
	uint64_t lost;
	int64_t live_bytes, live_blocks, peak_bytes, mmap_bytes, young_bytes, young_blocks;
	uint64_t allocs, elapsed_ns;
	double rate; /* allocations a second */
	struct view_estimate estimate;
	double young_ci95;		 /* what young_bytes can be off */
	struct record_resident resident; /* sums of its parts */
	size_t n_resident;		 /* processes of which it is known */
	bool resident_exact;
	struct growth growth; /* the worst of a process, */
	uint32_t growth_pid;
	bool has_growth;		 /* if any is known */
	struct record_cost cost, recent; /* since the start, and since the last look */
	bool has_cost, is_limited;	 /* calls are not counted now, for what that cost */
	char name[64];
};

struct browser {
	size_t height, width;
	enum browser_page page;
	enum browser_prompt prompt;
	struct site_rows rows;
	bool has_rows;
	struct browser_totals totals;
	enum site_column sort;
	size_t selected, first; /* rows */
	size_t scrolled;	/* lines of the stack or of the help */
	char *opened;		/* the key of the row whose stacks are open */
	bool opened_gone;
	struct strbuf stack, notes;
	size_t stack_lines, notes_lines;
	bool marked;
	uint64_t mark_ns;
	char filter[128];
	char answer[256]; /* being typed, or the last one */
	char message[256];
};

/* Rows of the list, or lines of a text, that fit. */
size_t browser_room(const struct browser *b);

/* Appends what the keys do, in lines that fit. */
void browser_help(const struct browser *b, struct strbuf *out);

#endif
