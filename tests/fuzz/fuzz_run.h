/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fuzz programs of recordings share: a model that a recording is read into, and recordings of
 * records that the input describes, since a checksum keeps a fuzzer out of most of them.
 */
#ifndef MEMTRACED_TESTS_FUZZ_FUZZ_RUN_H
#define MEMTRACED_TESTS_FUZZ_FUZZ_RUN_H

#include "model/model.h"
#include "report/view/symbols.h"
#include "trace/record/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct fuzz_run {
	struct model *model;
	struct symbolizer *symbolizer;
	struct symbols *symbols;
};

static inline void fuzz_run_done(struct fuzz_run *run)
{
	symbols_free(run->symbols);
	symbolizer_free(run->symbolizer);
	model_free(run->model);
}

static inline int fuzz_run_take(const struct record *record, void *userdata)
{
	struct fuzz_run *run = userdata;

	/* A record where it may not stand is refused; the rest is still worth trying. */
	(void)model_apply(record, run->model);
	return symbols_apply(record, run->symbols);
}

/* Is it a recording that was read to its end? `run` is to be done in any case. */
static inline bool fuzz_run_read(struct fuzz_run *run, const void *data, size_t size)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)data, size, "r");
	_cleanup_(source_free_p) struct source *source = NULL;

	*run = (struct fuzz_run){ 0 };
	if (!file || recording_open(file, &source) < 0)
		return false;
	if (model_new(&run->model) < 0 || symbolizer_new(NULL, &run->symbolizer) < 0 ||
	    symbols_new(run->model, run->symbolizer, false, &run->symbols) < 0)
		return false;
	return source_drain(source, fuzz_run_take, run) == 1;
}

/* Where reports go; opened once, as that takes longer than many reports do. */
static inline FILE *fuzz_null(void)
{
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	if (!null)
		abort();
	return null;
}

static inline void fuzz_frame_one(FILE *file, uint8_t type, const uint8_t *payload, size_t length)
{
	uint32_t head[3] = { type, (uint32_t)length };

	head[2] = (uint32_t)crc32(0, (const Bytef *)head, 8);
	if (length > 0)
		head[2] = (uint32_t)crc32(head[2], payload, (uInt)length);
	fwrite(head, sizeof(head), 1, file);
	fwrite(payload, 1, length, file);
}

/*
 * The recording of the records that the input describes, each as type u8, length u16 and payload;
 * malloc'ed, or NULL.
 */
static inline char *fuzz_frame(const uint8_t *data, size_t size, size_t *ret_len)
{
	struct recording_writer *writer;
	char *framed = NULL;
	FILE *file = open_memstream(&framed, ret_len);

	if (!file)
		return NULL;
	if (recording_writer_new(file, &writer) == 0)
		recording_writer_free(writer);
	while (size >= 3) {
		size_t length = data[1] | (size_t)data[2] << 8;

		if (length > size - 3)
			length = size - 3;
		fuzz_frame_one(file, data[0], data + 3, length);
		data += 3 + length;
		size -= 3 + length;
	}
	fclose(file);
	return framed;
}

#endif
