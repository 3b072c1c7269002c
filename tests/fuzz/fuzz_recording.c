/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of anybody's making, through the model and every writer. A checksum keeps a fuzzer out
 * of most of that, so the input is tried twice: as a file, and as the types and payloads of records
 * (type u8, length u16, payload) that are then framed as they should be.
 */
#include "model/model.h"
#include "report/report.h"
#include "trace/record/recording.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct model *model;
	struct symbols *symbols;
};

static int take(const struct record *record, void *userdata)
{
	struct run *run = userdata;

	/* A record where it may not stand is refused; the rest is still worth trying. */
	(void)model_apply(record, run->model);
	return symbols_apply(record, run->symbols);
}

static void report(const struct run *run)
{
	const struct report_opts opts = { .top = 2, .older_than_ns = 1, .most_calls = 10000 };
	_cleanup_(view_free_p) struct view *view = NULL;
	_cleanup_fclose_ FILE *null = fopen("/dev/null", "w");
	size_t n;
	const struct report_format *formats = report_formats(&n);

	if (!null || view_new(run->model, run->symbols, &opts, &view) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		(void)formats[i].write(view, null);
}

static void play(const void *data, size_t size)
{
	_cleanup_(model_free_p) struct model *model = NULL;
	_cleanup_(symbolizer_free_p) struct symbolizer *symbolizer = NULL;
	_cleanup_(symbols_free_p) struct symbols *symbols = NULL;
	_cleanup_fclose_ FILE *file = fmemopen((void *)data, size, "r");
	_cleanup_(source_free_p) struct source *source = NULL;
	struct run run;

	if (!file || recording_open(file, &source) < 0)
		return;
	if (model_new(&model) < 0 || symbolizer_new(NULL, &symbolizer) < 0 ||
	    symbols_new(model, symbolizer, false, &symbols) < 0)
		return;
	run = (struct run){ model, symbols };
	if (source_drain(source, take, &run) == 1)
		report(&run);
}

/* Appends the records that the input describes; how many bytes there are now. */
static size_t frame(uint8_t *out, size_t at, const uint8_t *data, size_t size)
{
	while (size >= 3) {
		size_t length = data[1] | (size_t)data[2] << 8;
		uint32_t head[3] = { data[0] };

		if (length > size - 3)
			length = size - 3;
		head[1] = (uint32_t)length;
		head[2] = (uint32_t)crc32(0, (const Bytef *)head, 8);
		if (length > 0)
			head[2] = (uint32_t)crc32(head[2], data + 3, (uInt)length);
		memcpy(out + at, head, sizeof(head));
		memcpy(out + at + sizeof(head), data + 3, length);
		at += sizeof(head) + length;
		data += 3 + length;
		size -= 3 + length;
	}
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *framed = NULL;
	_cleanup_free_ char *header = NULL;
	struct recording_writer *writer;
	size_t header_len = 0;
	FILE *file;

	if (size == 0 || size > 65536)
		return 0;
	play(data, size);

	file = open_memstream(&header, &header_len);
	if (!file)
		return 0;
	if (recording_writer_new(file, &writer) == 0)
		recording_writer_free(writer);
	fclose(file);
	framed = malloc(header_len + 5 * size);
	if (!header || !framed)
		return 0;
	memcpy(framed, header, header_len);
	play(framed, frame(framed, header_len, data, size));
	return 0;
}
