/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting all calls costs, unless somebody has given --max-overhead: what the meter is told,
 * and what is said of it at once.
 */
#include "base/clock.h"
#include "base/log.h"
#include "report/text/cost_words.h"
#include "service/session/session_state.h"
#include "trace/bpf/run_stats.h"

#include <unistd.h>

#define TICK_NS UINT64_C(20000000)
/* The kernel counts in one tick of so many, and later, as calls change less, of more. */
#define FIRST_WINDOW_TICKS 5
#define WINDOW_TICKS 50
#define LATER_TICKS 100
/* A second is looked at before something is said. */
#define WARN_TICKS 50

/* Not known of a host: a process that ends takes what it has used with it. */
static uint64_t cpu_ns(struct session *s)
{
	return options_trace_widely(s->options) ? UINT64_MAX : session_used_cpu_ns(s);
}

static struct cost_look look_now(struct session *s)
{
	return (struct cost_look){ .now_ns = clock_monotonic_ns(),
				   .calls = live_events(s->live),
				   .cpu_ns = cpu_ns(s) };
}

static void open_window(struct session *s)
{
	struct session_meter *m = &s->meter;

	m->stats_fd = run_stats_open();
	if (m->stats_fd >= 0 && live_run_stats(s->live, &m->window) < 0) {
		close(m->stats_fd);
		m->stats_fd = -1;
	}
	m->window_calls = live_events(s->live);
	m->window_from_ns = clock_monotonic_ns();
}

static void close_window(struct session *s)
{
	struct session_meter *m = &s->meter;
	struct cost_window window = { .from_ns = m->window_from_ns, .until = live_events(s->live) };
	struct run_stats now;

	if (m->stats_fd < 0)
		return;
	if (live_run_stats(s->live, &now) == 0) {
		window.to_ns = clock_monotonic_ns();
		window.calls = window.until - m->window_calls;
		window.runs.runs = now.runs - m->window.runs;
		window.runs.ns = now.ns - m->window.ns;
		cost_meter_add_window(&m->meter, &window);
	}
	close(m->stats_fd);
	m->stats_fd = -1;
}

/* Who starts a command has asked for all of its calls. */
static void warn_of_high_cost(struct session *s)
{
	_cleanup_strbuf_ struct strbuf words = {};
	struct cost_look look = look_now(s);
	struct record_cost cost = cost_meter_read(&s->meter.meter, &look);

	if (!cost_is_high(&cost))
		return;
	s->meter.warned = true;
	cost_words(&cost, &words);
	cost_bound_words(&cost, &words);
	log_warning("%s", strbuf_str(&words));
}

static int tick(void *userdata)
{
	struct session *s = userdata;
	struct session_meter *m = &s->meter;

	m->ticks++;
	close_window(s);
	if (m->ticks % (m->ticks < LATER_TICKS ? FIRST_WINDOW_TICKS : WINDOW_TICKS) == 0)
		open_window(s);
	if (!m->warned && !s->options->command && !s->options->max_overhead &&
	    m->ticks % WARN_TICKS == 0)
		warn_of_high_cost(s);
	return 0;
}

int session_meter_begin(struct session *s)
{
	const struct options *o = s->options;
	struct loop_source *source;
	struct cost_look look;

	s->meter.stats_fd = -1;
	/* What the library's counting takes is not seen from outside of the processes. */
	if (s->is_served || (o->max_overhead && !o->overhead_exact_first) || o->sample_bytes ||
	    o->floor || s->books.library || !options_trace_allocations(o))
		return 0;
	s->meter.used = true;
	look = look_now(s);
	cost_meter_init(&s->meter.meter, s->features->emulated_ns, &look);
	if (options_trace_widely(o))
		cost_meter_measure_by_time(&s->meter.meter);
	open_window(s);
	return loop_add_timer(s->loop, TICK_NS, tick, s, &source);
}

void session_meter_end(struct session *s)
{
	if (s->meter.used && s->meter.stats_fd >= 0)
		close(s->meter.stats_fd);
}

void session_meter_set_depth(struct session *s, enum record_depth depth)
{
	if (s->meter.used)
		cost_meter_set_counting(&s->meter.meter, depth == RECORD_DEPTH_EXACT,
					clock_monotonic_ns());
}

uint64_t session_metered_ns(struct session *s)
{
	const struct cost_look look = { .now_ns = clock_monotonic_ns(),
					.calls = live_events(s->live) };
	uint64_t ns = cost_meter_measured_ns(&s->meter.meter, &look);

	/* Calls since the last window are worth less when the next one says so. */
	if (ns != UINT64_MAX && ns > s->meter.most_ns)
		s->meter.most_ns = ns;
	return s->meter.most_ns;
}

int session_meter_emit(struct session *s)
{
	struct record record = { .type = RECORD_COST };
	struct cost_look look;

	if (!s->meter.used)
		return 0;
	close_window(s);
	look = look_now(s);
	record.cost = cost_meter_read(&s->meter.meter, &look);
	record.cost.limit_ppm = s->options->max_overhead * 100;
	return session_add_record(&record, s);
}
