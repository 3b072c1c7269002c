/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two recordings of anybody's making (fuzz_run.h), through the writer of diffs that the last byte
 * says. The first two bytes say where the second one begins.
 */
#include "report/diff/diff.h"
#include "report/report.h"
#include "tests/fuzz/fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_records(struct fuzz_run *run, const uint8_t *data, size_t size)
{
	size_t len;
	_cleanup_free_ char *framed = fuzz_frame(data, size, &len);

	*run = (struct fuzz_run){ 0 };
	return framed && fuzz_run_read(run, framed, len);
}

static const struct report_format *choose(size_t choice)
{
	size_t n, n_diff = 0;
	const struct report_format *formats = report_formats(&n);

	for (size_t i = 0; i < n; i++)
		n_diff += formats[i].write_diff != NULL;
	choice %= n_diff;
	while (!formats->write_diff || choice-- > 0)
		formats++;
	return formats;
}

static void write_diff(const struct view *before, const struct view *after,
		       const struct report_opts *opts, size_t choice)
{
	const struct diff_run runs[] = { { "before", before, false }, { "after", after, true } };
	_cleanup_(diff_free_p) struct diff *diff = NULL;
	const struct report_format *format = choose(choice);

	if (diff_new(runs, opts, &diff) < 0)
		return;
	if (diff_has_allocations(diff) || !format->one_job)
		(void)format->write_diff(diff, fuzz_null()); /* may refuse */
	for (size_t job = 0; job < diff_n_jobs(diff); job++) {
		diff_choose_job(diff, job);
		if (report_format_diff_one_job(format))
			(void)format->write_diff(diff, fuzz_null()); /* as above */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct report_opts opts = { .top = 2 };
	struct fuzz_run runs[2] = { { 0 }, { 0 } };
	_cleanup_(view_free_p) struct view *before = NULL, *after = NULL;
	size_t first, choice;

	if (size < 2 || size > 65536)
		return 0;
	first = data[0] | (size_t)data[1] << 8;
	choice = data[size - 1];
	data += 2;
	size -= 2;
	first = first < size ? first : size;
	if (read_records(&runs[0], data, first) &&
	    read_records(&runs[1], data + first, size - first) &&
	    view_new(runs[0].model, runs[0].symbols, &opts, &before) == 0 &&
	    view_new(runs[1].model, runs[1].symbols, &opts, &after) == 0)
		write_diff(before, after, &opts, choice);
	view_free(TAKE_PTR(before));
	view_free(TAKE_PTR(after));
	fuzz_run_done(&runs[0]);
	fuzz_run_done(&runs[1]);
	return 0;
}
