/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The full-screen view of a session on a terminal: refreshes each second, takes keys. The session
 * lends it what it needs. One thread.
 */
#ifndef MEMTRACED_SERVICE_SESSION_LIVE_VIEW_H
#define MEMTRACED_SERVICE_SESSION_LIVE_VIEW_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_view;
struct loop;
struct outputs;
struct view;

typedef int (*live_view_show_fn)(const struct view *view, void *userdata);

struct live_view_opts {
	struct loop *loop;
	struct outputs *outputs;
	/* Takes a cut and shows it to fn. 0 or negative errno, which ends the session's loop. */
	int (*refresh)(uint64_t mark_ns, live_view_show_fn fn, void *fn_userdata, void *userdata);
	/* A generation begins. */
	void (*mark)(void *userdata);
	/* The user wants the end. */
	void (*stop)(void *userdata);
	void *userdata;
};

/* Takes the terminal. 0 or negative errno; -ENODEV: there is none that can show it. */
int live_view_new(const struct live_view_opts *opts, struct live_view **ret_view);
/* The terminal has another size. 0 or negative errno. NULL is legal. */
int live_view_resize(struct live_view *view);
/* Gives the terminal back. NULL is legal. */
void live_view_free(struct live_view *view);
DEFINE_CLEANUP(struct live_view, live_view_free)

/* The status line on stderr, when that is a terminal. */
struct status_line;

struct status {
	uint64_t events; /* so far */
	int64_t live_bytes;
	uint64_t lost;
	size_t processes;
};

/* *ret_status is NULL where no line shall be shown: `quiet`, or stderr is no terminal. */
int status_line_new(bool quiet, struct status_line **ret_status);
void status_line_free(struct status_line *status); /* clears; NULL is legal */

/* Shows the state; events become a rate since the last call. NULL lines are legal in both. */
void status_line_show(struct status_line *line, const struct status *status);
void status_line_clear(struct status_line *line);

#endif
