/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph: live bytes, or what the report is sorted by where that is a quantity of its own;
 * of an event, how often it happened.
 */

#include "report/flame/flame_stacks.h"
#include "report/flame/flame_svg.h"
#include "report/samples.h"
#include "report/writers.h"

int flamegraph_write(const struct view *view, FILE *file)
{
	_cleanup_(stack_paths_free_p) struct stack_paths *paths = NULL;
	_cleanup_strbuf_ struct strbuf title = { 0 };
	const struct view_event *event;
	struct flame flame = { .remark = view_is_exact(view) ? "" : "not exact" };
	int r;

	if (!view_job(view, &event))
		return 0;
	flame_stacks_title(view, &title);
	flame.title = strbuf_str(&title);
	flame.unit = sample_unit(event, view_opts(view)->sort);
	flame.is_event = event != NULL;
	r = strbuf_error(&title);
	if (r == 0)
		r = stack_paths_new(&paths);
	if (r == 0)
		r = flame_stacks_add(paths, view, 0, true);
	return r < 0 ? r : flame_svg_write(&flame, paths, file);
}
