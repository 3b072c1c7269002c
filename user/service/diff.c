/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/diff.h"

#include "base/log.h"
#include "base/outfile.h"
#include "config/options.h"
#include "report/diff/diff_writers.h"
#include "report/view/symbols.h"
#include "service/output_style.h"
#include "service/recorded_run.h"
#include "service/stdout_stream.h"
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

static int take_record(const struct record *record, void *userdata)
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
	return model_n_ended(model) > 0;
}

/* What holds no numbers would look as if all memory had come or gone. */
static int check_run(const struct run *run, const char *path)
{
	const struct record_run *record = model_run(run->model);

	if (record && record->no_allocations)
		log_error("%s holds no allocations, which are what 'diff' compares: record them "
			  "with --alloc",
			  path);
	else if (!has_totals(run->model))
		log_error("%s holds no counts of any process: there is nothing to compare", path);
	else
		return 0;
	return -ENODATA;
}

static int run_read(struct run *run, const char *path)
{
	int r = model_new(&run->model);

	if (r == 0)
		r = symbolizer_new(NULL, &run->symbolizer);
	if (r == 0)
		r = symbols_new(run->model, run->symbolizer, false, &run->symbols);
	if (r == 0)
		r = recorded_run_read(path, take_record, run, &run->damaged);
	if (r == 0)
		r = check_run(run, path);
	return r;
}

static int check_output(const struct option_output *output)
{
	const struct diff_format *format = diff_format_find(output->format);
	_cleanup_strbuf_ struct strbuf error = { 0 };

	if (!format) {
		diff_format_unknown(output->format, &error);
		log_error("%s", strbuf_str(&error));
		return -EINVAL;
	}
	if (format->binary && !output->path && isatty(STDOUT_FILENO)) {
		log_error("%s is nothing for a terminal: give it a file with -o %s:PATH",
			  format->name, format->name);
		return -EINVAL;
	}
	return 0;
}

static int write_stdout(const struct diff_format *format, const struct diff *diff)
{
	_cleanup_(stdout_stream_free_p) struct stdout_stream *out = NULL;
	int r = stdout_stream_new(&out), r_flush;

	if (r)
		return r;
	r = format->write(diff, stdout_stream_file(out));
	r_flush = stdout_stream_flush(out);
	r = r_flush < 0 ? r_flush : r;
	if (r && r != -EPIPE)
		log_error("writing to stdout: %s", strerror(-r));
	return r;
}

static int write_file(const struct diff_format *format, const struct diff *diff, const char *path)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	uid_t uid;
	gid_t gid;
	int r;

	invoking_user(&uid, &gid);
	r = outfile_new(path, uid == geteuid() ? (uid_t)-1 : uid, gid, &file);
	if (r == 0)
		r = format->write(diff, outfile_stream(file));
	if (r == 0)
		r = outfile_commit(file);
	if (r)
		log_error("cannot write %s: %s", path, strerror(-r));
	return r == -EPIPE ? -EIO : r;
}

static int write_output(const struct options *options, const struct option_output *output,
			const struct run *const runs[DIFF_SIDES])
{
	const struct diff_format *format = diff_format_find(output->format);
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
	return output->path ? write_file(format, diff, output->path) : write_stdout(format, diff);
}

/* The others are still worth writing when one failed. */
static int write_outputs(const struct options *options, const struct option_output *outputs,
			 size_t n_outputs, const struct run *const runs[DIFF_SIDES])
{
	int failed = 0;

	for (size_t i = 0; i < n_outputs; i++) {
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
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_outputs; i++)
		r = check_output(&outputs[i]);
	if (r)
		return r;
	r = run_read(&before, options->diff_files[DIFF_BEFORE]);
	if (r == 0)
		r = run_read(&after, options->diff_files[DIFF_AFTER]);
	if (r == -ENOMEM)
		log_error("out of memory for the recordings");
	return r ? r : write_outputs(options, outputs, n_outputs, runs);
}
