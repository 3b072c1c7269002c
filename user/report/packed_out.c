/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/packed_out.h"

#include "report/gzip_out.h"
#include "report/text/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
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
