/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/outputs.h"

#include "base/log.h"
#include "report/one_process.h"
#include "report/report.h"
#include "report/view/symbols.h"
#include "report/view/view.h"
#include "service/leak/leak_check.h"
#include "service/leak/leak_replay.h"
#include "service/output/event_streams.h"
#include "service/output/jobs.h"
#include "service/output/output_checks.h"
#include "service/output/output_file.h"
#include "service/output/recorder.h"
#include "service/output/stdout_queue.h"
#include "service/session/jit_watch.h"
#include "symbol/debuginfod.h"
#include "symbol/symbolizer.h"
#include "target/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- --debuginfod ---------------------------------------------------------------------------- */

/* A server that unpacks a large file from a package takes some seconds before its first byte. */
#define FILE_MS 15000
#define ALL_MS 60000

/* 0 or negative errno (logged): no servers are named, or their client is not installed. */
static int debug_fetch_begin(struct debuginfod **ret_debuginfod)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int r;

	if (!urls || strspn(urls, " ") == strlen(urls)) {
		log_error("--debuginfod: no servers: name them in DEBUGINFOD_URLS, which sudo "
			  "passes on with --preserve-env=DEBUGINFOD_URLS");
		return -EINVAL;
	}
	r = debuginfod_new(FILE_MS, ALL_MS, ret_debuginfod);
	if (r == -ENOPKG)
		log_error("--debuginfod: there is no libdebuginfod.so.1: install libdebuginfod1");
	else if (r)
		log_error("--debuginfod: %s", strerror(-r));
	return r;
}

/* Logs what came of it. */
static void debug_fetch_report(const struct debuginfod *debuginfod)
{
	struct debuginfod_counts n = debuginfod_count(debuginfod);

	log_warning("debuginfod: %llu debug files found, %llu that no server has",
		    (unsigned long long)n.found, (unsigned long long)n.missing);
	if (n.failed > 0)
		log_warning("debuginfod: %s; %llu more files were not asked for",
			    strerror(-n.first_error), (unsigned long long)n.not_asked);
	else if (n.not_asked > 0)
		log_warning("debuginfod: time limit reached; %llu more files were not asked for",
			    (unsigned long long)n.not_asked);
}

/* --------------------------------------------------------------------------------------------- */

struct outputs {
	const struct options *options;
	const struct model *model;
	struct symbolizer *symbolizer;
	struct symbols *symbols;
	uid_t uid;
	gid_t gid;
	pid_t pid;			/* what %p in a path stands for */
	bool stdout_closed;		/* its reader has gone */
	bool terminal_lent;		/* a full-screen view has it */
	struct stdout_queue *queue;	/* NULL: reports wait for their reader */
	uint64_t n_left_out;		/* as an earlier one waited there */
	struct recorder *recorder;	/* NULL: not recording */
	struct event_streams *streams;	/* NULL: no --each */
	struct debuginfod *debuginfod;	/* NULL: not asked for */
	const struct leak_check *leaks; /* NULL: not asked for */
	struct leak_replay *replayed;	/* NULL: no recording is read */
	struct jit_watch *jit;		/* NULL: a recording is read, which has it */
};

/* What run-times say of their code is recorded beside being looked up. */
static int apply_jit_code(const struct record *record, void *userdata)
{
	struct outputs *outputs = userdata;
	int r = recorder_add(record, outputs->recorder);

	return r ? r : symbols_apply(record, outputs->symbols);
}

int outputs_new(const struct options *options, const struct model *model, bool open_files,
		struct worker *worker, struct outputs **ret_outputs)
{
	_cleanup_(outputs_free_p) struct outputs *outputs = calloc(1, sizeof(*outputs));
	int r;

	if (!outputs)
		return -ENOMEM;
	outputs->options = options;
	outputs->model = model;
	invoking_user(&outputs->uid, &outputs->gid);
	if (outputs->uid == geteuid())
		outputs->uid = (uid_t)-1;
	r = outputs_check(options, outputs->uid, outputs->gid);
	if (r == 0)
		r = symbolizer_new(worker, &outputs->symbolizer);
	if (r == 0 && options->access.limited)
		symbolizer_show_to(outputs->symbolizer, options->access.uid, options->access.gid);
	if (r == 0)
		r = symbols_new(model, outputs->symbolizer, open_files, &outputs->symbols);
	if (r == 0 && options->debuginfod)
		r = debug_fetch_begin(&outputs->debuginfod);
	if (r == 0 && open_files)
		r = jit_watch_new(model, worker, &options->access, apply_jit_code, outputs,
				  &outputs->jit);
	if (r == 0 && options->action == ACTION_REPORT)
		r = leak_replay_new(&outputs->replayed);
	if (r == 0 && options->each)
		r = event_streams_new(model, outputs->symbols, &outputs->streams);
	if (r)
		return r;
	*ret_outputs = TAKE_PTR(outputs);
	return 0;
}

void outputs_free(struct outputs *outputs)
{
	if (!outputs)
		return;
	event_streams_free(outputs->streams);
	leak_replay_free(outputs->replayed);
	jit_watch_free(outputs->jit);
	recorder_free(outputs->recorder);
	symbols_free(outputs->symbols);
	symbolizer_free(outputs->symbolizer);
	debuginfod_free(outputs->debuginfod);
	free(outputs);
}

static int begin_recording(struct outputs *outputs, const struct option_output *output)
{
	_cleanup_free_ char *path = path_expand(output->path, outputs->pid, "");
	int r = path ? recorder_new(path, outputs->uid, outputs->gid, &outputs->recorder) : -ENOMEM;

	if (r)
		log_error("cannot write %s: %s", output->path, strerror(-r));
	return r;
}

int outputs_begin(struct outputs *outputs, pid_t pid)
{
	outputs->pid = pid;
	for (size_t i = 0; i < outputs_count(outputs->options); i++) {
		const struct option_output *output = outputs_at(outputs->options, i);

		if (!output_is_recording(output))
			continue;
		return begin_recording(outputs, output);
	}
	return 0;
}

/* The path of an output for one job; %p is `pid`. malloc'ed, NULL without memory. */
static char *job_path(const struct outputs *outputs, const struct option_output *output, size_t job,
		      pid_t pid)
{
	_cleanup_strbuf_ struct strbuf name = {};

	jobs_name(outputs->model, job, &name);
	if (strbuf_error(&name))
		return NULL;
	return path_expand(output->path, pid, strbuf_str(&name));
}

/* Is the job written as it happens rather than from a view? */
static bool is_streamed(const struct outputs *outputs, const struct option_output *output,
			size_t job)
{
	bool is_event =
		job > 0 || jobs_count(outputs->model) == model_events(outputs->model)->list.len;

	return outputs->streams && is_event && strcmp(output->format, "perf-script") == 0;
}

static int begin_stream(struct outputs *outputs, const struct option_output *output,
			uint32_t event_id)
{
	_cleanup_free_ char *path = NULL;
	struct output_file *file = NULL;
	int r = 0;

	if (!output->path)
		return event_streams_add(outputs->streams, event_id, NULL, outputs->queue);
	path = job_path(outputs, output, jobs_of_event(outputs->model, event_id), outputs->pid);
	r = path ? output_file_new(path, outputs->uid, outputs->gid,
				   report_format_find(output->format), &file) :
		   -ENOMEM;
	if (r)
		log_error("cannot write %s: %s", output->path, strerror(-r));
	return r ? r : event_streams_add(outputs->streams, event_id, file, NULL);
}

static int begin_streams(struct outputs *outputs, uint32_t event_id)
{
	size_t job = jobs_of_event(outputs->model, event_id);
	int r = 0;

	for (size_t i = 0; r == 0 && i < outputs_count(outputs->options); i++)
		if (is_streamed(outputs, outputs_at(outputs->options, i), job))
			r = begin_stream(outputs, outputs_at(outputs->options, i), event_id);
	return r;
}

int outputs_add_record(struct outputs *outputs, const struct record *record)
{
	int r = recorder_add(record, outputs->recorder);

	if (r == 0 && outputs->jit)
		r = jit_watch_add(outputs->jit, record);
	if (r == 0 && outputs->replayed)
		r = leak_replay_add(record, outputs->replayed);
	if (r)
		return r;
	/* Files are opened while the target lives. */
	if (record->type == RECORD_MAPPING) {
		r = symbols_open_again(outputs->symbols, &record->mapping);
		return r < 0 ? r : symbols_update(outputs->symbols);
	}
	if (outputs->streams && record->type == RECORD_EVENT)
		return begin_streams(outputs, record->event.id);
	if (!outputs->streams || record->type != RECORD_OCCURRENCE)
		return 0;
	r = outputs->jit ? jit_watch_read_sometimes(outputs->jit) : 0;
	return r ? r : event_streams_write(outputs->streams, &record->occurrence);
}

int outputs_flush(struct outputs *outputs)
{
	/* No view is there between records, and streams keep text. */
	int r = symbols_age(outputs->symbols);

	if (r < 0 || !outputs->streams)
		return r;
	return event_streams_flush(outputs->streams);
}

void outputs_show_leaks(struct outputs *outputs, const struct leak_check *check)
{
	outputs->leaks = check;
}

struct symbols *outputs_symbols(struct outputs *outputs)
{
	return outputs->symbols;
}

bool outputs_own_stdout(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs_count(outputs->options); i++) {
		const struct option_output *output = outputs_at(outputs->options, i);

		if (!output->path && strcmp(output->format, "table") != 0)
			return true;
	}
	return false;
}

bool outputs_live_view(const struct outputs *outputs)
{
	return outputs_count(outputs->options) > 0 && !outputs_own_stdout(outputs) &&
	       isatty(STDOUT_FILENO) && !outputs->options->quiet;
}

static int print_report(struct outputs *outputs, const struct view *view,
			const struct option_output *output, bool final, FILE *file)
{
	/* ECMA-48: cursor home, erase the display */
	static const char clear[] = "\033[H\033[2J";

	if (!final && outputs_live_view(outputs))
		fputs(clear, file);
	return report_write(output->format, view, file);
}

static int print_now(struct outputs *outputs, const struct view *view,
		     const struct option_output *output, bool final)
{
	_cleanup_(stdout_stream_free_p) struct stdout_stream *out = NULL;
	int r = stdout_stream_new(NULL, &out), r_flush;

	if (r < 0)
		return r;
	r = print_report(outputs, view, output, final, stdout_stream_file(out));
	r_flush = stdout_stream_flush(out);
	return r_flush < 0 ? r_flush : r;
}

static int print_later(struct outputs *outputs, const struct view *view,
		       const struct option_output *output)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);
	int r;

	if (!file)
		return -ENOMEM;
	r = print_report(outputs, view, output, false, file);
	if (fclose(file) != 0 && r == 0)
		r = -ENOMEM;
	return r ? r : stdout_queue_add(outputs->queue, text, len);
}

static int write_stdout(struct outputs *outputs, const struct view *view,
			const struct option_output *output, bool final)
{
	int r = final || !outputs->queue ? print_now(outputs, view, output, final) :
					   print_later(outputs, view, output);

	outputs->stdout_closed = r == -EPIPE;
	if (r && r != -EPIPE)
		log_error("cannot write to stdout: %s", strerror(-r));
	return r;
}

/* Of one process if that is not NULL. */
static int write_file(const struct outputs *outputs, const struct view *view,
		      const struct option_output *output, const struct view_process *process)
{
	pid_t pid = process ? (pid_t)process->image->pid : outputs->pid;
	size_t job = view_opts(view)->mappings ? jobs_count(outputs->model) : view_opts(view)->job;
	_cleanup_free_ char *path = job_path(outputs, output, job, pid);
	_cleanup_(output_file_free_p) struct output_file *file = NULL;
	const struct report_format *format = report_format_find(output->format);
	int r = path ? output_file_new(path, outputs->uid, outputs->gid, format, &file) : -ENOMEM;

	if (r == 0)
		r = report_format_write(format, view, process, output_file_stream(file));
	if (file)
		r = output_file_end(file, r);
	if (r)
		log_error("cannot write %s: %s", path ? path : output->path, strerror(-r));
	return r == -EPIPE ? -EIO : r;
}

/* A file for each process that allocated, or all that did is one process. */
static int write_processes(struct outputs *outputs, const struct view *view,
			   const struct option_output *output, bool final)
{
	size_t n = view_n_processes(view), first = one_process_from(view, 0);
	int r = output_check_allocations(output, view_has_allocations(view));

	if (r < 0)
		return r;
	if (first < n && one_process_from(view, first + 1) < n &&
	    !(output->path && path_has_pid(output->path))) {
		log_error("%s holds one process, and several allocated: give -o %s:PATH with %%p "
			  "in PATH, which stands for the process id",
			  output->format, output->format);
		return -ENOTUNIQ;
	}
	if (!output->path)
		return write_stdout(outputs, view, output, final);
	if (first == n)
		return write_file(outputs, view, output, NULL);
	for (size_t i = first; r == 0 && i < n; i = one_process_from(view, i + 1))
		r = write_file(outputs, view, output, view_process(view, i));
	return r;
}

/* The job jobs_count is the mappings beside the heap. */
static int write_job(struct outputs *outputs, const struct option_output *output, size_t job,
		     bool final)
{
	_cleanup_(view_free_p) struct view *view = NULL;
	struct report_opts opts = output_style(outputs->options, output);
	int r;

	if (!output->path && (outputs->stdout_closed ||
			      (outputs->queue && stdout_queue_error(outputs->queue) == -EPIPE)))
		return -EPIPE;
	opts.mappings = job == jobs_count(outputs->model);
	opts.job = opts.mappings ? 0 : job;
	if (outputs->leaks)
		opts.leaks = leak_check_results(outputs->leaks, &opts.n_leaks);
	else if (outputs->replayed)
		opts.leaks = leak_replay_results(outputs->replayed, &opts.n_leaks);
	r = view_new(outputs->model, outputs->symbols, &opts, &view);
	if (r) {
		log_error("out of memory for the report");
		return r;
	}
	if (output_of_one_process(output))
		return write_processes(outputs, view, output, final);
	return output->path ? write_file(outputs, view, output, NULL) :
			      write_stdout(outputs, view, output, final);
}

/* Formats that hold the stacks of one job are written once for each. */
static int write_output(struct outputs *outputs, const struct option_output *output, bool final)
{
	size_t n_jobs = output_of_one_job(output) ? jobs_count(outputs->model) : 1;
	int r = 0;

	for (size_t job = 0; r == 0 && job < n_jobs; job++)
		if (!output_of_one_job(output) || !is_streamed(outputs, output, job))
			r = write_job(outputs, output, job, final);
	if (r == 0 && output_of_one_quantity(output) && output->path &&
	    path_has_job(output->path) && jobs_have_mappings(outputs->model))
		r = write_job(outputs, output, n_jobs, final);
	return r;
}

void outputs_queue_stdout(struct outputs *outputs, struct stdout_queue *queue)
{
	outputs->queue = queue;
}

/* What waits comes before the final report. 0 or negative errno (logged, but for -EPIPE). */
static int end_queue(struct outputs *outputs)
{
	int r = stdout_queue_flush(outputs->queue);

	if (r < 0 && r != -EPIPE)
		log_error("cannot write to stdout: %s", strerror(-r));
	if (outputs->n_left_out > 0)
		log_warning("%" PRIu64 " reports were left out: standard output was not read in "
			    "time",
			    outputs->n_left_out);
	return r == -EPIPE ? 0 : r;
}

void outputs_lend_terminal(struct outputs *outputs, bool lent)
{
	outputs->terminal_lent = lent;
}

static int update_symbols(struct outputs *outputs)
{
	int r = symbols_update(outputs->symbols);

	if (r < 0 || !outputs->jit)
		return r;
	r = jit_watch_read(outputs->jit);
	symbols_miss_codes(outputs->symbols, jit_watch_unread(outputs->jit));
	return r;
}

int outputs_show_as(struct outputs *outputs, const struct report_opts *opts,
		    int (*fn)(const struct view *view, void *userdata), void *userdata)
{
	_cleanup_(view_free_p) struct view *view = NULL;
	struct report_opts own = *opts;
	int r = update_symbols(outputs);

	own.wrappers = outputs->options->wrappers;
	if (r == 0)
		r = view_new(outputs->model, outputs->symbols, &own, &view);
	return r ? r : fn(view, userdata);
}

int outputs_show(struct outputs *outputs, uint64_t mark_ns,
		 int (*fn)(const struct view *view, void *userdata), void *userdata)
{
	struct report_opts opts = output_filters(outputs->options);

	opts.mark_ns = mark_ns;
	return outputs_show_as(outputs, &opts, fn, userdata);
}

static int save_as(struct outputs *outputs, const struct option_output *output)
{
	int r = update_symbols(outputs);

	if (r == 0 && output_of_one_job(output) && !path_has_job(output->path))
		return write_job(outputs, output, 0, false);
	return r ? r : write_output(outputs, output, false);
}

int outputs_save(struct outputs *outputs, const char *spec, struct strbuf *message)
{
	const char *colon = strchr(spec, ':');
	_cleanup_free_ char *format = colon ? strndup(spec, (size_t)(colon - spec)) : NULL;
	const struct option_output output = { format, colon ? (char *)colon + 1 : NULL };
	int r;

	if (!format || !*output.path) {
		strbuf_adds(message, "not saved: give FORMAT:PATH, as in json:out.json");
		return -EINVAL;
	}
	if (!report_format_find(format)) {
		strbuf_adds(message, "not saved: ");
		report_format_unknown(format, message);
		return -EINVAL;
	}
	r = save_as(outputs, &output);
	if (r == -ENOTUNIQ)
		strbuf_addf(message, "not saved: %s holds one process: give %%p in the path",
			    format);
	else if (r)
		strbuf_addf(message, "not saved: %s: %s", output.path, strerror(-r));
	else
		strbuf_addf(message, "saved %s", output.path);
	return r;
}

/* A view of everything resolves all frames, so that the recording can carry their symbols. */
static int end_recording(struct outputs *outputs)
{
	_cleanup_(view_free_p) struct view *view = NULL;
	const struct view_resolver resolver = { outputs->model, outputs->symbols };
	const struct report_opts everything = { 0 };
	int r = recorder_checkpoint(outputs->recorder, &resolver, true);

	if (r == 0)
		r = view_new(outputs->model, outputs->symbols, &everything, &view);
	return r ? r : recorder_finish(outputs->recorder, outputs->symbols);
}

int outputs_checkpoint(struct outputs *outputs)
{
	const struct view_resolver resolver = { outputs->model, outputs->symbols };
	int r = outputs->recorder ? update_symbols(outputs) : 0;

	if (r < 0 || !outputs->recorder)
		return r;
	/* What servers say at the end would come too late: readers take the first symbol. */
	return recorder_checkpoint(outputs->recorder, &resolver, !outputs->debuginfod);
}

uint64_t outputs_recorded(const struct outputs *outputs)
{
	return outputs->recorder ? recorder_written(outputs->recorder) : 0;
}

int outputs_tick(struct outputs *outputs, uint64_t now_ns)
{
	return outputs->recorder ? recorder_flush(outputs->recorder, now_ns) : 0;
}

static int end_streams(struct outputs *outputs)
{
	int r = event_streams_finish(outputs->streams);

	if (r == 0 && outputs->queue)
		r = stdout_queue_flush(outputs->queue);
	if (r && r != -EPIPE)
		log_error("cannot write the events: %s", strerror(-r));
	return r;
}

/* Of a report that is not final: is the output not written now? */
static bool is_left_out(struct outputs *outputs, const struct option_output *output, bool waits)
{
	if (output->path)
		return false;
	/* one event a line: a second state would be taken for more events */
	if (outputs->terminal_lent || report_format_find(output->format)->at_end_only)
		return true;
	outputs->n_left_out += waits;
	return waits;
}

int outputs_write(struct outputs *outputs, bool final)
{
	bool waits = !final && outputs->queue && stdout_queue_waiting(outputs->queue) > 0;
	int r = update_symbols(outputs), failed = 0;

	/* Nothing is drained any more, so that nothing is lost while servers are waited for. */
	if (r == 0 && final && outputs->debuginfod)
		r = symbols_fetch_from(outputs->symbols, outputs->debuginfod);
	if (r == 0 && outputs->options->action == ACTION_REPORT)
		r = outputs_check_jobs(outputs->options, jobs_count(outputs->model));
	if (r == 0 && final && outputs->queue)
		r = end_queue(outputs);
	for (size_t i = 0; i < outputs_count(outputs->options) && r == 0; i++) {
		const struct option_output *output = outputs_at(outputs->options, i);

		if (output_is_recording(output))
			continue;
		if (!final && is_left_out(outputs, output, waits))
			continue;
		r = write_output(outputs, output, final);
		/* the others are still worth writing */
		if (r && r != -ENOMEM) {
			failed = r != -EPIPE || !failed ? r : failed;
			r = 0;
		}
	}
	if (r == 0 && outputs->recorder)
		r = final ? end_recording(outputs) : outputs_checkpoint(outputs);
	if (r == 0 && final && outputs->streams)
		r = end_streams(outputs);
	if (final && outputs->debuginfod)
		debug_fetch_report(outputs->debuginfod);
	return r ? r : failed;
}
