/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/live_view.h"

#include "base/clock.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "config/units.h"
#include "service/output/outputs.h"
#include "tui/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct status_line {
	uint64_t events, time_ns; /* at the last call */
	bool shown;
};

int status_line_new(bool quiet, struct status_line **ret_status)
{
	*ret_status = NULL;
	if (quiet || !isatty(STDERR_FILENO))
		return 0;
	*ret_status = calloc(1, sizeof(**ret_status));
	if (!*ret_status)
		return -ENOMEM;
	(*ret_status)->time_ns = clock_monotonic_ns();
	return 0;
}

void status_line_free(struct status_line *status)
{
	status_line_clear(status);
	free(status);
}

void status_line_show(struct status_line *line, const struct status *status)
{
	char rate[FORMAT_UNIT_LEN], bytes[FORMAT_UNIT_LEN];
	uint64_t now = clock_monotonic_ns(), took;

	if (!line)
		return;
	took = now - line->time_ns;
	/* \r and erase to the end of the line (ECMA-48 EL) */
	fprintf(stderr, "\r\033[K%s events/s, %s live in %zu process%s, %llu lost",
		format_count(took ? (status->events - line->events) * 1e9 / took : 0, rate),
		format_size(status->live_bytes, bytes), status->processes,
		status->processes == 1 ? "" : "es", (unsigned long long)status->lost);
	(void)fflush(stderr); /* a terminal that went away needs no status */
	line->events = status->events;
	line->time_ns = now;
	line->shown = true;
}

void status_line_clear(struct status_line *line)
{
	if (!line || !line->shown)
		return;
	fputs("\r\033[K", stderr);
	line->shown = false;
}

#define REFRESH_NS 1000000000ULL
/* A refresh that takes long, where symbols are many, comes the less often. */
#define REST_SHARE 4

struct live_view {
	struct live_view_opts opts;
	struct terminal *terminal;
	struct browser *browser;
	struct browser_screen screen;
	struct loop_source *keys, *timer;
	uint64_t refresh_after_ns;
	uint64_t mark_ns;
};

static int draw_view(struct live_view *v)
{
	int r = browser_draw(v->browser, &v->screen);

	if (r == 0)
		terminal_show(v->terminal, &v->screen);
	return r;
}

static int update_browser(const struct view *view, void *userdata)
{
	struct live_view *v = userdata;

	return browser_update(v->browser, view);
}

static int refresh(struct live_view *v)
{
	uint64_t begin = clock_monotonic_ns(), end;
	const char *message;
	int r = v->opts.refresh(v->mark_ns, update_browser, v, v->opts.userdata);

	end = clock_monotonic_ns();
	v->refresh_after_ns = end + REST_SHARE * (end - begin);
	message = terminal_last_message(v->terminal);
	if (*message)
		browser_set_message(v->browser, message);
	return r ? r : draw_view(v);
}

static int on_timer(void *userdata)
{
	struct live_view *v = userdata;

	return clock_monotonic_ns() < v->refresh_after_ns ? 0 : refresh(v);
}

static int save_report(struct live_view *v)
{
	_cleanup_strbuf_ struct strbuf message = { 0 };

	(void)outputs_save(v->opts.outputs, browser_answer(v->browser), &message); /* says so */
	/* What was logged about it is in the message. */
	(void)terminal_last_message(v->terminal);
	browser_set_message(v->browser, strbuf_str(&message));
	return draw_view(v);
}

static int mark_now(struct live_view *v)
{
	v->opts.mark(v->opts.userdata);
	v->mark_ns = clock_monotonic_ns();
	browser_marked(v->browser, v->mark_ns);
	return refresh(v);
}

/* Sets *wants_rows where a refresh is due: one for all keys that have been typed meanwhile. */
static int on_key(struct live_view *v, int key, bool *wants_rows)
{
	switch (browser_key(v->browser, key)) {
	case BROWSER_UPDATE:
		*wants_rows = true;
		break;
	case BROWSER_MARK:
		return mark_now(v);
	case BROWSER_SAVE:
		return save_report(v);
	case BROWSER_QUIT:
		v->opts.stop(v->opts.userdata);
		return 0;
	case BROWSER_NOTHING:
		break;
	}
	return draw_view(v);
}

static int on_input(int fd, uint32_t events, void *userdata)
{
	struct live_view *v = userdata;
	bool wants_rows = false;
	int key, r = 0;

	(void)fd;
	if (events & (EPOLLHUP | EPOLLERR)) {
		v->opts.stop(v->opts.userdata);
		return 0;
	}
	while (r == 0 && (key = terminal_key(v->terminal)) != BROWSER_NO_KEY)
		r = on_key(v, key, &wants_rows);
	return r == 0 && wants_rows ? refresh(v) : r;
}

int live_view_resize(struct live_view *v)
{
	size_t height, width;

	if (!v)
		return 0;
	terminal_resize(v->terminal, &height, &width);
	browser_resize(v->browser, height, width);
	return draw_view(v);
}

static int begin_view(struct live_view *v)
{
	struct loop *loop = v->opts.loop;
	size_t height, width;
	int r = browser_new(&v->browser);

	if (r == 0)
		r = terminal_new(&v->terminal);
	if (r == 0)
		r = loop_add_fd(loop, STDIN_FILENO, EPOLLIN, on_input, v, &v->keys);
	if (r == 0)
		r = loop_add_timer(loop, REFRESH_NS, on_timer, v, &v->timer);
	if (r < 0)
		return r;
	terminal_resize(v->terminal, &height, &width);
	browser_resize(v->browser, height, width);
	outputs_lend_terminal(v->opts.outputs, true);
	return refresh(v);
}

int live_view_new(const struct live_view_opts *opts, struct live_view **ret_view)
{
	_cleanup_(live_view_free_p) struct live_view *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	v->opts = *opts;
	r = begin_view(v);
	if (r < 0)
		return r;
	*ret_view = TAKE_PTR(v);
	return 0;
}

void live_view_free(struct live_view *v)
{
	if (!v)
		return;
	loop_source_free(v->keys);
	loop_source_free(v->timer);
	terminal_free(v->terminal);
	browser_free(v->browser);
	browser_screen_done(&v->screen);
	outputs_lend_terminal(v->opts.outputs, false);
	free(v);
}
