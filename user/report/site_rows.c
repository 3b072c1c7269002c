/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site_rows.h"

#include "base/clock.h"
#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "config/units.h"
#include "report/text/table_out.h"
#include "report/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What frames of stacks need to be read. */
#define LEAST_FRAME 20
/* Of a row: more than one looks through. */
#define STACKS 100

static bool has(const char *text, const char *word)
{
	return text && strcasestr(text, word);
}

/* As it is in JSON, or as rows show it. */
static bool has_function(const struct view_frame *frame, const char *word)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	if (has(frame->function, word))
		return true;
	if (!frame->function || !strchr(frame->function, '<'))
		return false;
	view_frame_short_name(frame, false, &name);
	return has(strbuf_str(&name), word);
}

static bool matches(const struct view_site *site, const char *filter)
{
	struct view_frames it = { .stack = &site->stack };
	struct view_frame frame;

	if (!*filter)
		return true;
	while (view_frames_next(&it, &frame))
		if (has_function(&frame, filter) || has(frame.file, filter) ||
		    has(frame.place->object, filter))
			return true;
	return false;
}

static int by_key(const void *item_a, const void *item_b)
{
	return strcmp((*(const struct site_row *const *)item_a)->key,
		      (*(const struct site_row *const *)item_b)->key);
}

/* Allocations since the state before, by the second. */
static void set_rates(struct site_rows *rows, struct site_row **sorted, size_t n,
		      const struct site_rows *before)
{
	double seconds = (double)(rows->now_ns - before->now_ns) / SECOND_NS;

	for (size_t i = 0; i < rows->n_rows; i++) {
		struct site_row *row = &rows->rows[i];
		struct site_row **was =
			n ? bsearch(&row, sorted, n, sizeof(struct site_row *), by_key) : NULL;
		uint64_t allocs = row->allocs - (was ? (*was)->allocs : 0);

		row->values[SITE_RATE] = saturate_i64((double)allocs / seconds);
	}
}

static int find_rates(struct site_rows *rows, const struct site_rows *before)
{
	_cleanup_free_ struct site_row **sorted = NULL;

	if (!before || rows->now_ns <= before->now_ns)
		return 0;
	sorted = calloc(before->n_rows + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < before->n_rows; i++)
		sorted[i] = &before->rows[i];
	qsort(sorted, before->n_rows, sizeof(struct site_row *), by_key);
	set_rates(rows, sorted, before->n_rows, before);
	return 0;
}

typedef VEC(struct site_row) row_vec;

static int64_t verdict_of(const struct view_site *site)
{
	return site->has_growth ? (int64_t)site->growth.verdict + 1 : 0;
}

static struct site_row row_of(const struct view_process *process, const struct view_site *site)
{
	return (struct site_row){
		.pid = process->image->pid,
		.n_pids = 1,
		.n_stacks = 1,
		.exact = process->exact,
		.allocs = site->allocs,
		.estimate = site->estimate,
		.values = { [SITE_LIVE] = site->live_bytes,
			    [SITE_BLOCKS] = site->live_blocks,
			    [SITE_YOUNG] = site->young_bytes,
			    [SITE_ALLOCS] = (int64_t)site->allocs,
			    [SITE_PEAK] = site->peak_bytes,
			    [SITE_VERDICT] = verdict_of(site),
			    [SITE_GROWN] = site->growth_bytes,
			    [SITE_TEMPORARY] = (int64_t)view_site_temporary(site) },
	};
}

static void name_site(const struct view_site *site, bool full, bool with_class,
		      struct view_frame *frame, struct strbuf *name, struct strbuf *where)
{
	if (view_stack_name(&site->stack, frame)) {
		table_frame_name(frame, full, name);
		table_frame_where(frame, true, where);
	} else {
		strbuf_adds(name, "(no stack)");
	}
	if (with_class && site->class == VIEW_MMAP) {
		if (!frame->file) /* its class tells more than its object */
			strbuf_reset(where);
		strbuf_addf(where, "%s[mmap]", where->len > 0 ? " " : "");
	}
}

static int set_key(const struct strbuf *name, const struct strbuf *where, struct strbuf *key)
{
	strbuf_reset(key);
	strbuf_addf(key, "%s\n%s", strbuf_str(name), strbuf_str(where));
	return name->error < 0 || where->error < 0 ? -ENOMEM : strbuf_error(key);
}

static void row_done(struct site_row *row)
{
	free(row->key);
	free(row->name);
	free(row->where);
}

/* What rows are summed up of, and how. */
struct summing {
	const struct view *view;
	const char *filter;   /* of the live view; NULL: it is the summary */
	struct interns names; /* of the rows, by their numbers */
	row_vec rows;
	struct strbuf key;
};

/* A row of nothing yet. 0 or -ENOMEM. */
static int add_row(struct summing *s, const struct view_frame *frame, const struct strbuf *name,
		   const struct strbuf *where)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };
	struct site_row row = { .exact = true };

	escape_text(&clean, strbuf_str(where));
	row.key = strdup(strbuf_str(&s->key));
	/* Of the path of an object, the end tells most. */
	row.name = strdup(frame->function ? strbuf_str(name) : text_base_name(strbuf_str(name)));
	row.where = strdup(strbuf_str(&clean));
	if (row.key && row.name && row.where && strbuf_error(&clean) == 0 &&
	    vec_push(&s->rows, row) == 0)
		return 0;
	row_done(&row);
	return -ENOMEM;
}

/* The row of a site, made when it is the first one. 0 or -ENOMEM. */
static int find_row(struct summing *s, const struct view_site *site, size_t *ret_index)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, where = { 0 };
	struct view_frame frame = { 0 };
	int r;

	name_site(site, view_opts(s->view)->full_names, s->filter != NULL, &frame, &name, &where);
	r = set_key(&name, &where, &s->key);
	if (r == 0)
		r = interns_add_string(&s->names, strbuf_str(&s->key), ret_index);
	return r == 1 ? add_row(s, &frame, &name, &where) : r;
}

static void finish_rows(struct site_rows *rows, row_vec *made, const struct view *view)
{
	rows->rows = made->data;
	rows->n_rows = rows->n_all = made->len;
	rows->now_ns = view_now_ns(view);
	rows->full_names = view_opts(view)->full_names;
	rows->has_estimates = view_has_estimates(view_model(view));
	for (size_t i = 0; i < rows->n_rows; i++)
		rows->has_verdicts |= rows->rows[i].values[SITE_VERDICT] > 0;
}

void site_rows_done(struct site_rows *rows)
{
	for (size_t i = 0; i < rows->n_rows; i++)
		row_done(&rows->rows[i]);
	free(rows->rows);
	*rows = (struct site_rows){ 0 };
}

static int compare_values(const struct site_row *a, const struct site_row *b,
			  enum site_column column)
{
	return (a->values[column] < b->values[column]) - (a->values[column] > b->values[column]);
}

/* As view_site_urgency. */
static int urgency(const struct site_row *row)
{
	int64_t verdict = row->values[SITE_VERDICT] - 1;

	return verdict < GROWTH_GROWING ? 0 : (int)verdict;
}

static int by_column(const void *item_a, const void *item_b, void *userdata)
{
	const struct site_row *a = item_a, *b = item_b;
	enum site_column column = *(const enum site_column *)userdata;
	int r = column == SITE_GROWN ? urgency(b) - urgency(a) : 0;

	if (r == 0)
		r = compare_values(a, b, column);
	if (r == 0)
		r = compare_values(a, b, SITE_LIVE);
	return r ? r : strcmp(a->key, b->key);
}

void site_rows_sort(struct site_rows *rows, enum site_column column)
{
	if (rows->n_rows)
		qsort_r(rows->rows, rows->n_rows, sizeof(rows->rows[0]), by_column, &column);
}

static const enum site_column column_of_sort[] = {
	[SORT_BYTES] = SITE_LIVE, [SORT_COUNT] = SITE_BLOCKS,	     [SORT_GROWTH] = SITE_GROWN,
	[SORT_PEAK] = SITE_PEAK,  [SORT_TEMPORARY] = SITE_TEMPORARY,
};

enum site_column site_column_of(enum option_sort sort)
{
	return column_of_sort[sort];
}

/* The verdict is the worst of them. */
static void add_to_row(struct site_row *sum, const struct site_row *row)
{
	int64_t verdict = sum->values[SITE_VERDICT];

	if (verdict < row->values[SITE_VERDICT])
		verdict = row->values[SITE_VERDICT];
	for (size_t i = 0; i < SITE_COLUMNS; i++)
		sum->values[i] = saturate_add(sum->values[i], row->values[i]);
	sum->values[SITE_VERDICT] = verdict;
	sum->allocs += row->allocs;
	sum->exact &= row->exact;
	sum->n_stacks++;
	sum->n_pids += row->pid != sum->pid;
	sum->pid = row->pid;
}

/* In the summary, rows are of what is ranked. */
static bool is_summed(const struct summing *s, const struct view_site *site)
{
	return s->filter || (site->class == view_class_shown(s->view) &&
			     site_is_ranked(site, view_opts(s->view)->sort));
}

/* Whatever does not match has a row, of nothing. 0 or -ENOMEM. */
static int sum_site(struct summing *s, const struct view_process *process,
		    const struct view_site *all)
{
	const struct view_site summed = view_site_in_sums(process, all), *site = &summed;
	struct site_row row = row_of(process, site);
	size_t index;
	int r;

	if (!is_summed(s, site))
		return 0;
	r = find_row(s, site, &index);
	if (r < 0 || (s->filter && !matches(site, s->filter)))
		return r;
	add_to_row(&s->rows.data[index], &row);
	view_estimate_add_image(&s->rows.data[index].estimate, &site->estimate, process->image);
	return 0;
}

/* 0 or -ENOMEM; `ret_rows` is to be freed in any case. */
static int sum_sites(const struct view *view, const char *filter, struct site_rows *ret_rows)
{
	struct summing s = { .view = view, .filter = filter };
	int r = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		if (filter && process->is_past)
			continue;
		for (size_t k = 0; k < process->n_sites && r == 0; k++)
			r = sum_site(&s, process, &process->sites[k]);
	}
	finish_rows(ret_rows, &s.rows, view);
	interns_done(&s.names);
	strbuf_done(&s.key);
	return r;
}

/* Those that nothing of matches. */
static void drop_empty(struct site_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n_rows; i++) {
		if (rows->rows[i].n_stacks == 0)
			row_done(&rows->rows[i]);
		else
			rows->rows[n++] = rows->rows[i];
	}
	rows->n_rows = n;
}

int site_rows_make(const struct view *view, const char *filter, const struct site_rows *before,
		   struct site_rows *ret_rows)
{
	struct site_rows made = { 0 };
	int r = sum_sites(view, filter, &made);

	drop_empty(&made);
	if (r == 0)
		r = find_rates(&made, before);
	if (r < 0) {
		site_rows_done(&made);
		return r;
	}
	*ret_rows = made;
	return 0;
}

static void set_shares(struct site_rows *rows, enum site_column column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < rows->n_rows; i++)
		sum = saturate_add(sum, rows->rows[i].values[column]);
	for (size_t i = 0; i < rows->n_rows && sum > 0; i++)
		rows->rows[i].values[SITE_SHARE] =
			llround(1000.0 * (double)rows->rows[i].values[column] / (double)sum);
}

int site_rows_sum(const struct view *view, struct site_rows *ret_rows)
{
	enum site_column column = site_column_of(view_opts(view)->sort);
	struct site_rows made = { 0 };
	int r = sum_sites(view, NULL, &made);

	if (r < 0) {
		site_rows_done(&made);
		return r;
	}
	set_shares(&made, column);
	site_rows_sort(&made, column);
	*ret_rows = made;
	return 0;
}

/* A stack of a row. */
struct row_stack {
	const struct view_process *process;
	const struct view_site *site;
};

typedef VEC(struct row_stack) stack_vec;

static int add_if_of_row(const struct view_process *process, const struct view_site *site,
			 const char *key, bool full, stack_vec *stacks)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, where = { 0 }, own = { 0 };
	struct view_frame frame = { 0 };
	int r;

	name_site(site, full, true, &frame, &name, &where);
	r = set_key(&name, &where, &own);
	if (r < 0 || strcmp(strbuf_str(&own), key) != 0)
		return r;
	return vec_push(stacks, ((struct row_stack){ process, site }));
}

static int find_stacks(const struct view *view, const char *key, const char *filter,
		       stack_vec *stacks)
{
	int r = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t k = 0; k < process->n_sites && r == 0 && !process->is_past; k++)
			if (matches(&process->sites[k], filter))
				r = add_if_of_row(process, &process->sites[k], key,
						  view_opts(view)->full_names, stacks);
	}
	return r;
}

static int by_live(const void *item_a, const void *item_b)
{
	const struct view_site *a = ((const struct row_stack *)item_a)->site;
	const struct view_site *b = ((const struct row_stack *)item_b)->site;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

static void add_estimate(struct strbuf *out, const struct view_site *site)
{
	const struct view_estimate *estimate = &site->estimate;
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(out, "live: ~%s", format_size(site->live_bytes, size));
	table_margin(out, estimate, estimate->ci95_bytes);
	strbuf_addf(out, " in ~%" PRId64, site->live_blocks);
	table_count_margin(out, estimate, estimate->ci95_blocks);
	strbuf_adds(out, " blocks");
	table_few_samples(out, estimate);
	strbuf_addf(out, "\nat the peak: ~%s", format_size(site->peak_bytes, size));
	table_margin(out, estimate, estimate->ci95_peak_bytes);
	strbuf_addf(out, "\nallocated: ~%s", format_size((int64_t)site->bytes, size));
	table_margin(out, estimate, estimate->ci95_allocated_bytes);
	strbuf_addf(out, " in ~%" PRIu64, site->allocs);
	table_count_margin(out, estimate, estimate->ci95_allocs);
	strbuf_addf(out, " allocations; one sample in %s, ± is 95 %%\n\n",
		    format_size((int64_t)estimate->interval, size));
}

static void add_held(struct strbuf *out, const struct row_stack *stack, bool with_pid)
{
	const struct view_site *site = stack->site;
	const char *near = stack->process->exact ? "" : "~";
	char live[FORMAT_UNIT_LEN], peak[FORMAT_UNIT_LEN];

	if (with_pid)
		strbuf_addf(out, "pid %" PRIu32 ": ", stack->process->image->pid);
	strbuf_addf(out, "%s%s live in %s%" PRId64 " block%s, %s%s at the peak\n", near,
		    format_size(site->live_bytes, live), near, site->live_blocks,
		    site->live_blocks == 1 ? "" : "s", near, format_size(site->peak_bytes, peak));
}

static void add_frames(struct strbuf *out, const struct view_site *site, bool full, size_t columns)
{
	struct view_frames it = { .stack = &site->stack };
	struct view_frame frame;

	while (view_frames_next(&it, &frame)) {
		table_frame(out, &frame, full, true, columns > LEAST_FRAME ? columns : LEAST_FRAME);
		strbuf_addch(out, '\n');
	}
	if (site->stack.lost)
		strbuf_adds(out, "(the stack was lost)\n");
	else if (site->stack.truncated)
		strbuf_adds(out, "(truncated)\n");
}

int site_row_stacks(const struct view *view, const char *key, const char *filter, size_t columns,
		    struct strbuf *out)
{
	_cleanup_free_ struct row_stack *stacks = NULL;
	stack_vec found = { 0 };
	int r = find_stacks(view, key, filter, &found);

	stacks = found.data;
	if (r < 0)
		return r;
	if (found.len > 1)
		qsort(stacks, found.len, sizeof(*stacks), by_live);
	for (size_t i = 0; i < found.len && i < STACKS; i++) {
		if (i > 0)
			strbuf_addch(out, '\n');
		if (found.len > 1)
			strbuf_addf(out, "stack %zu of %zu, ", i + 1, found.len);
		if (stacks[i].site->estimate.interval)
			add_estimate(out, stacks[i].site);
		else if (found.len > 1)
			add_held(out, &stacks[i], view_n_programs(view) > 1);
		add_frames(out, stacks[i].site, view_opts(view)->full_names, columns);
	}
	if (found.len > STACKS)
		strbuf_addf(out, "\n… %zu more stacks, which hold less\n", found.len - STACKS);
	return strbuf_error(out) < 0 ? -ENOMEM : (int)found.len;
}
