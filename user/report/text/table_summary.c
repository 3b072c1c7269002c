/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The summary that begins the table: on one screen of 80x24, what processes hold, whether it grows,
 * what their memory is made of, and the first sites in a line each. Stacks come below it.
 */
#include "report/site_rows.h"
#include "report/text/table.h"

#include <errno.h>
#include <inttypes.h>

#define SITES 10
/* Two lines each: with the sites and the heads that is a screen. */
#define PROCESSES 3
/* Of a process's name: longer than the kernel's. */
#define NAME_COLUMNS 40

void table_growth_words(const struct growth *growth, struct strbuf *line)
{
	char rate[TABLE_NUMBER_LEN];

	strbuf_adds(line, growth_verdict_name(growth->verdict));
	if (growth->verdict >= GROWTH_GROWING)
		strbuf_addf(line, " %s", table_rate(growth->bytes_per_s, rate));
}

static void add_held(struct strbuf *line, const struct view_process *process, bool heap)
{
	const struct view_estimate estimate =
		heap ? view_estimate_totals(&process->totals) : (struct view_estimate){ 0 };
	int64_t bytes = heap ? process->totals.live_bytes : process->mmap.live_bytes;
	int64_t blocks = heap ? process->totals.live_blocks : process->mmap.live_blocks;
	int64_t peak = heap ? process->totals.peak_bytes : process->mmap.peak_bytes;
	char size[TABLE_NUMBER_LEN];

	strbuf_adds(line, table_size(bytes, process->exact, size));
	table_margin(line, &estimate, estimate.ci95_bytes);
	strbuf_addf(line, " live in %s%" PRId64 " %s%s, peak ", process->exact ? "" : "~", blocks,
		    heap ? "block" : "region", table_plural((uint64_t)blocks));
	strbuf_adds(line, table_size(peak, process->exact, size));
	table_margin(line, &estimate, estimate.ci95_peak_bytes);
}

static void process_lines(struct table *t, const struct view_process *process)
{
	const struct model_process *image = process->image;
	const struct view_process *counted = table_counted(t, process);
	_cleanup_strbuf_ struct strbuf name = { 0 }, line = { 0 };

	table_process(&name, image);
	text_fit(&line, strbuf_str(&name), NAME_COLUMNS);
	strbuf_adds(&line, ", ");
	table_state(image, &line);
	strbuf_adds(&line, ": ");
	if (image->has_totals)
		add_held(&line, process, true);
	else if (process->has_mmap)
		add_held(&line, process, false);
	else
		strbuf_adds(&line, "heap not counted");
	if (counted != process) {
		strbuf_adds(&line, " now; ");
		table_stretch_begin(t, counted->image, &line);
		strbuf_addch(&line, ' ');
		table_stretch_end(t, counted->image, &line);
		strbuf_adds(&line, ": ");
		add_held(&line, counted, true);
	}
	if (image->has_totals && process->has_growth) {
		strbuf_adds(&line, "; ");
		table_growth_words(&process->growth, &line);
	}
	table_title(t, 8, &line);
	if (image->has_resident) {
		strbuf_reset(&line);
		strbuf_adds(&line, "  ");
		table_resident_words(&image->resident, view_resident_exact(process), &line);
		table_wrap(t, 8, &line);
	}
	if (strbuf_error(&name) < 0 || strbuf_error(&line) < 0)
		t->out.error = -ENOMEM;
}

/* What sites are ranked by comes first, and is what the share is of. */
static void set_columns(struct site_layout *layout, enum site_column ranked_by)
{
	static const enum site_column others[] = { SITE_LIVE, SITE_BLOCKS, SITE_VERDICT };

	layout->shown[layout->n_shown++] = ranked_by;
	layout->shown[layout->n_shown++] = SITE_SHARE;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] != ranked_by)
			layout->shown[layout->n_shown++] = others[i];
}

static void site_lines(struct table *t, const struct site_rows *rows, bool with_pids)
{
	const struct report_opts *opts = view_opts(t->view);
	struct site_layout layout = {
		.sort = SITE_COLUMNS,
		.with_pids = with_pids,
		.columns = opts->width,
	};
	size_t n_shown = table_shown(t, rows->n_rows);

	n_shown = n_shown < SITES ? n_shown : SITES;
	set_columns(&layout, site_column_of(opts->sort));
	site_layout_fit(&layout, rows);
	table_bold(t, true);
	site_rows_head(&t->out, &layout);
	table_bold(t, false);
	strbuf_addch(&t->out, '\n');
	for (size_t i = 0; i < n_shown; i++) {
		site_row_line(&t->out, &rows->rows[i], &layout);
		strbuf_addch(&t->out, '\n');
	}
	if (rows->n_rows > n_shown)
		strbuf_addf(&t->out, "  … %zu more site%s\n", rows->n_rows - n_shown,
			    table_plural(rows->n_rows - n_shown));
}

int table_summary(struct table *t, struct view_process *const *processes, size_t n)
{
	size_t n_shown = n < PROCESSES ? n : PROCESSES;
	struct site_rows rows;
	int r = site_rows_sum(t->view, &rows);

	if (r < 0)
		return r;
	if (rows.n_rows > 0) {
		for (size_t i = 0; i < n_shown; i++)
			process_lines(t, processes[i]);
		table_hidden(t, processes, n, n_shown, "", "");
		site_lines(t, &rows, n > 1);
		strbuf_addch(&t->out, '\n');
	}
	site_rows_done(&rows);
	return 0;
}
