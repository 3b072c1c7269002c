/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph: live bytes, or what the report is sorted by where that is a quantity of its own;
 * of an event, how often it happened. A root for each process.
 */
#include "report/flame/flamegraph.h"

#include "report/flame/flame_svg.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <inttypes.h>

struct adding {
	struct stack_paths *paths;
	enum option_sort sort;
	struct sample_frames frames;
	struct strbuf name;
};

static int push(struct adding *adding, enum path_kind kind)
{
	int r = strbuf_error(&adding->name);

	return r < 0 ? r : stack_paths_push(adding->paths, kind, strbuf_str(&adding->name));
}

static int push_process(struct adding *adding, const struct model_process *image)
{
	strbuf_reset(&adding->name);
	escape_text(&adding->name, *image->comm ? image->comm : "unknown");
	strbuf_addf(&adding->name, "-%" PRIu32, image->pid);
	return push(adding, PATH_PROCESS);
}

static int push_frame(struct adding *adding, const struct sample_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	sample_frame_name(frame, &name);
	strbuf_reset(&adding->name);
	escape_text(&adding->name, strbuf_str(&name));
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	return push(adding, frame->mark ? PATH_MARK : frame->is_kernel ? PATH_KERNEL : PATH_FRAME);
}

static int add_sample(const struct sample *sample, void *userdata)
{
	struct adding *adding = userdata;
	uint64_t value = sample_weight(sample, adding->sort);
	int r;

	if (value == 0)
		return 0;
	r = stack_paths_begin(adding->paths, 0, value);
	if (r == 0)
		r = push_process(adding, sample->image);
	if (r == 0)
		r = sample_frames_fill(&adding->frames, sample->stack);
	for (size_t i = adding->frames.list.len; r == 0 && i > 0; i--)
		r = push_frame(adding, &adding->frames.list.data[i - 1]);
	return r;
}

/* All samples of the view with their weights. 0 or -ENOMEM. */
static int add_samples(struct stack_paths *paths, const struct view *view)
{
	struct adding adding = {
		.paths = paths,
		.sort = view_opts(view)->sort,
	};
	int r = samples_each(view, add_sample, &adding);

	sample_frames_done(&adding.frames);
	strbuf_done(&adding.name);
	return r;
}

void flamegraph_title(const struct view *view, struct strbuf *out)
{
	const struct view_event *event;
	size_t n = view_n_programs(view);

	if (!view_job(view, &event))
		return;
	escape_text(out, sample_what(event, view_class_shown(view), view_opts(view)->sort));
	if (n > 1 && !view_process(view, 0)->image->root) {
		/* Of a host or a cgroup, where the first is one of many. */
		strbuf_addf(out, " of %zu processes", n);
	} else if (n > 0) {
		const struct model_process *image = view_process(view, 0)->image;

		strbuf_adds(out, " of ");
		escape_text(out, *image->comm ? image->comm : "unknown");
		strbuf_addf(out, " (pid %" PRIu32 ")", image->pid);
		if (n > 1)
			strbuf_addf(out, " and %zu more process%s", n - 1, n == 2 ? "" : "es");
	}
}

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
	_cleanup_(stack_paths_done) struct stack_paths paths = { 0 };
	_cleanup_strbuf_ struct strbuf title = { 0 }, remark = { 0 };
	const struct view_event *event;
	struct flame flame = { 0 };
	int r;

	if (!view_job(view, &event))
		return 0;
	flamegraph_title(view, &title);
	add_remark(view, event, &remark);
	flame.title = strbuf_str(&title);
	flame.remark = strbuf_str(&remark);
	flame.pages = event && event->asked->page_bytes ? event : NULL;
	flame.unit = sample_unit(event, view_opts(view)->sort);
	flame.is_event = event != NULL;
	r = strbuf_error(&title) ? strbuf_error(&title) : strbuf_error(&remark);
	if (r == 0)
		r = add_samples(&paths, view);
	return r < 0 ? r : flame_svg_write(&flame, &paths, file);
}
