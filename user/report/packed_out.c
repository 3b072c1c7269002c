/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/packed_out.h"

#include "report/text/text.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <zlib.h>
#include <zstd.h>

struct packed {
	FILE *file;
	struct gzip_out *gzip;
	ZSTD_CCtx *zstd; /* NULL: gzip */
	char buffer[64 << 10];
};

static void packed_free(struct packed *packed)
{
	if (!packed)
		return;
	gzip_out_free(packed->gzip);
	/* 0: it was there */
	(void)ZSTD_freeCCtx(packed->zstd);
	free(packed);
}
DEFINE_CLEANUP(struct packed, packed_free)

/* All of the input; at the end also what the compressor holds back. 0 or -EIO. */
static int run_zstd(struct packed *packed, const char *data, size_t len, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { packed->buffer, sizeof(packed->buffer), 0 };

		left = ZSTD_compressStream2(packed->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return -EIO;
		fwrite(packed->buffer, 1, out.pos, packed->file);
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static ssize_t packed_write(void *cookie, const char *data, size_t len)
{
	struct packed *packed = cookie;

	if (packed->gzip)
		gzip_out_add(packed->gzip, data, len);
	else if (run_zstd(packed, data, len, ZSTD_e_continue) < 0)
		return 0;
	return ferror(packed->file) ? 0 : (ssize_t)len;
}

static int packed_close(void *cookie)
{
	_cleanup_(packed_free_p) struct packed *packed = cookie;

	if (packed->gzip)
		gzip_out_end(packed->gzip);
	else if (run_zstd(packed, NULL, 0, ZSTD_e_end) < 0)
		return EOF;
	return 0;
}

int packed_out_open(const char *path, FILE *file, FILE **ret_stream)
{
	static const cookie_io_functions_t functions = {
		.write = packed_write,
		.close = packed_close,
	};
	_cleanup_(packed_free_p) struct packed *packed = NULL;
	bool is_gzip = text_ends_in(path, ".gz");
	FILE *stream;
	int r = 0;

	*ret_stream = NULL;
	if (!is_gzip && !text_ends_in(path, ".zst"))
		return 0;
	packed = calloc(1, sizeof(*packed));
	if (!packed)
		return -ENOMEM;
	packed->file = file;
	if (is_gzip)
		r = gzip_out_new(file, &packed->gzip);
	else
		packed->zstd = ZSTD_createCCtx();
	if (r < 0 || (!is_gzip && !packed->zstd))
		return -ENOMEM;
	stream = fopencookie(packed, "w", functions);
	if (!stream)
		return -ENOMEM;
	/* from here on it belongs to the stream */
	(void)TAKE_PTR(packed);
	*ret_stream = stream;
	return 0;
}

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
static void run_deflate(struct gzip_out *out, int flush)
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
		run_deflate(out, Z_NO_FLUSH);
		at += part;
		len -= part;
	}
}

void gzip_out_end(struct gzip_out *out)
{
	run_deflate(out, Z_FINISH);
}
