/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff.h"

#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "report/view/view_collect.h"
#include "report/view/view_where.h"

#include <errno.h>
#include <string.h>

struct matched {
	size_t site;
	struct diff_member member;
};

struct diff {
	struct diff_run runs[DIFF_SIDES];
	struct report_opts opts;
	struct diff_keys *keys;
	struct interns *program_keys, *site_keys;
	VEC(struct diff_program) programs;
	VEC(struct diff_site) sites;
	VEC(struct matched) matched; /* all, until the filter was applied */
	VEC(struct diff_member) members;
	struct diff_jobs jobs;
	struct strbuf text;
};

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int64_t as_signed(uint64_t value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

int64_t diff_value(const struct diff_values *values, enum option_sort sort)
{
	switch (sort) {
	case SORT_COUNT:
		return values->live_blocks;
	case SORT_PEAK:
		return values->peak_bytes;
	case SORT_TEMPORARY:
		return as_signed(values->temporary);
	default:
		return values->live_bytes;
	}
}

int64_t diff_change(const struct diff_values sides[DIFF_SIDES], enum option_sort sort)
{
	return saturate_subtract(diff_value(&sides[DIFF_AFTER], sort),
				 diff_value(&sides[DIFF_BEFORE], sort));
}

void diff_add_values(struct diff_values *to, const struct diff_values *from)
{
	to->live_bytes = saturate_add(to->live_bytes, from->live_bytes);
	to->live_blocks = saturate_add(to->live_blocks, from->live_blocks);
	to->peak_bytes = saturate_add(to->peak_bytes, from->peak_bytes);
	to->allocs = saturate_add_u64(to->allocs, from->allocs);
	to->bytes = saturate_add_u64(to->bytes, from->bytes);
	to->temporary = saturate_add_u64(to->temporary, from->temporary);
	view_estimate_add(&to->estimate, &from->estimate);
}

struct view_estimate diff_estimate(const struct diff_values sides[DIFF_SIDES])
{
	struct view_estimate sum = sides[DIFF_BEFORE].estimate;

	view_estimate_subtract(&sum, &sides[DIFF_AFTER].estimate);
	return sum;
}

uint64_t diff_ci95(const struct view_estimate *estimate, enum option_sort sort)
{
	switch (sort) {
	case SORT_COUNT:
		return estimate->ci95_blocks;
	case SORT_PEAK:
		return estimate->ci95_peak_bytes;
	case SORT_TEMPORARY: /* samples do not tell */
		return 0;
	default:
		return estimate->ci95_bytes;
	}
}

bool diff_significant(int64_t change, uint64_t ci95)
{
	return magnitude(change) > ci95;
}

struct diff_values diff_site_values(const struct view_site *site)
{
	return (struct diff_values){
		.live_bytes = site->live_bytes,
		.live_blocks = site->live_blocks,
		.peak_bytes = site->peak_bytes,
		.allocs = site->allocs,
		.bytes = site->bytes,
		.temporary = view_site_temporary(site),
		.estimate = site->estimate,
	};
}

static struct diff_values heap_values(const struct record_totals *totals)
{
	return (struct diff_values){
		.live_bytes = totals->live_bytes,
		.live_blocks = totals->live_blocks,
		.peak_bytes = totals->peak_bytes,
		.allocs = totals->allocs,
		.bytes = totals->bytes,
		.temporary = totals->temporary,
		.estimate = view_estimate_totals(totals),
	};
}

static struct diff_values mmap_values(const struct region_totals *totals)
{
	return (struct diff_values){
		.live_bytes = totals->live_bytes,
		.live_blocks = totals->live_blocks,
		.peak_bytes = totals->peak_bytes,
		.allocs = totals->allocs,
		.bytes = totals->bytes,
	};
}

/* A program goes by what its processes call themselves, as reports name them. */
static int new_program(struct diff *diff, const char *comm)
{
	struct diff_program program = { .name = strdup(*comm ? comm : "unknown"),
					.exact = { true, true } };
	int r = program.name ? vec_push(&diff->programs, program) : -ENOMEM;

	if (r < 0)
		free(program.name);
	return r;
}

/* The number of a program by its key, which is in diff->text. 0 or -ENOMEM. */
static int find_program(struct diff *diff, const char *comm, size_t *ret_index)
{
	int r = strbuf_error(&diff->text);

	if (r == 0)
		r = interns_add_string(diff->program_keys, strbuf_str(&diff->text), ret_index);
	return r == 1 ? new_program(diff, comm) : r;
}

static int rename_program(struct diff_program *program, const char *before)
{
	char *name;

	if (strcmp(program->name, before) == 0 || strstr(program->name, " → "))
		return 0;
	if (asprintf(&name, "%s → %s", *before ? before : "unknown", program->name) < 0)
		return -ENOMEM;
	free(program->name);
	program->name = name;
	return 0;
}

static int add_site(struct diff *diff, const struct diff_member *member)
{
	const struct view_site *site = member->site;
	struct diff_values values = diff_site_values(site);
	struct diff_site *to;
	size_t index;
	int r;

	strbuf_reset(&diff->text);
	strbuf_addf(&diff->text, "%zu\n%s\n", member->program,
		    site->class == VIEW_MMAP ? "mmap" : "heap");
	r = diff_keys_stack(diff->keys, member->side, member->process->image, &site->stack,
			    &diff->text);
	if (r == 0)
		r = interns_add_string(diff->site_keys, strbuf_str(&diff->text), &index);
	if (r == 1)
		r = vec_push(&diff->sites,
			     (struct diff_site){ .class = site->class,
						 .site = site,
						 .process = member->process,
						 .shown_side = member->side,
						 .program = member->program,
						 .key = interns_get(diff->site_keys, index) });
	if (r < 0)
		return r;
	to = &diff->sites.data[index];
	to->places[member->side]++;
	diff_add_values(&to->sides[member->side], &values);
	return vec_push(&diff->matched, (struct matched){ index, *member });
}

static int add_process(struct diff *diff, unsigned int side, const struct view_process *process)
{
	struct diff_values heap = heap_values(&process->totals), mmap = mmap_values(&process->mmap);
	struct diff_member member = { .side = side, .process = process };
	struct diff_program *program;
	int r;

	strbuf_reset(&diff->text);
	diff_keys_program(diff->keys, side, process->image, &diff->text);
	r = find_program(diff, process->image->comm, &member.program);
	if (r < 0)
		return r;
	program = &diff->programs.data[member.program];
	if (side == DIFF_BEFORE)
		r = rename_program(program, process->image->comm);
	program->processes[side]++;
	program->exact[side] &= process->exact;
	if (process->image->has_totals)
		diff_add_values(&program->heap[side], &heap);
	if (process->has_mmap)
		diff_add_values(&program->mmap[side], &mmap);
	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		member.site = &process->sites[i];
		r = add_site(diff, &member);
	}
	return r;
}

/* Of processes that ended long ago only sums are left. */
static int add_ended(struct diff *diff, unsigned int side)
{
	const struct view *view = diff->runs[side].view;
	const struct model *model = view_model(view);
	int r = 0;

	for (size_t i = 0; r == 0 && i < model_n_ended(model); i++) {
		const struct model_ended *ended = model_ended(model, i);
		const struct model_process image = {
			.comm = ended->comm ? ended->comm : "",
			.exe = ended->exe,
		};
		struct diff_values heap = heap_values(&ended->totals);
		struct diff_program *program;
		size_t index;

		strbuf_reset(&diff->text);
		diff_keys_program(diff->keys, side, &image, &diff->text);
		r = find_program(diff, image.comm, &index);
		if (r < 0)
			return r;
		program = &diff->programs.data[index];
		program->processes[side] =
			saturate_add_u64(program->processes[side], ended->processes);
		program->exact[side] &= view_is_exact(view) && ended->totals.lost == 0;
		view_clamp(&heap.live_bytes, &program->exact[side]);
		view_clamp(&heap.live_blocks, &program->exact[side]);
		diff_add_values(&program->heap[side], &heap);
	}
	return r;
}

static int add_run(struct diff *diff, unsigned int side)
{
	const struct view *view = diff->runs[side].view;
	int r = 0;

	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++)
		r = add_process(diff, side, view_process(view, i));
	return r < 0 ? r : add_ended(diff, side);
}

/* Where one run has no sample of a site, it may have missed some all the same. */
static void estimate_missing(struct diff *diff)
{
	vec_foreach(&diff->sites, site) {
		const struct diff_values *heap = diff->programs.data[site->program].heap;

		for (unsigned int side = 0; side < DIFF_SIDES; side++) {
			const struct diff_values *other = &site->sides[DIFF_SIDES - 1 - side];

			if (site->class == VIEW_HEAP && site->places[side] == 0)
				site->sides[side].estimate = view_estimate_of_none(
					heap[side].estimate.interval, other->allocs, other->bytes);
		}
	}
}

/* A site stays when any of its places passes, before or after; its numbers are those of all. */
static int filter(struct diff *diff)
{
	size_t n = diff->sites.len;
	_cleanup_free_ bool *keep = calloc(n + 1, sizeof(*keep));
	int r = 0;

	if (!keep)
		return -ENOMEM;
	vec_foreach(&diff->matched, it)
		if (!diff->opts.where ||
		    view_where_holds(diff->opts.where, it->member.process, it->member.site))
			keep[it->site] = true;
	vec_foreach(&diff->matched, it)
		if (r == 0 && keep[it->site])
			r = vec_push(&diff->members, it->member);
	diff->sites.len = 0;
	for (size_t i = 0; i < n; i++) {
		const struct diff_site *site = &diff->sites.data[i];
		struct diff_program *program = &diff->programs.data[site->program];

		if (keep[i]) {
			diff->sites.data[diff->sites.len++] = *site;
			continue;
		}
		program->n_left_out++;
		program->left_out_bytes =
			saturate_add(program->left_out_bytes, diff_change(site->sides, SORT_BYTES));
	}
	return r;
}

static int by_size(int64_t a, int64_t b)
{
	return (magnitude(a) < magnitude(b)) - (magnitude(a) > magnitude(b));
}

int diff_compare_changes(const struct diff_values a[DIFF_SIDES],
			 const struct diff_values b[DIFF_SIDES], enum option_sort sort)
{
	const enum option_sort order[] = { sort, SORT_BYTES, SORT_COUNT, SORT_PEAK };
	int by = 0;

	for (size_t i = 0; by == 0 && i < sizeof(order) / sizeof(order[0]); i++)
		by = by_size(diff_change(a, order[i]), diff_change(b, order[i]));
	if (by != 0)
		return by;
	return by_size((int64_t)(a[DIFF_AFTER].allocs - a[DIFF_BEFORE].allocs),
		       (int64_t)(b[DIFF_AFTER].allocs - b[DIFF_BEFORE].allocs));
}

static int compare_sites(const void *item_a, const void *item_b, void *userdata)
{
	const struct diff_site *a = item_a, *b = item_b;
	int order;

	if (a->program != b->program)
		return a->program < b->program ? -1 : 1;
	order = diff_compare_changes(a->sides, b->sides, *(const enum option_sort *)userdata);
	return order ? order : strcmp(a->key, b->key);
}

static void sort_sites(struct diff *diff)
{
	if (diff->sites.len > 0)
		qsort_r(diff->sites.data, diff->sites.len, sizeof(diff->sites.data[0]),
			compare_sites, &diff->opts.sort);
	for (size_t i = diff->sites.len; i > 0; i--) {
		struct diff_program *program =
			&diff->programs.data[diff->sites.data[i - 1].program];

		program->first = i - 1;
		program->n_sites++;
	}
}

int diff_new(const struct diff_run runs[DIFF_SIDES], const struct report_opts *opts,
	     struct diff **ret_diff)
{
	_cleanup_(diff_free_p) struct diff *diff = calloc(1, sizeof(*diff));
	const struct view *const views[] = { runs[DIFF_BEFORE].view, runs[DIFF_AFTER].view };
	int r;

	if (!diff)
		return -ENOMEM;
	memcpy(diff->runs, runs, sizeof(diff->runs));
	diff->opts = *opts;
	if (diff->opts.width < 80)
		diff->opts.width = 80;
	r = diff_keys_new(views, &diff->keys);
	if (r == 0)
		r = interns_new(&diff->program_keys);
	if (r == 0)
		r = interns_new(&diff->site_keys);
	/* The later run first: what it has is shown. */
	if (r == 0 && diff_has_allocations(diff))
		r = add_run(diff, DIFF_AFTER);
	if (r == 0 && diff_has_allocations(diff))
		r = add_run(diff, DIFF_BEFORE);
	if (r == 0)
		r = diff_jobs_init(views, diff->keys, &diff->jobs);
	estimate_missing(diff);
	if (r == 0)
		r = filter(diff);
	if (r < 0)
		return r;
	sort_sites(diff);
	*ret_diff = TAKE_PTR(diff);
	return 0;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	vec_foreach(&diff->programs, program)
		free(program->name);
	vec_done(&diff->programs);
	vec_done(&diff->sites);
	vec_done(&diff->matched);
	vec_done(&diff->members);
	diff_jobs_done(&diff->jobs);
	interns_free(diff->program_keys);
	interns_free(diff->site_keys);
	diff_keys_free(diff->keys);
	strbuf_done(&diff->text);
	free(diff);
}

const struct diff_run *diff_run(const struct diff *diff, unsigned int side)
{
	return &diff->runs[side];
}

const struct report_opts *diff_opts(const struct diff *diff)
{
	return &diff->opts;
}

struct diff_keys *diff_keys(const struct diff *diff)
{
	return diff->keys;
}

bool diff_has_allocations(const struct diff *diff)
{
	return view_has_allocations(diff->runs[DIFF_BEFORE].view) &&
	       view_has_allocations(diff->runs[DIFF_AFTER].view);
}

const struct diff_jobs *diff_jobs(const struct diff *diff)
{
	return &diff->jobs;
}

size_t diff_n_jobs(const struct diff *diff)
{
	size_t n = diff_has_allocations(diff) ? 1 : 0;

	for (size_t i = 0; i < diff->jobs.n_events; i++)
		n += diff_event_in_both(&diff->jobs.events[i]);
	return n;
}

void diff_choose_job(struct diff *diff, size_t job)
{
	diff->opts.job = job;
	diff->opts.mappings = false;
}

void diff_choose_mappings(struct diff *diff)
{
	diff->opts.job = 0;
	diff->opts.mappings = true;
}

const struct diff_event *diff_event_shown(const struct diff *diff)
{
	size_t job = diff->opts.job;

	if (diff_has_allocations(diff) && job-- == 0)
		return NULL;
	for (size_t i = 0; i < diff->jobs.n_events; i++)
		if (diff_event_in_both(&diff->jobs.events[i]) && job-- == 0)
			return &diff->jobs.events[i];
	return NULL;
}

size_t diff_n_programs(const struct diff *diff)
{
	return diff->programs.len;
}

const struct diff_program *diff_program(const struct diff *diff, size_t index)
{
	return &diff->programs.data[index];
}

size_t diff_n_sites(const struct diff *diff)
{
	return diff->sites.len;
}

const struct diff_site *diff_site(const struct diff *diff, size_t index)
{
	return &diff->sites.data[index];
}

size_t diff_n_members(const struct diff *diff)
{
	return diff->members.len;
}

const struct diff_member *diff_member(const struct diff *diff, size_t index)
{
	return &diff->members.data[index];
}
