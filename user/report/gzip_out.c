/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/gzip_out.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

/* zlib(3): 15 bits of window, and 16 for a gzip header */
#define GZIP_WINDOW (15 + 16)
#define MEM_LEVEL 8

struct gzip_out {
	FILE *file;
	z_stream stream;
	unsigned char buffer[64 << 10];
};

int gzip_out_new(FILE *file, struct gzip_out **ret_out)
{
	struct gzip_out *out = calloc(1, sizeof(*out));

	if (!out)
		return -ENOMEM;
	out->file = file;
	/* The only other error is a version of zlib that we were not built with. */
	if (deflateInit2(&out->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(out);
		return -ENOMEM;
	}
	*ret_out = out;
	return 0;
}

void gzip_out_free(struct gzip_out *out)
{
	if (!out)
		return;
	/* Z_DATA_ERROR: the stream was not ended, which only errors leave behind */
	(void)deflateEnd(&out->stream);
	free(out);
}

/* Compresses what stands in the stream's input, all of it. */
static void run(struct gzip_out *out, int flush)
{
	do {
		out->stream.next_out = out->buffer;
		out->stream.avail_out = sizeof(out->buffer);
		/* Z_BUF_ERROR only says that there was nothing left to do */
		(void)deflate(&out->stream, flush);
		fwrite(out->buffer, 1, sizeof(out->buffer) - out->stream.avail_out, out->file);
	} while (out->stream.avail_out == 0);
}

void gzip_out_add(struct gzip_out *out, const void *data, size_t len)
{
	const unsigned char *at = data;

	while (len > 0) {
		size_t part = len < UINT_MAX ? len : UINT_MAX;

		out->stream.next_in = (unsigned char *)at;
		out->stream.avail_in = (uInt)part;
		run(out, Z_NO_FLUSH);
		at += part;
		len -= part;
	}
}

void gzip_out_end(struct gzip_out *out)
{
	run(out, Z_FINISH);
}
