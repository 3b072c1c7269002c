/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of anybody's making: a file through every writer, or records (fuzz_run.h) through the
 * one that the last byte says. All would take ten times as long, and the fuzzer finds them all.
 */
#include "report/report.h"
#include "tests/fuzz/fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_BEGINS 0x89 /* no type of a record */
#define ALL_FORMATS (-1)

static void report(const struct fuzz_run *run, int format)
{
	const struct report_opts opts = { .top = 2, .older_than_ns = 1, .most_calls = 10000 };
	_cleanup_(view_free_p) struct view *view = NULL;
	size_t n;
	const struct report_format *formats = report_formats(&n);

	if (view_new(run->model, run->symbols, &opts, &view) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (format == ALL_FORMATS || i == (size_t)format % n)
			(void)report_format_write(&formats[i], view, NULL,
						  fuzz_null()); /* may refuse */
}

static void play(const void *data, size_t size, int format)
{
	struct fuzz_run run;

	if (fuzz_run_read(&run, data, size))
		report(&run, format);
	fuzz_run_done(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *framed = NULL;
	size_t len;

	if (size == 0 || size > 65536)
		return 0;
	if (data[0] == FILE_BEGINS) {
		play(data, size, ALL_FORMATS);
		return 0;
	}
	framed = fuzz_frame(data, size, &len);
	if (framed)
		play(framed, len, data[size - 1]);
	return 0;
}
