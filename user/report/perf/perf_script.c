/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text like that of `perf script`. Of allocations, one event per site that holds something, its
 * live bytes as the period; of an event, perf_script_events.c.
 */
#include "report/perf/perf_script_events.h"
#include "report/perf/perf_script_text.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* No colon: one client would cut the name there. */
#define EVENT_NAME "memtraced-live-bytes"

/* Times are microseconds apart: a thread's events must not go back in time. */
static void add_header(struct strbuf *out, const struct model_process *image, uint64_t time_ns,
		       int64_t period)
{
	uint64_t us = time_ns / 1000;

	perf_text_comm(out, image->comm);
	strbuf_addf(out,
		    " %" PRIu32 "/%" PRIu32 " [000] %5" PRIu64 ".%06" PRIu64 ": %10" PRId64
		    " " EVENT_NAME ": \n",
		    image->pid, image->pid, us / 1000000, us % 1000000, period);
}

static void add_site(struct strbuf *out, const struct model_process *image,
		     const struct view_site *site, uint64_t time_ns)
{
	add_header(out, image, time_ns, site->live_bytes);
	perf_text_stack(out, &site->stack);
}

/* One line of comment: what the events are. */
static void add_comment(struct strbuf *out, const struct view *view, const char *what)
{
	const struct record_run *run = model_run(view_model(view));

	strbuf_adds(out, "# ");
	escape_text(out, run && run->tool ? run->tool : "memtraced");
	strbuf_addf(out, ": %s\n", what);
}

/* A line each up to here, which makes some 10 GB. */
#define MOST_EVENTS 50000000

static int write_events(const struct view *view, const struct view_event *event, FILE *file)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t most = view_opts(view)->most_calls;

	add_comment(&text, view,
		    "times are not the events' own: spread from a stack's first to its last");
	if (!view_is_exact(view))
		add_comment(&text, view, "NOT EXACT: there may have been more events");
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	fwrite(strbuf_str(&text), 1, text.len, file);
	return perf_script_events(event, most ? most : MOST_EVENTS, file);
}

static int write_sites(const struct view *view, FILE *file)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t time_ns = view_now_ns(view);

	add_comment(&text, view, "one event per site, its live bytes as the period");
	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; j < process->n_sites; j++) {
			if (process->sites[j].live_bytes <= 0)
				continue;
			add_site(&text, process->image, &process->sites[j], time_ns);
			time_ns += 1000;
			if (strbuf_error(&text) < 0)
				return strbuf_error(&text);
			fwrite(strbuf_str(&text), 1, text.len, file);
			strbuf_reset(&text);
		}
	}
	fwrite(strbuf_str(&text), 1, text.len, file);
	return ferror(file) ? -EIO : 0;
}

int perf_script_write(const struct view *view, FILE *file)
{
	const struct view_event *event;

	if (!view_job(view, &event))
		return 0;
	return event ? write_events(view, event, file) : write_sites(view, file);
}
