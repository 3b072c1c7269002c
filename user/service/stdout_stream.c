/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/stdout_stream.h"

#include <errno.h>
#include <stdio_ext.h>
#include <unistd.h>

#define BUFFER_BYTES (64u << 10)

struct stdout_stream {
	FILE *file;
	int error;
};

/* All of it, also to a pipe that takes it in pieces. 0 bytes: an error, as fopencookie(3) says. */
static ssize_t write_all(void *cookie, const char *data, size_t len)
{
	struct stdout_stream *stream = cookie;
	size_t done = 0;

	while (done < len && stream->error == 0) {
		ssize_t n = write(STDOUT_FILENO, data + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			stream->error = -errno;
	}
	return stream->error == 0 ? (ssize_t)len : 0;
}

int stdout_stream_new(struct stdout_stream **ret_stream)
{
	static const cookie_io_functions_t functions = { .write = write_all };
	_cleanup_(stdout_stream_free_p) struct stdout_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
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
