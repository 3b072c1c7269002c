/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "service/session/session.h"
#include "service/session/session_state.h"

#include <errno.h>
#include <unistd.h>

#define TABLE_NS 2000000000ULL

/*
 * What is resident is read at most so often, and for a fiftieth of the time at most: while the
 * kernel looks through a process's pages, that cannot map others.
 */
#define RESIDENT_NS 2000000000ULL
#define RESIDENT_SHARE 50

static int look_at_resident(struct session *s)
{
	uint64_t begin = clock_monotonic_ns(), rest;
	int r;

	if (begin < s->resident_after_ns)
		return 0;
	r = session_read_resident(s);
	rest = RESIDENT_SHARE * (clock_monotonic_ns() - begin);
	s->resident_after_ns = begin + (rest > RESIDENT_NS ? rest : RESIDENT_NS);
	return r;
}

static int refresh_view(uint64_t mark_ns, live_view_show_fn fn, void *fn_userdata, void *userdata)
{
	struct session *s = userdata;
	int r = session_emit_cost(s);

	if (r == 0)
		r = source_cut(live_source(s->live), session_add_record, s);

	if (r < 0)
		return r;
	live_buffer_begin(s->live);
	r = look_at_resident(s);
	if (r == 0)
		r = outputs_show(s->outputs, mark_ns, fn, fn_userdata);
	return session_drain_buffered(s, r);
}

static void mark_view(void *userdata)
{
	struct session *s = userdata;

	live_mark(s->live);
}

static void stop_from_view(void *userdata)
{
	struct session *s = userdata;

	s->over = true;
}

int session_on_interval(void *userdata)
{
	return session_report(userdata, false);
}

bool session_wants_view(const struct session *s)
{
	const struct options *o = s->options;

	return outputs_live_view(s->outputs) && !o->no_tui && !o->command &&
	       !options_trace_widely(o) && !o->interval_ns && !o->floor &&
	       !options_check_leaks(o) && options_trace_allocations(o) && isatty(STDIN_FILENO);
}

int session_begin_view(struct session *s)
{
	const struct live_view_opts opts = { .loop = s->loop,
					     .outputs = s->outputs,
					     .refresh = refresh_view,
					     .mark = mark_view,
					     .stop = stop_from_view,
					     .userdata = s };
	struct loop_source *source;
	int r = -ENODEV;

	if (session_wants_view(s))
		r = live_view_new(&opts, &s->view);
	if (r != -ENODEV)
		return r;
	if (s->options->interval_ns || s->options->command || !outputs_live_view(s->outputs))
		return 0;
	return loop_add_timer(s->loop, TABLE_NS, session_on_interval, s, &source);
}

int session_on_resize(const siginfo_t *info, void *userdata)
{
	struct session *s = userdata;

	(void)info;
	if (s->relay)
		terminal_relay_resize(s->relay);
	return live_view_resize(s->view);
}
