/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/output_checks.h"

#include "base/log.h"
#include "base/outfile.h"
#include "report/report.h"
#include "service/output/jobs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct option_output table_on_stdout = { .format = "table" };

/* Who asks for a leak check, as of memcheck, has its text; the table if that is asked for, too. */
size_t outputs_count(const struct options *options)
{
	return options->n_outputs || options_check_leaks(options) ? options->n_outputs : 1;
}

const struct option_output *outputs_at(const struct options *options, size_t i)
{
	return options->n_outputs ? &options->outputs[i] : &table_on_stdout;
}

/* A recording is no report: it takes in records rather than a view. */
bool output_is_recording(const struct option_output *output)
{
	return strcmp(output->format, "record") == 0;
}

static int check_format(const struct option_output *output)
{
	_cleanup_strbuf_ struct strbuf error = {};
	const char *format = output->format;
	const struct report_format *found = report_format_find(format);

	if (found && found->binary && !output->path && isatty(STDOUT_FILENO)) {
		log_error("not writing binary %s output to a terminal; use -o %s:PATH", format,
			  format);
		return -EINVAL;
	}
	if (found)
		return 0;
	if (output_is_recording(output)) {
		if (output->path)
			return 0;
		log_error("a recording needs a file: -o record:PATH");
		return -EINVAL;
	}
	report_format_unknown(format, &error);
	log_error("%s", strbuf_str(&error));
	return -EINVAL;
}

/* Two reports in one stream could not be told apart. */
static int check_stdout(const struct options *options)
{
	size_t n = 0;

	for (size_t i = 0; i < outputs_count(options); i++)
		n += !outputs_at(options, i)->path;
	if (n <= 1)
		return 0;
	log_error("more than one format for stdout: give the others a file with -o FORMAT:PATH");
	return -EINVAL;
}

bool output_of_one_job(const struct option_output *output)
{
	const struct report_format *format = report_format_find(output->format);

	return format && format->one_job;
}

bool output_of_one_quantity(const struct option_output *output)
{
	const struct report_format *format = report_format_find(output->format);

	return format && format->one_quantity;
}

/* What has stacks of several jobs goes to a file for each. */
static int check_job(const struct option_output *output, size_t n_jobs)
{
	bool has_job = output->path && path_has_job(output->path);

	if (!output_of_one_job(output)) {
		if (!has_job)
			return 0;
		log_error("%s is not about one event: leave %%e out of %s", output->format,
			  output->path);
		return -EINVAL;
	}
	if (n_jobs == 0) {
		log_error("%s shows stacks, and nothing here has any: give -e EVENT, or --alloc "
			  "for those of allocations",
			  output->format);
		return -EINVAL;
	}
	if (n_jobs == 1 || has_job)
		return 0;
	log_error("%s holds the stacks of one event, and there are %zu jobs: give -o %s:PATH with "
		  "%%e in PATH, which stands for the event's name",
		  output->format, n_jobs, output->format);
	return -EINVAL;
}

bool output_of_one_process(const struct option_output *output)
{
	const struct report_format *format = report_format_find(output->format);

	return format && format->write_process;
}

int output_check_allocations(const struct option_output *output, bool has_allocations)
{
	if (has_allocations || !output_of_one_process(output))
		return 0;
	log_error("%s shows allocations, and there are none: trace them with --alloc",
		  output->format);
	return -EINVAL;
}

int outputs_check_jobs(const struct options *options, size_t n_jobs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < outputs_count(options); i++)
		r = check_job(outputs_at(options, i), n_jobs);
	return r;
}

/*
 * Opens and drops the file: its contents are untouched. Neither the pid nor an event's full name is
 * known yet: others will do.
 */
static int check_path(const char *template, uid_t uid, gid_t gid)
{
	_cleanup_free_ char *path = path_expand(template, getpid(), "event");
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = path ? outfile_new(path, uid, gid, &file) : -ENOMEM;

	if (r)
		log_error("cannot write %s: %s", template, outfile_strerror(r));
	return r;
}

int outputs_check(const struct options *options, uid_t uid, gid_t gid)
{
	int r = check_stdout(options);

	for (size_t i = 0; i < outputs_count(options) && r == 0; i++) {
		const struct option_output *output = outputs_at(options, i);

		r = check_format(output);
		if (r == 0 && options->action == ACTION_TRACE)
			r = output_check_allocations(output, options_trace_allocations(options));
		if (r == 0 && output->path)
			r = check_path(output->path, uid, gid);
	}
	/* The jobs of a recording are known when it was read. */
	if (r == 0 && options->action == ACTION_TRACE)
		r = outputs_check_jobs(options, jobs_asked(options));
	return r;
}
