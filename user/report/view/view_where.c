/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_where.h"

#include "analyze/reach.h"
#include "base/saturate.h"
#include "report/text/text.h"
#include "report/view/view_resolve.h"

struct asked {
	const struct model_process *image;
	const struct view_site *site; /* NULL: none is known */
};

/* What is not known, or less than nothing, fulfils no comparison. */
static bool number_holds(const struct where_test *test, bool known, int64_t value)
{
	return known && where_compare(test, value > 0 ? (uint64_t)value : 0);
}

static bool known_holds(const struct where_test *test, uint64_t value)
{
	return value != VIEW_UNKNOWN && where_compare(test, value);
}

/* A path is named whole or by its last part. */
static bool path_matches(const struct where_test *test, const char *path)
{
	return path && (where_matches(test, path) || where_matches(test, text_base_name(path)));
}

static bool any_frame_matches(const struct where_test *test, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;

	while (view_frames_next(&it, &frame)) {
		if (test->field == WHERE_FUNCTION && frame.function &&
		    where_matches(test, frame.function))
			return true;
		if (test->field == WHERE_FILE && path_matches(test, frame.file))
			return true;
		if (test->field == WHERE_OBJECT && path_matches(test, frame.place->object))
			return true;
	}
	return false;
}

static bool text_matches(const struct where_test *test, const struct asked *asked)
{
	const struct view_site *site = asked->site;

	switch (test->field) {
	case WHERE_PROCESS:
		return where_matches(test, asked->image->comm);
	case WHERE_CLASS:
		return where_matches(test, site->class == VIEW_MMAP ? "mmap" : "heap");
	case WHERE_GROWTH:
		return site->has_growth &&
		       where_matches(test, growth_verdict_name(site->growth.verdict));
	case WHERE_LEAK:
		return site->leak < REACH_CLASSES &&
		       where_matches(test, reach_class_name(site->leak));
	default:
		return any_frame_matches(test, &site->stack);
	}
}

static bool holds(const struct where_test *test, void *userdata)
{
	const struct asked *asked = userdata;
	const struct view_site *site = asked->site;
	const struct model_process *image = asked->image;
	bool has_temporary = site && site->temporary != VIEW_UNKNOWN && site->allocs > 0;

	if (!site && test->field != WHERE_PROCESS)
		return false;
	switch (test->field) {
	case WHERE_LIVE:
		return number_holds(test, true, site->live_bytes);
	case WHERE_BLOCKS:
		return number_holds(test, true, site->live_blocks);
	case WHERE_PEAK:
		return number_holds(test, true, site->peak_bytes);
	case WHERE_ALLOCATED:
		return where_compare(test, site->bytes);
	case WHERE_ALLOCS:
		return where_compare(test, site->allocs);
	case WHERE_SIZE:
		return known_holds(test, view_site_mean_size(site));
	case WHERE_TEMPORARY:
		return has_temporary &&
		       where_compare(test, saturate_u64(100.0 * (double)site->temporary /
							(double)site->allocs));
	case WHERE_OLDEST:
		return known_holds(test, site->oldest_ns);
	case WHERE_NEWEST:
		return known_holds(test, site->newest_ns);
	case WHERE_LIFETIME:
		return known_holds(test, view_frees_mean_ns(site->frees.total_ns, site->frees.count,
							    site->frees.unknown));
	case WHERE_PID:
		return number_holds(test, image->known, image->pid);
	default:
		return text_matches(test, asked) == (test->op == WHERE_EQ);
	}
}

bool view_where_holds(const struct where *where, const struct view_process *process,
		      const struct view_site *site)
{
	struct asked asked = { process->image, site };

	return where_holds(where, holds, &asked);
}

bool view_where_holds_ended(const struct where *where, const struct model_ended *ended)
{
	const struct model_process image = { .comm = ended->comm };
	struct asked asked = { &image, NULL };

	return where_holds(where, holds, &asked);
}

void view_where_apply(const struct where *where, struct view_process *process)
{
	size_t n = 0;

	for (size_t i = 0; i < process->n_sites; i++) {
		struct view_site *site = &process->sites[i];

		if (view_where_holds(where, process, site)) {
			process->sites[n++] = *site;
			continue;
		}
		process->n_left_out++;
		process->left_out_bytes = saturate_add(process->left_out_bytes, site->live_bytes);
		view_frees_done(&site->frees);
		view_stack_done(&site->stack);
		view_series_done(&site->series);
	}
	process->n_sites = n;
}
