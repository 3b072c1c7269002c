/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/output_file.h"

#include "base/outfile.h"
#include "report/packed_out.h"
#include "service/output/stdout_queue.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BUFFER_BYTES (64u << 10)

/* What may wait for its reader. */
#define MOST_WAITING (16u << 20)

struct stdout_stream {
	FILE *file;
	struct stdout_queue *queue;
	int error;
};

static int write_by_queue(struct stdout_queue *queue, const char *data, size_t len)
{
	int r = stdout_queue_add(queue, data, len);

	return r == 0 && stdout_queue_waiting(queue) > MOST_WAITING ? stdout_queue_flush(queue) : r;
}

/* All of it, also to a pipe that takes it in pieces. 0 bytes: an error, as fopencookie(3) says. */
static ssize_t write_all(void *cookie, const char *data, size_t len)
{
	struct stdout_stream *stream = cookie;
	size_t done = 0;

	if (stream->queue && stream->error == 0) {
		stream->error = write_by_queue(stream->queue, data, len);
		done = len;
	}
	while (done < len && stream->error == 0) {
		ssize_t n = write(STDOUT_FILENO, data + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			stream->error = -errno;
	}
	return stream->error == 0 ? (ssize_t)len : 0;
}

int stdout_stream_new(struct stdout_queue *queue, struct stdout_stream **ret_stream)
{
	static const cookie_io_functions_t functions = { .write = write_all };
	_cleanup_(stdout_stream_free_p) struct stdout_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	stream->queue = queue;
	stream->file = fopencookie(stream, "w", functions);
	if (!stream->file || setvbuf(stream->file, NULL, _IOFBF, BUFFER_BYTES) != 0)
		return -ENOMEM;
	*ret_stream = TAKE_PTR(stream);
	return 0;
}

void stdout_stream_free(struct stdout_stream *stream)
{
	if (!stream)
		return;
	if (stream->file) {
		__fpurge(stream->file);
		(void)fclose(stream->file); /* nothing is left to write */
	}
	free(stream);
}

FILE *stdout_stream_file(struct stdout_stream *stream)
{
	return stream->file;
}

int stdout_stream_flush(struct stdout_stream *stream)
{
	int r = fflush(stream->file) == EOF ? -EIO : 0;

	return stream->error < 0 ? stream->error : r;
}

struct output_file {
	struct outfile *file;
	FILE *packed; /* NULL: as it is */
};

int output_file_new(const char *path, uid_t uid, gid_t gid, const struct report_format *format,
		    struct output_file **ret_file)
{
	_cleanup_(output_file_free_p) struct output_file *file = calloc(1, sizeof(*file));
	int r = file ? outfile_new(path, uid, gid, &file->file) : -ENOMEM;

	if (r == 0 && !format->packed)
		r = packed_out_open(path, outfile_stream(file->file), &file->packed);
	if (r < 0)
		return r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

FILE *output_file_stream(struct output_file *file)
{
	return file->packed ? file->packed : outfile_stream(file->file);
}

static int end_packing(struct output_file *file)
{
	FILE *packed = TAKE_PTR(file->packed);

	return packed && fclose(packed) != 0 ? -EIO : 0;
}

int output_file_end(struct output_file *file, int r)
{
	if (r == 0)
		r = end_packing(file);
	return r == 0 ? outfile_commit(file->file) : outfile_error(file->file, r);
}

void output_file_free(struct output_file *file)
{
	if (!file)
		return;
	(void)end_packing(file); /* what is thrown away may be incomplete */
	outfile_free(file->file);
	free(file);
}

static bool colored(const struct options *options, const struct option_output *output)
{
	if (options->color == COLOR_AUTO)
		return !output->path && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	return options->color == COLOR_ALWAYS;
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

struct report_opts output_filters(const struct options *options)
{
	return (struct report_opts){
		.older_than_ns = options->older_than_ns,
		.where = options->where,
		.full_names = options->full_names,
		.wrappers = options->wrappers,
	};
}

struct report_opts output_style(const struct options *options, const struct option_output *output)
{
	struct report_opts opts = output_filters(options);

	opts.sort = options->sort;
	opts.top = options->top;
	opts.group_by = options->group_by;
	opts.widths = options->widths;
	opts.color = colored(options, output);
	opts.width = output->path ? 80 : terminal_width();
	opts.massif = options->massif;
	return opts;
}
