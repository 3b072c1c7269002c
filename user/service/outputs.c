/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/outputs.h"

#include "base/log.h"
#include "base/outfile.h"
#include "report/report.h"
#include "report/symbols.h"
#include "report/view.h"
#include "service/recorder.h"
#include "symbol/symbolizer.h"
#include "target/identity.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct outputs {
	const struct options *options;
	const struct model *model;
	struct symbolizer *symbolizer;
	struct symbols *symbols;
	uid_t uid;
	gid_t gid;
	pid_t pid;			       /* what %p in a path stands for */
	bool stdout_closed;		       /* its reader has gone */
	struct recorder *recorder;	       /* NULL: not recording */
	const struct option_output *recording; /* its output */
};

static const struct option_output table_on_stdout = { .format = "table" };

static size_t n_outputs(const struct options *options)
{
	return options->n_outputs ? options->n_outputs : 1;
}

static const struct option_output *output_at(const struct options *options, size_t i)
{
	return options->n_outputs ? &options->outputs[i] : &table_on_stdout;
}

/* A recording is no report: it takes in records rather than a view. */
static bool is_recording(const struct option_output *output)
{
	return strcmp(output->format, "record") == 0;
}

static int check_format(const struct option_output *output)
{
	_cleanup_strbuf_ struct strbuf error = {};
	const char *format = output->format;

	if (report_format_find(format))
		return 0;
	if (is_recording(output)) {
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

	for (size_t i = 0; i < n_outputs(options); i++)
		n += !output_at(options, i)->path;
	if (n <= 1)
		return 0;
	log_error("more than one format for stdout: give the others a file with -o FORMAT:PATH");
	return -EINVAL;
}

/* The path with %p replaced by the pid, %% by a percent sign; malloc'ed, NULL without memory. */
static char *expand_path(const char *path, pid_t pid)
{
	_cleanup_strbuf_ struct strbuf text = {};

	for (; *path; path++) {
		if (path[0] == '%' && path[1] == 'p') {
			strbuf_addf(&text, "%d", (int)pid);
			path++;
		} else if (path[0] == '%' && path[1] == '%') {
			strbuf_addch(&text, '%');
			path++;
		} else {
			strbuf_addch(&text, *path);
		}
	}
	return strbuf_error(&text) ? NULL : strdup(strbuf_str(&text));
}

/* Opens and drops the file: its contents are untouched. The pid is not known yet: ours will do. */
static int check_path(const struct outputs *outputs, const char *template)
{
	_cleanup_free_ char *path = expand_path(template, getpid());
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = path ? outfile_new(path, outputs->uid, outputs->gid, &file) : -ENOMEM;

	if (r == -ELOOP)
		log_error("cannot write %s: it is a symbolic link; name the file itself", template);
	else if (r)
		log_error("cannot write %s: %s", template, strerror(-r));
	return r;
}

static int check_outputs(const struct outputs *outputs)
{
	int r = check_stdout(outputs->options);

	for (size_t i = 0; i < n_outputs(outputs->options) && r == 0; i++) {
		const struct option_output *output = output_at(outputs->options, i);

		r = check_format(output);
		if (r == 0 && output->path)
			r = check_path(outputs, output->path);
	}
	return r;
}

int outputs_new(const struct options *options, const struct model *model, bool open_files,
		struct outputs **ret_outputs)
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
	r = check_outputs(outputs);
	if (r == 0)
		r = symbolizer_new(&outputs->symbolizer);
	if (r == 0)
		r = symbols_new(model, outputs->symbolizer, open_files, &outputs->symbols);
	if (r)
		return r;
	*ret_outputs = TAKE_PTR(outputs);
	return 0;
}

void outputs_free(struct outputs *outputs)
{
	if (!outputs)
		return;
	recorder_free(outputs->recorder);
	symbols_free(outputs->symbols);
	symbolizer_free(outputs->symbolizer);
	free(outputs);
}

static int begin_recording(struct outputs *outputs, const struct option_output *output)
{
	_cleanup_free_ char *path = expand_path(output->path, outputs->pid);
	int r = path ? recorder_new(path, outputs->uid, outputs->gid, &outputs->recorder) : -ENOMEM;

	if (r)
		log_error("cannot write %s: %s", output->path, strerror(-r));
	outputs->recording = output;
	return r;
}

int outputs_begin(struct outputs *outputs, pid_t pid)
{
	outputs->pid = pid;
	for (size_t i = 0; i < n_outputs(outputs->options); i++) {
		const struct option_output *output = output_at(outputs->options, i);

		if (!is_recording(output))
			continue;
		return begin_recording(outputs, output);
	}
	return 0;
}

int outputs_take(struct outputs *outputs, const struct record *record)
{
	int r = recorder_take(record, outputs->recorder);

	/* Files are opened while the target lives. */
	return r == 0 && record->type == RECORD_MAPPING ? symbols_update(outputs->symbols) : r;
}

struct symbols *outputs_symbols(struct outputs *outputs)
{
	return outputs->symbols;
}

bool outputs_own_stdout(const struct outputs *outputs)
{
	for (size_t i = 0; i < n_outputs(outputs->options); i++) {
		const struct option_output *output = output_at(outputs->options, i);

		if (!output->path && strcmp(output->format, "table") != 0)
			return true;
	}
	return false;
}

bool outputs_live_view(const struct outputs *outputs)
{
	return !outputs_own_stdout(outputs) && isatty(STDOUT_FILENO) && !outputs->options->quiet;
}

static bool colored(const struct outputs *outputs, const struct option_output *output)
{
	if (outputs->options->color == COLOR_AUTO)
		return !output->path && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	return outputs->options->color == COLOR_ALWAYS;
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 80)
		return 80;
	return size.ws_col;
}

/* All of it, also to a pipe that takes it in pieces. 0 or negative errno. */
static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= n;
	}
	return 0;
}

static int write_stdout(struct outputs *outputs, const struct view *view,
			const struct option_output *output, bool final)
{
	/* ECMA-48: cursor home, erase the display */
	static const char clear[] = "\033[H\033[2J";
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);
	int r;

	if (!file)
		return -errno;
	if (!final && outputs_live_view(outputs))
		fputs(clear, file);
	r = report_write(output->format, view, file);
	if (fclose(file) == EOF && r == 0)
		r = -errno;
	if (r == 0)
		r = write_all(STDOUT_FILENO, text, len);
	outputs->stdout_closed = r == -EPIPE;
	if (r && r != -EPIPE)
		log_error("writing to stdout: %s", strerror(-r));
	return r;
}

static int write_file(const struct outputs *outputs, const struct view *view,
		      const struct option_output *output)
{
	_cleanup_free_ char *path = expand_path(output->path, outputs->pid);
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = path ? outfile_new(path, outputs->uid, outputs->gid, &file) : -ENOMEM;

	if (r == 0)
		r = report_write(output->format, view, outfile_stream(file));
	if (r == 0)
		r = outfile_commit(file);
	if (r)
		log_error("cannot write %s: %s", output->path, strerror(-r));
	return r == -EPIPE ? -EIO : r;
}

static int write_output(struct outputs *outputs, const struct option_output *output, bool final)
{
	_cleanup_(view_free_p) struct view *view = NULL;
	const struct report_opts opts = {
		.sort = outputs->options->sort,
		.top = outputs->options->top,
		.older_than_ns = outputs->options->older_than_ns,
		.color = colored(outputs, output),
		.width = output->path ? 80 : terminal_width(),
	};
	int r;

	if (!output->path && outputs->stdout_closed)
		return -EPIPE;
	r = view_new(outputs->model, outputs->symbols, &opts, &view);
	if (r) {
		log_error("out of memory for the report");
		return r;
	}
	return output->path ? write_file(outputs, view, output) :
			      write_stdout(outputs, view, output, final);
}

/* A view of everything resolves all frames, so that the recording can carry their symbols. */
static int end_recording(struct outputs *outputs)
{
	_cleanup_(view_free_p) struct view *view = NULL;
	const struct report_opts everything = { 0 };
	int r = view_new(outputs->model, outputs->symbols, &everything, &view);

	if (r == 0)
		r = recorder_finish(outputs->recorder, outputs->symbols);
	if (r)
		log_error("cannot write %s: %s", outputs->recording->path, strerror(-r));
	return r;
}

int outputs_write(struct outputs *outputs, bool final)
{
	int r = symbols_update(outputs->symbols), failed = 0;

	for (size_t i = 0; i < n_outputs(outputs->options) && r == 0; i++) {
		const struct option_output *output = output_at(outputs->options, i);

		if (is_recording(output))
			continue;
		/* one event a line: a second state would be taken for more events */
		if (!final && !output->path && report_format_find(output->format)->at_end_only)
			continue;
		r = write_output(outputs, output, final);
		/* the others are still worth writing */
		if (r == -EPIPE || (r && output->path)) {
			failed = r != -EPIPE || !failed ? r : failed;
			r = 0;
		}
	}
	if (r == 0 && final && outputs->recorder)
		r = end_recording(outputs);
	return r ? r : failed;
}
