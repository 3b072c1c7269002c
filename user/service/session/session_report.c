/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "model/regions.h"
#include "report/report_opts.h"
#include "service/leak/leak_answer.h"
#include "service/session/resident.h"
#include "service/session/session_state.h"

#include <errno.h>
#include <string.h>

bool session_reads_resident(const struct options *options)
{
	return !options->no_rss && !options->floor &&
	       (!options->sample_bytes || options->max_overhead) &&
	       options_trace_allocations(options);
}

/* What may be accessed of the mapped regions of all processes, or of this image alone. */
static int read_mapped(struct session *s, bool one_image, image_t image)
{
	int r = 0;

	for (size_t i = 0; i < model_n_processes(s->model) && r == 0; i++) {
		const struct model_process *process = model_process(s->model, i);

		if (!one_image || image_is(process->id, image))
			r = resident_read_mapped(s->live, process, session_add_record, s);
	}
	return r;
}

/* What is in memory of the processes that run (0: all), of which the blocks are known. */
static int read_resident(struct session *s, pid_t pid)
{
	const struct options *o = s->options;
	bool all_counted = abi_block_filter_is_open(&o->block_filter) && o->n_allocators == 0;

	if (o->mappings)
		return read_mapped(s, false, RECORD_NO_IMAGE);
	if (!session_reads_resident(o) || live_depth(s->live) != RECORD_DEPTH_EXACT)
		return 0;
	return resident_read(s->live, s->model, pid, all_counted, session_add_record, s);
}

int session_read_resident(struct session *s)
{
	return read_resident(s, 0);
}

static int cut_session(struct session *s)
{
	int r = session_emit_cost(s);

	if (r == 0)
		r = source_cut(live_source(s->live), session_add_record, s);
	if (r < 0) {
		log_error("cannot read the BPF maps: %s", strerror(-r));
		return r;
	}
	if (s->leaks)
		leak_check_cut_taken(s->leaks);
	return 0;
}

int session_checkpoint(struct session *s)
{
	int r = cut_session(s);

	if (r < 0)
		return r;
	live_buffer_begin(s->live);
	return session_drain_buffered(s, outputs_checkpoint(s->outputs));
}

/* A process that a check has stopped waits for no report: that takes time, and may not be read. */
static int let_go_on(struct session *s)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;
	int r = live_pids(s->live, &pids, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (hold_has(s->hold, pids[i]))
			hold_go_on(s->hold, pids[i]);
	return r < 0 ? r : 0;
}

static int report_cut(struct session *s, bool final)
{
	int r = cut_session(s);

	if (r == 0 && s->leaks && s->hold)
		r = let_go_on(s);
	if (r < 0)
		return r;
	status_line_clear(s->status);
	if (final) {
		live_view_free(s->view);
		s->view = NULL;
		/* Nothing is counted any more: what is held waits for no reader of the report. */
		hold_free(s->hold);
		s->hold = NULL;
	} else {
		live_buffer_begin(s->live);
	}
	r = read_resident(s, 0);
	if (r == 0 && s->leaks)
		r = leak_check_report(s->leaks, final);
	if (r == 0)
		r = outputs_write(s->outputs, final);
	/* After the final one nothing is drained any more. */
	if (!final)
		r = session_drain_buffered(s, r);
	return r == -EPIPE && s->launch && (!final || s->child_status >= 0) ? 0 : r;
}

int session_drain_buffered(struct session *s, int r)
{
	int drained;

	live_buffer_end(s->live);
	drained = session_drain(s);
	return r < 0 || drained == 0 ? r : drained;
}

int session_show(struct session *s, const struct report_opts *opts,
		 int (*fn)(const struct view *view, void *userdata), void *userdata)
{
	int r = cut_session(s);

	if (r < 0)
		return r;
	live_buffer_begin(s->live);
	r = s->options->mappings ? read_mapped(s, opts->one_image, opts->image) :
				   read_resident(s, 0);
	if (r == 0)
		r = outputs_show_as(s->outputs, opts, fn, userdata);
	return session_drain_buffered(s, r);
}

int session_cut(struct session *s)
{
	int r = cut_session(s);

	return r < 0 ? r : session_drain(s);
}

const struct model_process *session_find_running(const struct session *s, pid_t pid)
{
	for (size_t i = model_n_processes(s->model); i > 0; i--) {
		const struct model_process *image = model_process(s->model, i - 1);

		if (image->known && !image->ended && image->pid == (uint32_t)pid)
			return image;
	}
	return NULL;
}

int session_find_image(struct session *s, pid_t pid, image_t *ret_image)
{
	int r = session_drain(s);
	const struct model_process *image = r < 0 ? NULL : session_find_running(s, pid);

	if (image)
		*ret_image = image->id;
	return r < 0 ? r : image ? 0 : -ESRCH;
}

bool session_is_current(const struct session *s, pid_t pid, image_t image)
{
	return live_is_current(s->live, pid, image);
}

int session_each_mapped(const struct session *s,
			int (*fn)(pid_t pid, const struct region_totals *totals, void *userdata),
			void *userdata)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < model_n_processes(s->model); i++) {
		const struct model_process *image = model_process(s->model, i);
		struct region_totals totals;

		if (!image->known || image->ended || !image->regions ||
		    !image_is_none(image->next_id))
			continue;
		regions_totals(image->regions, &totals);
		r = fn((pid_t)image->pid, &totals, userdata);
	}
	return r;
}

uint64_t session_regions_left_out(const struct session *s)
{
	return model_regions_left_out(s->model);
}

const struct record_coverage *session_coverage(const struct session *s)
{
	return model_coverage(s->model)->at_cut;
}

struct model_size session_size(const struct session *s)
{
	return model_size(s->model);
}

static int drain_all(void *userdata)
{
	struct session *s = userdata;
	int r = session_drain(s);

	return r < 0 ? r : live_emit_book_stacks(s->live, session_add_record, s);
}

/* All that is traced and runs is stopped for a moment, of which the next cut is. */
static int check_running(struct session *s, enum leak_occasion occasion)
{
	_cleanup_free_ pid_t *pids = NULL;
	struct leak_moment moment = { .occasion = occasion };
	int r = live_pids(s->live, &pids, &moment.n_pids);

	if (r < 0 || moment.n_pids == 0)
		return r;
	moment.pids = pids;
	return leak_check_run(s->leaks, s->live, s->hold, &moment, drain_all, s);
}

int session_report(struct session *s, bool final)
{
	int r = s->leaks ? check_running(s, final ? LEAK_AT_END : LEAK_ASKED) : 0;

	return r < 0 ? r : report_cut(s, final);
}

/* Memory of the command itself: of its children, which may be many, what was read last stands. */
static bool is_command(const struct session *s, pid_t pid)
{
	return s->launch && pid == launch_pid(s->launch);
}

static int settle_checks(struct session *s)
{
	live_buffer_begin(s->live);
	return session_drain_buffered(s, leak_check_settle(s->leaks));
}

/* A process that is about to end, whose exit handlers have run. */
static int look_at_exiting(struct session *s, pid_t pid)
{
	const struct leak_moment moment = { .occasion = LEAK_AT_EXIT, .pids = &pid, .n_pids = 1 };
	int r = 0;

	if (s->leaks)
		r = leak_check_run(s->leaks, s->live, s->hold, &moment, drain_all, s);
	if (r == 0 && s->leaks && leak_check_is_full(s->leaks))
		r = settle_checks(s);
	return r == 0 && is_command(s, pid) ? read_resident(s, pid) : r;
}

/* Into the process that asks for the sums of the check before. */
static int answer(struct session *s, const struct hold_event *event)
{
	const struct model_process *image = session_find_running(s, event->pid);
	struct loss_totals totals;
	int r = image ? drain_all(s) : -ESRCH;

	if (r < 0)
		return r == -ESRCH ? 0 : r;
	live_buffer_begin(s->live);
	r = session_drain_buffered(s, leak_check_totals(s->leaks, image->id, &totals));
	if (r < 0)
		return r;
	r = leak_answer_write(s->hold, event->pid, event->tid, &totals);
	if (r < 0 && r != -ESRCH)
		log_warning("process %d: memtraced_count_leaks() is not answered: %s",
			    (int)event->pid, strerror(-r));
	return 0;
}

/* Before a function: what is counted there is of the cut that is taken while it waits. */
static int check_at(struct session *s, const struct hold_event *event, const char *function)
{
	const struct leak_moment moment = {
		.occasion = function ? LEAK_AT_FUNCTION : LEAK_AT_EXEC,
		.request = leak_request_find(function),
		.pids = &event->pid,
		.n_pids = 1,
		.caller = event->tid,
	};
	int r = leak_check_run(s->leaks, s->live, s->hold, &moment, drain_all, s);

	if (r == 0 && !function && leak_check_is_full(s->leaks))
		r = settle_checks(s);
	if (r < 0 || !function)
		return r;
	r = source_cut(live_source(s->live), session_add_record, s);
	if (r < 0)
		return r;
	leak_check_cut_taken(s->leaks);
	if (!leak_check_is_full(s->leaks))
		return 0;
	live_buffer_begin(s->live);
	return session_drain_buffered(s, leak_check_report(s->leaks, false));
}

/* A thread was stopped by a signal that may be the programs' mark. */
static int on_mark(struct session *s, const struct hold_event *event)
{
	const char *function;
	int r;

	if (s->leaks && live_take_checkpoint(s->live, event->tid, &function)) {
		r = leak_request_find(function) == LEAK_REQUEST_SUMS ? answer(s, event) :
								       check_at(s, event, function);
		return r < 0 ? r : 1;
	}
	return live_take_mark(s->live, event->tid);
}

int session_on_hold(const struct hold_event *event, void *userdata)
{
	struct session *s = userdata;
	int r;

	if (event->type == HOLD_THREAD)
		return leak_check_thread(s->leaks, event->pid, event->tid, event->number);
	r = session_drain(s);
	if (r == 0)
		r = live_await_probes(s->live);
	if (r)
		return r;
	if (event->type == HOLD_MARK)
		return on_mark(s, event);
	if (event->type == HOLD_EXITING)
		return look_at_exiting(s, event->pid);
	if (is_command(s, event->pid)) {
		if (event->type == HOLD_EXITED)
			s->child_status = event->status;
		if (event->type == HOLD_STOPPED)
			s->child_stop = event->status;
		return 0;
	}
	/* Not followed: held only while it uses the memory of a process that is. */
	return event->type != HOLD_EXITED && !live_counts(s->live, event->pid);
}
