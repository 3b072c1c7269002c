/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text like that of `perf script`. Of the heap, or of mappings, one event per site that holds
 * something, its live bytes as the period; of an event, perf_script_events.c.
 */
#include "report/perf/perf_script_events.h"
#include "report/perf/perf_script_text.h"
#include "report/samples.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* No colon: one client would cut the name there. */
static const char *event_name(const struct view *view)
{
	return view_class_shown(view) == VIEW_MMAP ? "memtraced-mapped-bytes" :
						     "memtraced-live-bytes";
}

/* Times are microseconds apart: a thread's events must not go back in time. */
static void add_header(struct strbuf *out, const struct model_process *image, uint64_t time_ns,
		       int64_t period, const char *name)
{
	uint64_t us = time_ns / 1000;

	perf_text_comm(out, image->comm);
	strbuf_addf(out,
		    " %" PRIu32 "/%" PRIu32 " [000] %5" PRIu64 ".%06" PRIu64 ": %10" PRId64
		    " %s: \n",
		    image->pid, image->pid, us / 1000000, us % 1000000, period, name);
}

struct sites {
	const struct view *view;
	FILE *file;
	uint64_t time_ns;
	struct strbuf text;
};

static int put_site(const struct sample *sample, void *userdata)
{
	struct sites *sites = userdata;

	if (sample->site->live_bytes <= 0)
		return 0;
	strbuf_reset(&sites->text);
	add_header(&sites->text, sample->image, sites->time_ns, sample->site->live_bytes,
		   event_name(sites->view));
	perf_text_stack(&sites->text, sample->stack);
	sites->time_ns += 1000;
	if (strbuf_error(&sites->text) < 0)
		return strbuf_error(&sites->text);
	fwrite(strbuf_str(&sites->text), 1, sites->text.len, sites->file);
	return 0;
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
	if (!view_lost_nothing(view))
		add_comment(&text, view, "NOT EXACT: there may have been more events");
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	fwrite(strbuf_str(&text), 1, text.len, file);
	return perf_script_events(event, most ? most : MOST_EVENTS, file);
}

static int write_sites(const struct view *view, FILE *file)
{
	struct sites sites = { .view = view, .file = file, .time_ns = view_now_ns(view) };
	int r;

	add_comment(&sites.text, view,
		    view_class_shown(view) == VIEW_MMAP ?
			    "one event per site of mappings, its mapped bytes as the period; "
			    "not of the heap" :
			    "one event per site of the heap, its live bytes as the period; "
			    "not of mappings");
	r = strbuf_error(&sites.text);
	if (r == 0)
		fwrite(strbuf_str(&sites.text), 1, sites.text.len, file);
	if (r == 0)
		r = samples_each(view, put_site, &sites);
	strbuf_done(&sites.text);
	return r == 0 && ferror(file) ? -EIO : r;
}

int perf_script_write(const struct view *view, FILE *file)
{
	const struct view_event *event;

	if (!view_job(view, &event))
		return 0;
	return event ? write_events(view, event, file) : write_sites(view, file);
}
