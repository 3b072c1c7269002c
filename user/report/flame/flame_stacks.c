/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/flame/flame_stacks.h"

#include "report/samples.h"
#include "report/text/text.h"

#include <inttypes.h>

struct adding {
	struct stack_paths *paths;
	enum option_sort sort;
	unsigned int side;
	bool with_pid;
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
	if (adding->with_pid)
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
	r = stack_paths_begin(adding->paths, adding->side, value);
	if (r == 0)
		r = push_process(adding, sample->image);
	if (r == 0)
		r = sample_frames_fill(&adding->frames, sample->stack);
	for (size_t i = adding->frames.list.len; r == 0 && i > 0; i--)
		r = push_frame(adding, &adding->frames.list.data[i - 1]);
	return r;
}

int flame_stacks_add(struct stack_paths *paths, const struct view *view, unsigned int side,
		     bool with_pid)
{
	struct adding adding = {
		.paths = paths,
		.sort = view_opts(view)->sort,
		.side = side,
		.with_pid = with_pid,
	};
	int r = samples_each(view, add_sample, &adding);

	sample_frames_done(&adding.frames);
	strbuf_done(&adding.name);
	return r;
}

void flame_stacks_title(const struct view *view, struct strbuf *out)
{
	const struct view_event *event;
	size_t n = view_n_processes(view);

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
