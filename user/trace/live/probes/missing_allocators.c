/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was looked for and is not there: functions that --allocator names, and any allocator at all
 * in what a process maps, whose memory is then not seen.
 */
#include "base/clock.h"
#include "config/near_name.h"
#include "probe/custom_allocators.h"
#include "probe/object_reader.h"
#include "trace/live/live.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"

/* What has been executed is taken to load its libraries for so long. */
#define LOADING_NS (5 * SECOND_NS)

static int log_missing(const struct live *live, const struct custom_function *f,
		       struct strbuf *text)
{
	struct near_names near;
	size_t n_files = 0;

	near_names_init(&near, f->row.name);
	for (size_t i = 0; i < objects_count(live->objects); i++) {
		const struct object *object = objects_at(live->objects, i);

		if (!custom_function_is_in(f, object_path(object)))
			continue;
		n_files++;
		if (!f->address)
			/* What cannot be read offers none. */
			(void)object_read_near(live->opts.worker, object_fd(object), &near);
	}
	strbuf_addf(text, "--allocator: %s was not found: ", f->row.name);
	if (!n_files)
		strbuf_addf(text, "no file named %s was mapped", f->object ? f->object : "so");
	else
		strbuf_addf(text, "no such symbol in %s%s", f->object ? f->object : "any file",
			    near.n ? "; near it come " : "");
	for (size_t i = 0; i < near.n; i++)
		strbuf_addf(text, "%s%s", i ? ", " : "", near.best[i].shown);
	strbuf_addf(text, "\n");
	return strbuf_error(text);
}

int live_missing_allocators(const struct live *live, struct strbuf *ret_text)
{
	size_t n;
	const struct custom_function *all = custom_allocators_all(live->custom, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (!all[i].found)
			r = log_missing(live, &all[i], ret_text);
	return r;
}

/* An executable and its dynamic linker, which has not loaded what the allocator may be in. */
static bool is_starting(const struct live_process *process)
{
	const struct object *objects[2] = { NULL, NULL };

	vec_foreach(&process->code.ranges, range) {
		size_t i = 0;

		if (!range->object)
			continue;
		if (object_is_alone(range->object))
			return false;
		while (i < 2 && objects[i] && objects[i] != range->object)
			i++;
		if (i == 2)
			return false;
		objects[i] = range->object;
	}
	return true;
}

/* The first file that it maps, by address: the executable but where that was deleted or hidden. */
static const struct object *first_object(const struct live_process *process)
{
	vec_foreach(&process->code.ranges, range)
		if (range->object)
			return range->object;
	return NULL;
}

static int log_unseen(struct live *live, const struct live_process *process)
{
	const struct object *object = first_object(process);
	_cleanup_strbuf_ struct strbuf why = {};
	struct record record = { .type = RECORD_UNPROBED };

	if (!object) /* gone before it could be looked at: its file has been named by another */
		return 0;
	if (live->opts.run.sampled && !live->opts.run.both)
		strbuf_addf(&why,
			    "no otel_memory probes in process %d (%s): nothing of it is counted",
			    (int)process->pid, process->comm);
	else
		strbuf_addf(&why,
			    "process %d (%s) maps no file with malloc, calloc, realloc, free or "
			    "operator new among its symbols, so that its memory is not seen",
			    (int)process->pid, process->comm);
	if (strbuf_error(&why))
		return strbuf_error(&why);
	record.unprobed = (struct record_unprobed){ live->opts.run.sampled && !live->opts.run.both ?
							    "otel_memory" :
							    "any allocator",
						    object_path(object), strbuf_str(&why) };
	return live_emit(live, &record);
}

int live_judge_allocator(struct live *live, struct live_process *process)
{
	if (!live->opts.run.allocations || process->placeholder || process->links.unseen)
		return 0;
	vec_foreach(&process->code.ranges, range)
		if (range->object && object_has_allocator(range->object))
			return 0;
	if (!process->alone && is_starting(process))
		return 0;
	live_note_unseen(live, process);
	/* Of a whole host, few programs show samples: the others' number is enough. */
	if (live->opts.run.sampled && live->opts.run.rule.scope != ABI_SCOPE_PROCESSES)
		return 0;
	return log_unseen(live, process);
}

/* Libraries may come before the one with the allocator. At its end it is judged in any case. */
static bool is_loading(const struct live_process *process, uint64_t now_ns)
{
	if (process->alone || now_ns > process->execed_ns + LOADING_NS)
		return false;
	vec_foreach(&process->code.ranges, range)
		if (range->object && object_is_alone(range->object))
			return false;
	return true;
}

int live_judge_running(struct live *live)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	vec_foreach(&live->slots.all, p)
		if (r == 0 && *p && !(*p)->ended && !is_loading(*p, now_ns))
			r = live_judge_allocator(live, *p);
	return r;
}
