/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/mini_debug.h"

#include "symbol/elf_image.h"

#include <errno.h>
#include <lzma.h>

#define MAX_PACKED_BYTES (16 << 20)
#define MAX_UNPACKED_BYTES (64 << 20)
/* Symbols shrink to a third or a tenth: what shrinks to less was made to take long. */
#define MAX_RATIO 64
#define FIRST_BYTES (64 << 10)
/* xz -9 needs 65 MiB to unpack. */
#define MAX_DECODER_BYTES (128 << 20)

static int unpack_to(lzma_stream *stream, size_t packed_bytes, char **buf, size_t *cap)
{
	lzma_ret code = LZMA_OK;
	char *grown;

	while (code == LZMA_OK) {
		if (stream->total_out == *cap) {
			if (*cap >= MAX_UNPACKED_BYTES || *cap / MAX_RATIO > packed_bytes)
				return -EBADMSG;
			grown = realloc(*buf, *cap * 2);
			if (!grown)
				return -ENOMEM;
			*buf = grown;
			*cap *= 2;
		}
		stream->next_out = (uint8_t *)*buf + stream->total_out;
		stream->avail_out = *cap - stream->total_out;
		code = lzma_code(stream, LZMA_FINISH);
	}
	if (code == LZMA_MEM_ERROR)
		return -ENOMEM;
	return code == LZMA_STREAM_END ? 0 : -EBADMSG;
}

static int unpack(const Elf_Data *data, char **ret_buf, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	_cleanup_free_ char *buf = NULL;
	size_t cap = FIRST_BYTES;
	int r;

	buf = malloc(cap);
	if (!buf || lzma_stream_decoder(&stream, MAX_DECODER_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	r = unpack_to(&stream, data->d_size, &buf, &cap);
	if (r == 0) {
		*ret_len = stream.total_out;
		*ret_buf = TAKE_PTR(buf);
	}
	lzma_end(&stream);
	return r;
}

int mini_debug_open(const struct elf_image *image, struct elf_image **ret_mini)
{
	Elf_Scn *scn = elf_image_section(image, ".gnu_debugdata", SHT_NULL);
	Elf_Data *data;
	char *buf;
	size_t len;
	int r;

	if (!scn)
		return -ENOENT;
	data = elf_image_data(scn, MAX_PACKED_BYTES);
	if (!data)
		return -EBADMSG;
	r = unpack(data, &buf, &len);
	if (r < 0)
		return r;
	r = elf_image_from_memory(buf, len, ret_mini);
	return r == -ENOMEM ? r : r < 0 ? -EBADMSG : 0;
}
