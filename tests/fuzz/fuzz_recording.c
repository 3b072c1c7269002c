/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of anybody's making, as a file and as records (fuzz_run.h), through every writer. */
#include "report/report.h"
#include "tests/fuzz/fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(const struct fuzz_run *run)
{
	const struct report_opts opts = { .top = 2, .older_than_ns = 1, .most_calls = 10000 };
	_cleanup_(view_free_p) struct view *view = NULL;
	_cleanup_fclose_ FILE *null = fopen("/dev/null", "w");
	size_t n;
	const struct report_format *formats = report_formats(&n);

	if (!null || view_new(run->model, run->symbols, &opts, &view) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		(void)formats[i].write(view, null); /* may refuse */
}

static void play(const void *data, size_t size)
{
	struct fuzz_run run;

	if (fuzz_run_read(&run, data, size))
		report(&run);
	fuzz_run_done(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *framed = NULL;
	size_t len;

	if (size == 0 || size > 65536)
		return 0;
	play(data, size);
	framed = fuzz_frame(data, size, &len);
	if (framed)
		play(framed, len);
	return 0;
}
