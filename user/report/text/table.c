/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report for people: what ran, each process with its sites, and how much of it is certain.
 * Numbers that are not exact never look as if they were: lower bounds carry a ≥, the rest a ~.
 */
#include "report/text/table.h"

#include "base/escape.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "config/units.h"
#include "report/text/table_out.h"
#include "report/view/view_collect.h"
#include "report/view/view_coverage.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool image_holds(const struct view_process *process)
{
	return process->totals.allocs > 0 || process->totals.before_blocks > 0 ||
	       process->totals.failed > 0 || process->totals.frees > 0 ||
	       process->totals.lost > 0 || process->mmap.allocs > 0;
}

static bool holds_anything(const struct table *t, const struct view_process *process)
{
	for (; process; process = view_before_depth(t->view, process))
		if (image_holds(process))
			return true;
	return false;
}

/* The roots as they are, then the others, those whose heap holds most first. */
static int compare_processes(const void *item_a, const void *item_b, void *userdata)
{
	const struct view_process *a = *(const struct view_process *const *)item_a;
	const struct view_process *b = *(const struct view_process *const *)item_b;
	const struct table *t = userdata;
	int64_t bytes_a = table_heap_bytes(t, a), bytes_b = table_heap_bytes(t, b);

	if (a->image->root != b->image->root)
		return a->image->root ? -1 : 1;
	if (!a->image->root && bytes_a != bytes_b)
		return bytes_a > bytes_b ? -1 : 1;
	if (!a->image->root && a->mmap.live_bytes != b->mmap.live_bytes)
		return a->mmap.live_bytes > b->mmap.live_bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void process_head(struct table *t, const struct view_process *process)
{
	const struct model_process *image = process->image;
	_cleanup_strbuf_ struct strbuf head = { 0 };
	size_t width = view_opts(t->view)->width;

	table_process(&head, image);
	strbuf_adds(&head, ", ");
	table_state(image, &head);
	table_bold(t, true);
	text_fit(&t->out, strbuf_str(&head), width);
	table_bold(t, false);
	strbuf_addch(&t->out, '\n');
	if (image->exe) {
		strbuf_adds(&t->out, "  ");
		text_fit(&t->out, image->exe, width - 2);
		strbuf_addch(&t->out, '\n');
	}
	strbuf_pass_error(&t->out, &head);
}

/* What was held at the peak can be known less well than the peak itself. */
static void add_peak(struct strbuf *line, const struct record_totals *totals, bool exact,
		     const struct view_estimate *estimate)
{
	char number[TABLE_NUMBER_LEN];

	strbuf_addf(line, ", peak %s", table_size(totals->peak_bytes, exact, number));
	table_margin(line, estimate, estimate->ci95_peak_bytes);
	if (totals->peak_error_bytes > 0)
		strbuf_addf(line, " (each site's share accurate to %s)",
			    table_size((int64_t)totals->peak_error_bytes, true, number));
}

static void add_live(struct strbuf *line, int64_t bytes, int64_t blocks, const char *what,
		     bool exact, const struct view_estimate *estimate)
{
	char size[TABLE_NUMBER_LEN];

	strbuf_adds(line, table_size(bytes, exact, size));
	table_margin(line, estimate, estimate->ci95_bytes);
	strbuf_addf(line, " live in %s%" PRId64, exact ? "" : "~", blocks);
	table_count_margin(line, estimate, estimate->ci95_blocks);
	strbuf_addf(line, " %s%s", what, table_plural(estimate->ci95_blocks ? 0 : blocks));
}

/* "≥12 allocations of ≥1.2 MiB" */
static void add_calls(struct strbuf *line, uint64_t n, const char *what, uint64_t bytes, bool exact)
{
	char number[TABLE_NUMBER_LEN], size[FORMAT_UNIT_LEN];

	strbuf_addf(line, "%s %s%s of %s%s", table_count(n, exact, number), what, table_plural(n),
		    exact ? "" : "≥", format_size((int64_t)bytes, size));
}

static void heap_calls(struct table *t, const struct record_totals *totals, bool exact)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN];

	strbuf_adds(&line, "        ");
	add_calls(&line, totals->allocs, "allocation", totals->bytes, exact);
	strbuf_addf(&line, ", %s free%s", table_count(totals->frees, exact, number),
		    table_plural(totals->frees));
	strbuf_addf(&line, ", %s failed", table_count(totals->failed, exact, number));
	if (totals->allocs > 0)
		strbuf_addf(&line, ", %s%.1f%% temporary", exact ? "" : "~",
			    100.0 * (double)totals->temporary / (double)totals->allocs);
	if (totals->missed_frees > 0)
		strbuf_addf(&line, ", %" PRIu64 " missed free%s", totals->missed_frees,
			    table_plural(totals->missed_frees));
	if (totals->unknown_frees > 0)
		strbuf_addf(&line, ", %" PRIu64 " free%s of unknown blocks", totals->unknown_frees,
			    table_plural(totals->unknown_frees));
	table_wrap(t, 8, &line);
}

static void heap_before(struct table *t, const struct record_totals *totals)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char size[TABLE_NUMBER_LEN];

	strbuf_addf(&line,
		    "        of what is live, %s in %" PRId64 " block%s %s from before the attach: "
		    "usable sizes, not those asked for",
		    table_size(totals->before_bytes, true, size), totals->before_blocks,
		    table_plural((uint64_t)totals->before_blocks),
		    totals->before_blocks == 1 ? "is" : "are");
	if (totals->before_unread > 0)
		strbuf_addf(&line, "; %s of the heap then was not understood",
			    table_size((int64_t)totals->before_unread, true, size));
	table_wrap(t, 8, &line);
}

static void not_exact(struct table *t, uint64_t lost)
{
	table_warn(t, true);
	if (lost > 0)
		table_line(t, 4, "  NOT EXACT: %" PRIu64 " event%s of this process %s lost", lost,
			   table_plural(lost), lost == 1 ? "was" : "were");
	else
		table_line(t, 4, "  NOT EXACT: events were lost, perhaps of this process");
	table_warn(t, false);
}

static bool is_by_library(const struct record_run *run)
{
	return run->counted_by && strcmp(run->counted_by, RECORD_BY_LIBRARY) == 0;
}

/* The words may be of a recording from elsewhere. */
static void why_probes(struct table *t, const struct record_run *run)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!run->counted_by || is_by_library(run))
		return;
	strbuf_adds(&line, "not by a preloaded library: ");
	escape_text(&line, run->counted_by);
	table_line(t, 4, "%s", strbuf_str(&line));
	strbuf_pass_error(&t->out, &line);
}

/* Where it is not as the head has it. */
static void heap_counted_by(struct table *t, const struct record_totals *totals)
{
	const struct record_run *run = model_run(view_model(t->view));

	if (run && is_by_library(run) && !totals->by_library)
		table_line(t, 4,
			   "  counted by probes: the library was not loaded, or kept no book\n");
}

static void heap_totals(struct table *t, const struct view_process *process)
{
	const struct record_totals *totals = &process->totals;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	const struct view_estimate estimate = view_estimate_totals(totals);
	bool is_sampled = view_image_is_sampled(view_model(t->view), process->image);
	char rate[TABLE_NUMBER_LEN];

	strbuf_adds(&line, "  heap: ");
	add_live(&line, totals->live_bytes, totals->live_blocks, "block", process->exact,
		 &estimate);
	add_peak(&line, totals, process->exact, &estimate);
	if (process->has_growth && process->growth.verdict >= GROWTH_GROWING)
		strbuf_addf(&line, "; %s, %s", growth_verdict_name(process->growth.verdict),
			    table_rate(process->growth.bytes_per_s, rate));
	table_wrap(t, 8, &line);
	if (is_sampled)
		table_estimated_calls(t, totals);
	else
		heap_calls(t, totals, process->exact);
	heap_counted_by(t, totals);
	if (totals->has_before)
		heap_before(t, totals);
	/* of a recording that was cut off its coverage says it for all */
	if (!process->exact &&
	    (totals->lost || !(is_sampled || view_is_cut_off(view_model(t->view)))))
		not_exact(t, totals->lost);
}

/* Reservations of address space: when it was looked at, which the memory's lines say. */
static void inaccessible(const struct view_process *process, struct strbuf *line)
{
	const struct record_resident *memory = &process->image->resident;
	char size[FORMAT_UNIT_LEN];

	if (process->image->has_mapped && memory->inaccessible)
		strbuf_addf(line, "; %s may not be accessed (PROT_NONE)",
			    format_size((int64_t)memory->inaccessible, size));
}

static void mmap_totals(struct table *t, const struct view_process *process)
{
	const struct region_totals *mmap = &process->mmap;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	const struct view_estimate none = { 0 };
	char size[TABLE_NUMBER_LEN], duration[FORMAT_UNIT_LEN];
	uint64_t looked_at_ns = view_looked_at_ns(t->view, process);

	strbuf_adds(&line, "  mmap: ");
	add_live(&line, mmap->live_bytes, mmap->live_blocks, "region", process->exact, &none);
	strbuf_addf(&line, ", peak %s; ", table_size(mmap->peak_bytes, process->exact, size));
	add_calls(&line, mmap->allocs, "mapping", mmap->bytes, process->exact);
	if (looked_at_ns)
		strbuf_addf(&line, ", in %s that it was looked at",
			    format_duration(looked_at_ns, duration));
	inaccessible(process, &line);
	if (mmap->left_out)
		strbuf_addf(&line, "; %" PRIu64 " more %s not known any more: there were too many",
			    mmap->left_out, mmap->left_out == 1 ? "is" : "are");
	table_wrap(t, 8, &line);
}

/* One image of it: what it allocated, and where. */
static void image_lines(struct table *t, const struct view_process *process)
{
	char size[TABLE_NUMBER_LEN];

	table_process_depth(t, process);
	if (process->image->has_totals)
		heap_totals(t, process);
	else if (process->image->depth != RECORD_DEPTH_GROWTH)
		strbuf_adds(&t->out, "  heap: not counted\n");
	if (process->has_mmap)
		mmap_totals(t, process);
	table_resident(t, process);
	table_leaks(t, process);
	table_errors(t, process);
	table_fault(t, process);
	if (view_opts(t->view)->group_by == GROUP_BY_SITE) {
		table_sites(t, process, VIEW_HEAP);
		if (process->has_mmap)
			table_sites(t, process, VIEW_MMAP);
	}
	if (process->n_left_out > 0)
		strbuf_addf(&t->out, "  … %zu site%s left out by %s, %s live\n",
			    process->n_left_out, table_plural(process->n_left_out),
			    view_filters(t->view),
			    table_size(process->left_out_bytes, process->exact, size));
	strbuf_addch(&t->out, '\n');
}

/* As of now, and the times before its depth changed, the latest first. */
static void process_section(struct table *t, const struct view_process *process)
{
	size_t n_more;

	process_head(t, process);
	table_death(t, process);
	image_lines(t, process);
	n_more = table_earlier_times(t, process, image_lines);
	if (n_more > 0)
		table_line(t, 4, "  … %zu earlier period%s of counting; --top 0 shows all\n",
			   n_more, table_plural(n_more));
}

static void head_line(struct table *t)
{
	const struct record_run *run = model_run(view_model(t->view));
	uint64_t now_ns = view_now_ns(t->view);
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char duration[FORMAT_UNIT_LEN];

	if (!run) {
		strbuf_adds(&t->out, "an empty run: nothing is known about it\n\n");
		return;
	}
	strbuf_adds(&line, run->tool ? run->tool : "memtraced");
	strbuf_addf(&line, ": %s traced",
		    format_duration(now_ns > run->start_ns ? now_ns - run->start_ns : 0, duration));
	if (model_slept_ns(view_model(t->view)))
		strbuf_addf(&line, " (without %s asleep)",
			    format_duration(model_slept_ns(view_model(t->view)), duration));
	if (run->kernel)
		strbuf_addf(&line, " on Linux %s", run->kernel);
	if (is_by_library(run))
		strbuf_adds(&line, " by a preloaded library");
	else if (run->attach_path)
		strbuf_addf(&line, " by %s probes", run->attach_path);
	text_fit(&t->out, strbuf_str(&line), view_opts(t->view)->width);
	strbuf_adds(&t->out, "\n");
	why_probes(t, run);
	strbuf_adds(&t->out, "\n");
	strbuf_pass_error(&t->out, &line);
}

enum { ENDED, ENDED_LIVE, ENDED_PEAK, ENDED_ALLOCS, ENDED_COLUMNS };

static const struct table_column ended_columns[ENDED_COLUMNS] = {
	[ENDED] = { .head = "ENDED", .columns = 8, .is_count = true },
	[ENDED_LIVE] = { .head = "LIVE AT END", .columns = 13 },
	[ENDED_PEAK] = { .head = "LARGEST PEAK", .columns = 14 },
	[ENDED_ALLOCS] = { .head = "ALLOCS", .columns = 9, .is_count = true },
};
#define LEAST_PATH 12

static void ended_line(struct table *t, const struct model_ended *ended)
{
	const struct record_totals *totals = &ended->totals;
	bool exact = view_is_exact(t->view) && totals->lost == 0;
	const struct view_estimate estimate = view_estimate_totals(totals);
	const uint64_t margins[] = { 0, estimate.ci95_bytes, estimate.ci95_peak_bytes,
				     estimate.ci95_allocs };
	const char *name = ended->exe ? ended->exe : *ended->comm ? ended->comm : "others";
	size_t used, n = table_fit(t, ended_columns, ENDED_COLUMNS, LEAST_PATH, &used);
	int64_t live_bytes = totals->live_bytes;
	char cells[ENDED_COLUMNS][FORMAT_UNIT_LEN + 8];
	const char *marks[ENDED_COLUMNS] = { "" };

	view_clamp(&live_bytes, &exact);
	marks[ENDED_LIVE] = marks[ENDED_PEAK] = exact ? "" : "~";
	marks[ENDED_ALLOCS] = table_at_least(t, exact);
	snprintf(cells[ENDED], sizeof(cells[ENDED]), "%" PRIu64, ended->processes);
	format_size(live_bytes, cells[ENDED_LIVE]);
	format_size(totals->peak_bytes, cells[ENDED_PEAK]);
	format_count((int64_t)totals->allocs, cells[ENDED_ALLOCS]);
	for (size_t i = 0; i < n; i++)
		table_cell(&t->out, marks[i], cells[i], ended_columns[i].columns);
	strbuf_adds(&t->out, "  ");
	text_fit(&t->out, name, table_rest(t, used));
	strbuf_addch(&t->out, '\n');
	if (!estimate.interval)
		return;
	strbuf_addf(&t->out, "%8s", "");
	for (size_t i = ENDED_LIVE; i < n; i++)
		table_margin_cell(t, margins[i], ended_columns[i].is_count,
				  ended_columns[i].columns);
	strbuf_addch(&t->out, '\n');
}

static int compare_ended(const void *item_a, const void *item_b)
{
	const struct model_ended *a = *(const struct model_ended *const *)item_a;
	const struct model_ended *b = *(const struct model_ended *const *)item_b;

	if (a->totals.allocs != b->totals.allocs)
		return a->totals.allocs > b->totals.allocs ? -1 : 1;
	return (a->processes < b->processes) - (a->processes > b->processes);
}

/* Of those that ended long ago, by what they ran. */
static int ended_processes(struct table *t)
{
	size_t n = view_n_ended(t->view), n_shown = table_shown(t, n), used;
	_cleanup_free_ const struct model_ended **all = calloc(n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		all[i] = view_ended(t->view, i);
	qsort(all, n, sizeof(all[0]), compare_ended);
	table_line(t, 4,
		   "processes that ended before those above, without their sites "
		   "(--keep-ended)");
	table_heads(t, ended_columns, table_fit(t, ended_columns, ENDED_COLUMNS, LEAST_PATH, &used),
		    "EXECUTABLE");
	for (size_t i = 0; i < n_shown; i++)
		ended_line(t, all[i]);
	if (n > n_shown)
		strbuf_addf(&t->out, "          … %zu more executable%s\n", n - n_shown,
			    table_plural(n - n_shown));
	strbuf_addch(&t->out, '\n');
	return 0;
}

static void add_totals(struct record_totals *sum, const struct record_totals *totals)
{
	sum->live_bytes = saturate_add(sum->live_bytes, totals->live_bytes);
	sum->live_blocks = saturate_add(sum->live_blocks, totals->live_blocks);
	sum->allocs += totals->allocs;
	sum->bytes += totals->bytes;
	sum->frees += totals->frees;
}

/* "; ≥12 allocations of ≥1.2 MiB, ≥3 frees" */
static void grand_calls(struct table *t, const struct record_totals *sum, bool exact,
			const struct view_estimate *estimate, struct strbuf *line)
{
	const char *mark = table_at_least(t, exact);
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(line, "; %s%" PRIu64, mark, sum->allocs);
	table_count_margin(line, estimate, estimate->ci95_allocs);
	strbuf_addf(line, " allocation%s of %s%s", table_plural(sum->allocs), mark,
		    format_size((int64_t)sum->bytes, size));
	table_margin(line, estimate, estimate->ci95_allocated_bytes);
	strbuf_addf(line, ", %s%" PRIu64, mark, sum->frees);
	table_count_margin(line, estimate, estimate->ci95_frees);
	strbuf_addf(line, " free%s", table_plural(sum->frees));
}

/* It has ended, or goes on as another image: no estimate of what it held is off. */
static void held_by_nobody(struct record_totals *totals)
{
	totals->live_bytes = totals->live_blocks = 0;
	totals->blocks_variance = totals->se_live_bytes = totals->live_samples = 0;
}

/* Of another depth: what it held here may be gone, and it is not another process. */
static bool goes_on(const struct view_process *process)
{
	return process->image->ended && process->image->how == RECORD_END_DEPTH;
}

/*
 * Of all processes together, which have no peak in common. What those held that ended long ago is
 * no process's any more.
 */
static void grand_totals(struct table *t, struct view_process *const *processes, size_t n)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	struct record_totals sum = { 0 };
	bool exact = view_is_exact(t->view);
	struct view_estimate estimate = { 0 }, of_these;
	uint64_t n_ended = 0;

	for (size_t i = 0; i < n; i++) {
		const struct view_process *part = processes[i];

		for (; part; part = view_before_depth(t->view, part)) {
			struct record_totals totals = part->totals;

			if (goes_on(part))
				held_by_nobody(&totals);
			of_these = view_estimate_totals(&totals);
			view_estimate_add_image(&estimate, &of_these, part->image);
			add_totals(&sum, &totals);
			exact &= part->exact;
		}
	}
	for (size_t i = 0; i < view_n_ended(t->view); i++) {
		const struct model_ended *ended = view_ended(t->view, i);
		struct record_totals totals = ended->totals;

		held_by_nobody(&totals);
		of_these = view_estimate_totals(&totals);
		view_estimate_add(&estimate, &of_these);
		add_totals(&sum, &totals);
		n_ended += ended->processes;
		exact &= totals.lost == 0;
	}
	strbuf_addf(&line, "all %" PRIu64 " processes: ", n_ended + n);
	add_live(&line, sum.live_bytes, sum.live_blocks, "block", exact, &estimate);
	grand_calls(t, &sum, exact, &estimate, &line);
	table_wrap(t, 8, &line);
}

/* `all`: there are no others. */
static void processes_left_out(struct table *t, bool all)
{
	size_t n = view_n_processes_left_out(t->view);
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (n == 0)
		return;
	strbuf_addf(&line, "… %zu process%s left out: no site matches --where", n,
		    n == 1 ? "" : "es");
	if (all)
		strbuf_adds(&line, "; 'memtraced --help where' says how it is written");
	table_wrap(t, 2, &line);
}

static int all_processes(struct table *t, struct view_process **processes, size_t n, size_t n_idle)
{
	size_t n_shown = table_shown(t, n);
	int r = 0;

	qsort_r(processes, n, sizeof(processes[0]), compare_processes, t);
	if (view_opts(t->view)->group_by == GROUP_BY_SITE)
		r = table_summary(t, processes, n);
	if (r < 0)
		return r;
	table_overview(t, processes, n, n_shown);
	for (size_t i = 0; i < n_shown; i++)
		process_section(t, processes[i]);
	table_hidden(t, processes, n, n_shown, "", "; --top 0 shows all");
	if (n_idle > 0)
		table_line(t, 2, "… %zu more process%s that allocated nothing", n_idle,
			   n_idle == 1 ? "" : "es");
	processes_left_out(t, n + n_idle == 0);
	r = ended_processes(t);
	if (n > 1)
		grand_totals(t, processes, n);
	return r;
}

static int processes_write(struct table *t)
{
	size_t n = view_n_processes(t->view), n_busy = 0, n_idle = 0;
	const struct view_process *last = NULL;
	_cleanup_free_ struct view_process **processes = calloc(n + 1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct view_process *process = view_process(t->view, i);

		bool is_part = last && view_before_depth(t->view, last) == process;

		last = process;
		if (is_part)
			continue;
		if (holds_anything(t, process) || process->image->root)
			processes[n_busy++] = (struct view_process *)process;
		else
			n_idle++;
	}
	return all_processes(t, processes, n_busy, n_idle);
}

int table_write(const struct view *view, FILE *file)
{
	/* Page faults where calls were too expensive: nobody has asked for them. */
	bool instead = model_depths(view_model(view))->changes.len > 0;
	struct table t = { .view = view };
	int r = 0;

	head_line(&t);
	table_histograms(&t);
	if (!instead)
		r = table_events(&t);
	table_syscalls(&t);
	if (r == 0 && view_has_allocations(view))
		r = processes_write(&t);
	if (r == 0 && instead)
		r = table_events(&t);
	if (r == 0 && view_has_allocations(view) && view_opts(view)->group_by != GROUP_BY_SITE)
		r = table_groups(&t);
	table_programs(&t, NULL);
	table_coverage(&t);
	if (r == 0)
		r = strbuf_error(&t.out);
	if (r == 0 && fwrite(strbuf_str(&t.out), 1, t.out.len, file) != t.out.len)
		r = -EIO;
	strbuf_done(&t.out);
	return r;
}
