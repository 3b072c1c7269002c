/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/commands.h"

#include "base/log.h"
#include "config/options.h"
#include "report/diff/diff.h"
#include "report/report.h"
#include "report/view/symbols.h"
#include "service/output/hints.h"
#include "service/output/jobs.h"
#include "service/output/output_file.h"
#include "service/report_confine.h"
#include "symbol/symbolizer.h"
#include "target/identity.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* One of the recordings. */
struct run {
	struct model *model;
	struct symbolizer *symbolizer;
	struct symbols *symbols;
	bool damaged;
};

static void run_done(struct run *run)
{
	symbols_free(run->symbols);
	symbolizer_free(run->symbolizer);
	model_free(run->model);
}
#define _cleanup_run_ _cleanup_(run_done)

static int apply_record(const struct record *record, void *userdata)
{
	struct run *run = userdata;
	int r = model_apply(record, run->model);

	return r ? r : symbols_apply(record, run->symbols);
}

static bool has_totals(const struct model *model)
{
	for (size_t i = 0; i < model_n_processes(model); i++)
		if (model_process(model, i)->has_totals)
			return true;
	return model_ended(model)->list.len > 0;
}

static bool has_allocations(const struct model *model)
{
	const struct record_run *record = model_run(model);

	return !record || !record->no_allocations;
}

/* What holds no numbers would look as if all memory had come or gone. */
static int check_run(const struct run *run, const char *path)
{
	if (!has_allocations(run->model) || has_totals(run->model))
		return 0;
	log_error("%s: no process was counted; 'memtraced report %s' shows what the run has seen",
		  path, path);
	return -ENODATA;
}

static int run_read(struct run *run, FILE *file, const char *path)
{
	int r = model_new(&run->model);

	if (r == 0)
		r = symbolizer_new(NULL, &run->symbolizer);
	if (r == 0)
		r = symbols_new(run->model, run->symbolizer, false, &run->symbols);
	if (r == 0)
		r = recorded_run_read(file, path, apply_record, run, &run->damaged);
	if (r == 0)
		r = check_run(run, path);
	return r;
}

static int check_output(const struct option_output *output)
{
	const struct report_format *format = report_format_find_diff(output->format);
	_cleanup_strbuf_ struct strbuf error = { 0 };

	if (!format) {
		report_format_unknown_diff(output->format, &error);
		log_error("%s", strbuf_str(&error));
		return -EINVAL;
	}
	if (format->binary && !output->path && isatty(STDOUT_FILENO)) {
		log_error("not writing binary %s output to a terminal; use -o %s:PATH",
			  format->name, format->name);
		return -EINVAL;
	}
	return 0;
}

static int write_stdout(const struct report_format *format, const struct diff *diff)
{
	_cleanup_(stdout_stream_free_p) struct stdout_stream *out = NULL;
	int r = stdout_stream_new(NULL, &out), r_flush;

	if (r)
		return r;
	r = format->write_diff(diff, stdout_stream_file(out));
	r_flush = stdout_stream_flush(out);
	r = r_flush < 0 ? r_flush : r;
	if (r && r != -EPIPE)
		log_error("cannot write to stdout: %s", strerror(-r));
	return r;
}

static int write_file(const struct report_format *format, const struct diff *diff, const char *path)
{
	_cleanup_(output_file_free_p) struct output_file *file = NULL;
	uid_t uid;
	gid_t gid;
	int r;

	invoking_user(&uid, &gid);
	r = output_file_new(path, uid == geteuid() ? (uid_t)-1 : uid, gid, format, &file);
	if (r == 0)
		r = format->write_diff(diff, output_file_stream(file));
	if (file)
		r = output_file_end(file, r);
	if (r)
		log_error("cannot write %s: %s", path, strerror(-r));
	return r == -EPIPE ? -EIO : r;
}

static int write_diff(const struct report_format *format, const struct diff *diff, const char *path)
{
	return path ? write_file(format, diff, path) : write_stdout(format, diff);
}

static int write_job(const struct report_format *format, const struct diff *diff,
		     const char *template, const struct model *after, size_t job)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_strbuf_ struct strbuf name = { 0 };

	jobs_name(after, job, &name);
	if (strbuf_error(&name) == 0)
		path = path_expand(template, getpid(), strbuf_str(&name));
	return path ? write_file(format, diff, path) : -ENOMEM;
}

/* A file for each job that both runs have, where the path has its place for the name. */
static int write_jobs(const struct report_format *format, struct diff *diff, const char *template,
		      const struct run *const runs[DIFF_SIDES])
{
	const struct model *after = runs[DIFF_AFTER]->model;
	int failed = 0, r;

	for (size_t job = 0; job < diff_n_jobs(diff); job++) {
		const struct diff_event *event;

		diff_choose_job(diff, job);
		event = diff_event_shown(diff);
		r = write_job(format, diff, template, after,
			      event ? jobs_of_event(after, event->sides[DIFF_AFTER]->asked->id) :
				      0);
		failed = r ? r : failed;
	}
	if (jobs_have_mappings(runs[DIFF_BEFORE]->model) && jobs_have_mappings(after)) {
		diff_choose_mappings(diff);
		r = write_job(format, diff, template, after, jobs_count(after));
		failed = r ? r : failed;
	}
	return failed;
}

/* Does the format hold what the two runs have in common? */
static int check_jobs(const struct report_format *format, const struct diff *diff, const char *path)
{
	size_t n_jobs = diff_n_jobs(diff);
	bool has_job = path && path_has_job(path);

	if (diff_is_empty(diff)) {
		log_error("%s and %s have nothing in common that 'diff' compares: allocations, the "
			  "same -e, --hist, --off-cpu or --page-faults, or --cpu at the same rate",
			  diff->runs[DIFF_BEFORE].path, diff->runs[DIFF_AFTER].path);
		return -ENODATA;
	}
	if (format->diff_of_allocations && !diff_has_allocations(diff)) {
		log_error("'diff -f %s' needs allocations in both runs; use table, json, folded or "
			  "flamegraph",
			  format->name);
		return -EINVAL;
	}
	if (has_job && !report_format_diff_one_job(format)) {
		log_error("%s is not about one event: leave %%e out of %s", format->name, path);
		return -EINVAL;
	}
	if (!report_format_diff_one_job(format) || n_jobs == 1 || (has_job && n_jobs > 0))
		return 0;
	if (n_jobs == 0)
		log_error("'diff -f %s' needs stacks in both runs; use table or json",
			  format->name);
	else
		log_error("%s holds the stacks of one event, and both runs have %zu jobs: give "
			  "-o %s:PATH with %%e in PATH, which stands for the event's name",
			  format->name, n_jobs, format->name);
	return -EINVAL;
}

static int write_output(const struct options *options, const struct option_output *output,
			const struct run *const runs[DIFF_SIDES])
{
	const struct report_format *format = report_format_find_diff(output->format);
	const struct report_opts opts = output_style(options, output);
	_cleanup_(view_free_p) struct view *before = NULL, *after = NULL;
	_cleanup_(diff_free_p) struct diff *diff = NULL;
	struct diff_run compared[DIFF_SIDES];
	struct report_opts everything = opts;
	int r;

	everything.where = NULL;
	r = view_new(runs[DIFF_BEFORE]->model, runs[DIFF_BEFORE]->symbols, &everything, &before);
	if (r == 0)
		r = view_new(runs[DIFF_AFTER]->model, runs[DIFF_AFTER]->symbols, &everything,
			     &after);
	if (r == 0)
		r = view_share_names(before, after);
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		compared[side] = (struct diff_run){ options->diff_files[side],
						    side == DIFF_BEFORE ? before : after,
						    runs[side]->damaged };
	if (r == 0)
		r = diff_new(compared, &opts, &diff);
	if (r) {
		log_error("out of memory for the report");
		return r;
	}
	r = check_jobs(format, diff, output->path);
	if (r)
		return r;
	if (report_format_diff_one_job(format) && output->path && path_has_job(output->path))
		return write_jobs(format, diff, output->path, runs);
	return write_diff(format, diff, output->path);
}

/* The others are still worth writing when one failed, unless there is nothing to write. */
static int write_outputs(const struct options *options, const struct option_output *outputs,
			 size_t n_outputs, const struct run *const runs[DIFF_SIDES])
{
	int failed = 0;

	for (size_t i = 0; i < n_outputs && failed != -ENODATA; i++) {
		int r = write_output(options, &outputs[i], runs);

		if (r && (r != -EPIPE || !failed))
			failed = r;
	}
	return failed;
}

int diff_recordings(const struct options *options)
{
	static const struct option_output table = { .format = "table" };
	const struct option_output *outputs = options->n_outputs ? options->outputs : &table;
	size_t n_outputs = options->n_outputs ? options->n_outputs : 1;
	_cleanup_run_ struct run before = { 0 }, after = { 0 };
	const struct run *const runs[] = { &before, &after };
	_cleanup_fclose_ FILE *first = NULL, *second = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_outputs; i++)
		r = check_output(&outputs[i]);
	if (r)
		return r;
	r = recorded_run_open(options->diff_files[DIFF_BEFORE], &first);
	if (r == 0)
		r = recorded_run_open(options->diff_files[DIFF_AFTER], &second);
	if (r == 0)
		r = report_confine(options, (FILE *const[]){ first, second }, 2);
	if (r == 0)
		r = run_read(&before, first, options->diff_files[DIFF_BEFORE]);
	if (r == 0)
		r = run_read(&after, second, options->diff_files[DIFF_AFTER]);
	if (r == -ENOMEM)
		log_error("out of memory for the recordings");
	for (unsigned int side = 0; r == 0 && side < DIFF_SIDES; side++)
		hints_log_sort(options, runs[side]->model, options->diff_files[side]);
	return r ? r : write_outputs(options, outputs, n_outputs, runs);
}
