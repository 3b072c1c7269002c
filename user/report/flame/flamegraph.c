/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph: live bytes, or what the report is sorted by where that is a quantity of its own;
 * of an event, how often it happened.
 */

#include "report/flame/flame_stacks.h"
#include "report/flame/flame_svg.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/writers.h"

#include <inttypes.h>

/* What is to be known of the values. */
static void add_remark(const struct view *view, const struct view_event *event, struct strbuf *out)
{
	enum coverage_state state = coverage_state(view);

	/* That an event was sampled is in its unit, or said below. */
	if (state != COVERAGE_EXACT && !(event && state == COVERAGE_ESTIMATES))
		strbuf_adds(out, coverage_state_name(state));
	if (sample_peaks_differ(view, view_opts(view)->sort))
		strbuf_addf(out, "%speaks are " SAMPLE_PEAKS_DIFFER, out->len > 0 ? "; " : "");
	if (!event || !event->asked->page_bytes)
		return;
	strbuf_adds(out, out->len > 0 ? "; " : "");
	if (view_event_sampled(event))
		strbuf_addf(out, "one page fault in %s%" PRIu64 " was sampled; ",
			    event->asked->adapts ? "1 to " : "", event->interval);
	strbuf_adds(out, "bytes are right if all pages are small");
}

int flamegraph_write(const struct view *view, FILE *file)
{
	_cleanup_(stack_paths_free_p) struct stack_paths *paths = NULL;
	_cleanup_strbuf_ struct strbuf title = { 0 }, remark = { 0 };
	const struct view_event *event;
	struct flame flame = { 0 };
	int r;

	if (!view_job(view, &event))
		return 0;
	flame_stacks_title(view, &title);
	add_remark(view, event, &remark);
	flame.title = strbuf_str(&title);
	flame.remark = strbuf_str(&remark);
	flame.pages = event && event->asked->page_bytes ? event : NULL;
	flame.unit = sample_unit(event, view_opts(view)->sort);
	flame.is_event = event != NULL;
	r = strbuf_error(&title) ? strbuf_error(&title) : strbuf_error(&remark);
	if (r == 0)
		r = stack_paths_new(&paths);
	if (r == 0)
		r = flame_stacks_add(paths, view, 0, true);
	return r < 0 ? r : flame_svg_write(&flame, paths, file);
}
