/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff.h"

#include "base/interns.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "report/view/site_groups.h"
#include "report/view/view_collect.h"
#include "report/view/view_estimate.h"
#include "report/view/view_where.h"

#include <errno.h>
#include <string.h>

struct matched {
	size_t site;
	struct diff_member member;
};

/* A diff that is being made. */
struct matching {
	struct diff *diff;
	struct interns program_keys, site_keys;
	VEC(struct matched) matched; /* all, until the filter was applied */
	struct strbuf text;
};

int64_t diff_change(const struct site_sums sides[DIFF_SIDES], enum option_sort sort)
{
	return saturate_subtract(site_sums_value(&sides[DIFF_AFTER], sort),
				 site_sums_value(&sides[DIFF_BEFORE], sort));
}

struct view_estimate diff_estimate(const struct site_sums sides[DIFF_SIDES])
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

static struct site_sums heap_values(const struct record_totals *totals)
{
	return (struct site_sums){
		.live_bytes = totals->live_bytes,
		.live_blocks = totals->live_blocks,
		.peak_bytes = totals->peak_bytes,
		.allocs = totals->allocs,
		.bytes = totals->bytes,
		.temporary = totals->temporary,
		.estimate = view_estimate_totals(totals),
	};
}

static struct site_sums mmap_values(const struct region_totals *totals)
{
	return (struct site_sums){
		.live_bytes = totals->live_bytes,
		.live_blocks = totals->live_blocks,
		.peak_bytes = totals->peak_bytes,
		.allocs = totals->allocs,
		.bytes = totals->bytes,
	};
}

bool diff_knows_inaccessible(const struct diff_program *program, unsigned int side)
{
	return program->n_looked_at[side] == program->processes[side];
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

/* The number of a program by its key, which is in m->text. 0 or -ENOMEM. */
static int find_program(struct matching *m, const char *comm, size_t *ret_index)
{
	int r = strbuf_error(&m->text);

	if (r == 0)
		r = interns_add_string(&m->program_keys, strbuf_str(&m->text), ret_index);
	return r == 1 ? new_program(m->diff, comm) : r;
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

static int add_site(struct matching *m, const struct diff_member *member)
{
	const struct view_site *site = member->site;
	struct site_sums values = site_sums_of(site);
	struct diff_site *to;
	size_t index;
	int r;

	strbuf_reset(&m->text);
	strbuf_addf(&m->text, "%zu\n%s\n", member->program,
		    site->class == VIEW_MMAP ? "mmap" : "heap");
	r = diff_keys_stack(m->diff->keys, member->side, member->process->image, &site->stack,
			    &m->text);
	if (r == 0)
		r = interns_add_string(&m->site_keys, strbuf_str(&m->text), &index);
	if (r == 1)
		r = vec_push(&m->diff->sites,
			     (struct diff_site){ .class = site->class,
						 .site = site,
						 .process = member->process,
						 .shown_side = member->side,
						 .program = member->program,
						 .key = interns_get(&m->site_keys, index) });
	if (r < 0)
		return r;
	to = &m->diff->sites.data[index];
	to->places[member->side]++;
	site_sums_add(&to->sides[member->side], &values);
	return vec_push(&m->matched, (struct matched){ index, *member });
}

static int add_process(struct matching *m, unsigned int side, const struct view_process *process)
{
	struct site_sums heap = heap_values(&process->totals), mmap = mmap_values(&process->mmap);
	struct diff_member member = { .side = side, .process = process };
	struct diff_program *program;
	int r;

	strbuf_reset(&m->text);
	diff_keys_program(m->diff->keys, side, process->image, &m->text);
	r = find_program(m, process->image->comm, &member.program);
	if (r < 0)
		return r;
	program = &m->diff->programs.data[member.program];
	if (side == DIFF_BEFORE)
		r = rename_program(program, process->image->comm);
	program->processes[side]++;
	program->exact[side] &= process->exact;
	if (process->image->has_totals)
		site_sums_add(&program->heap[side], &heap);
	if (process->has_mmap)
		site_sums_add(&program->mmap[side], &mmap);
	if (process->image->has_mapped) {
		program->n_looked_at[side]++;
		program->inaccessible[side] = saturate_add_u64(
			program->inaccessible[side], process->image->resident.inaccessible);
	}
	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		member.site = &process->sites[i];
		r = add_site(m, &member);
	}
	return r;
}

/* Of processes that ended long ago only sums are left. */
static int add_ended(struct matching *m, unsigned int side)
{
	const struct view *view = m->diff->runs[side].view;
	const struct model *model = view_model(view);
	int r = 0;

	for (size_t i = 0; r == 0 && i < model_ended(model)->list.len; i++) {
		const struct model_ended *ended = &model_ended(model)->list.data[i];
		const struct model_process image = {
			.comm = ended->comm ? ended->comm : "",
			.exe = ended->exe,
		};
		struct site_sums heap = heap_values(&ended->totals);
		struct diff_program *program;
		size_t index;

		strbuf_reset(&m->text);
		diff_keys_program(m->diff->keys, side, &image, &m->text);
		r = find_program(m, image.comm, &index);
		if (r < 0)
			return r;
		program = &m->diff->programs.data[index];
		program->processes[side] =
			saturate_add_u64(program->processes[side], ended->processes);
		program->exact[side] &= view_is_exact(view) && ended->totals.lost == 0;
		view_clamp(&heap.live_bytes, &program->exact[side]);
		view_clamp(&heap.live_blocks, &program->exact[side]);
		site_sums_add(&program->heap[side], &heap);
	}
	return r;
}

static int add_run(struct matching *m, unsigned int side)
{
	const struct view *view = m->diff->runs[side].view;
	int r = 0;

	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++)
		r = add_process(m, side, view_process(view, i));
	return r < 0 ? r : add_ended(m, side);
}

/* Where one run has no sample of a site, it may have missed some all the same. */
static void estimate_missing(struct diff *diff)
{
	vec_foreach(&diff->sites, site) {
		const struct site_sums *heap = diff->programs.data[site->program].heap;

		for (unsigned int side = 0; side < DIFF_SIDES; side++) {
			const struct site_sums *other = &site->sides[DIFF_SIDES - 1 - side];

			if (site->class == VIEW_HEAP && site->places[side] == 0)
				site->sides[side].estimate = view_estimate_of_none(
					heap[side].estimate.interval, other->allocs, other->bytes);
		}
	}
}

/* A site stays when any of its places passes, before or after; its numbers are those of all. */
static int filter(struct matching *m)
{
	size_t n = m->diff->sites.len;
	_cleanup_free_ bool *keep = calloc(n + 1, sizeof(*keep));
	int r = 0;

	if (!keep)
		return -ENOMEM;
	vec_foreach(&m->matched, it)
		if (!m->diff->opts.where ||
		    view_where_holds(m->diff->opts.where, it->member.process, it->member.site))
			keep[it->site] = true;
	vec_foreach(&m->matched, it)
		if (r == 0 && keep[it->site])
			r = vec_push(&m->diff->members, it->member);
	m->diff->sites.len = 0;
	for (size_t i = 0; i < n; i++) {
		const struct diff_site *site = &m->diff->sites.data[i];
		struct diff_program *program = &m->diff->programs.data[site->program];

		if (keep[i]) {
			m->diff->sites.data[m->diff->sites.len++] = *site;
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

/* What has changed more comes first, by that quantity, then by live bytes, blocks, peak, allocs. */
static int compare_changes(const struct site_sums a[DIFF_SIDES],
			   const struct site_sums b[DIFF_SIDES], enum option_sort sort)
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
	order = compare_changes(a->sides, b->sides, *(const enum option_sort *)userdata);
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

/* The later run first: what it has is shown. */
static int match_runs(struct matching *m)
{
	int r = add_run(m, DIFF_AFTER);

	if (r == 0)
		r = add_run(m, DIFF_BEFORE);
	estimate_missing(m->diff);
	if (r == 0)
		r = filter(m);
	if (r == 0)
		sort_sites(m->diff);
	return r;
}

static void matching_done(struct matching *m)
{
	interns_done(&m->program_keys);
	interns_done(&m->site_keys);
	vec_done(&m->matched);
	strbuf_done(&m->text);
}

int diff_new(const struct diff_run runs[DIFF_SIDES], const struct report_opts *opts,
	     struct diff **ret_diff)
{
	_cleanup_(diff_free_p) struct diff *diff = calloc(1, sizeof(*diff));
	const struct view *const views[] = { runs[DIFF_BEFORE].view, runs[DIFF_AFTER].view };
	struct matching m = { .diff = diff };
	int r;

	if (!diff)
		return -ENOMEM;
	memcpy(diff->runs, runs, sizeof(diff->runs));
	diff->opts = *opts;
	/* What one of them does not know has not changed. */
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		if (diff->opts.sort == SORT_TEMPORARY &&
		    !view_knows_temporary(view_model(views[side])))
			diff->opts.sort = SORT_BYTES;
	r = diff_keys_new(views, &diff->keys);
	if (r == 0 && diff_has_allocations(diff))
		r = match_runs(&m);
	matching_done(&m);
	if (r == 0)
		r = diff_jobs_init(views, diff->keys, &diff->jobs);
	if (r == 0)
		*ret_diff = TAKE_PTR(diff);
	return r;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	vec_foreach(&diff->programs, program)
		free(program->name);
	vec_done(&diff->programs);
	vec_done(&diff->sites);
	vec_done(&diff->members);
	diff_jobs_done(&diff->jobs);
	diff_keys_free(diff->keys);
	free(diff);
}

bool diff_has_allocations(const struct diff *diff)
{
	return view_has_allocations(diff->runs[DIFF_BEFORE].view) &&
	       view_has_allocations(diff->runs[DIFF_AFTER].view);
}

bool diff_is_empty(const struct diff *diff)
{
	for (size_t i = 0; i < diff->jobs.n_histograms; i++)
		if (diff_histogram_in_both(&diff->jobs.histograms[i]))
			return false;
	return diff_n_jobs(diff) == 0;
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

/* What a build adds to a name makes no other group. */
static int name_group(struct strbuf *name, const struct diff *diff,
		      const struct diff_member *member)
{
	_cleanup_strbuf_ struct strbuf raw = { 0 };
	enum group_by by = diff->opts.group_by;

	strbuf_reset(name);
	site_group_name(&raw, member->process, member->site, &diff->opts);
	if (by == GROUP_BY_PROCESS)
		strbuf_adds(name, diff->programs.data[member->program].name);
	else if (by == GROUP_BY_FUNCTION)
		diff_function_name(strbuf_str(&raw), name);
	else if (by == GROUP_BY_OBJECT)
		diff_object_name(strbuf_str(&raw), name);
	else
		strbuf_adds(name, strbuf_str(&raw));
	return strbuf_error(&raw) < 0 ? strbuf_error(&raw) : strbuf_error(name);
}

static int add_member(struct site_groups *groups, struct strbuf *name, const struct diff *diff,
		      const struct diff_member *member)
{
	const struct site_sums sums = site_sums_of(member->site);
	struct site_group *group;
	int r = name_group(name, diff, member);

	if (r == 0)
		r = site_groups_get(groups, name, &group);
	if (r < 0)
		return r;
	site_sums_add(&group->sides[member->side], &sums);
	group->exact &= member->process->exact;
	return 0;
}

static int compare_groups(const void *item_a, const void *item_b, void *userdata)
{
	const struct site_group *a = item_a, *b = item_b;
	enum option_sort sort = *(const enum option_sort *)userdata;
	int order = compare_changes(a->sides, b->sides, sort);

	return order ? order : strcmp(a->name, b->name);
}

/* As of sites, where one run has no sample of any. */
static void estimate_missing_of(struct site_group *group)
{
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct site_sums *other = &group->sides[DIFF_SIDES - 1 - side];

		if (group->sides[side].estimate.interval == 0 && group->sides[side].allocs == 0)
			group->sides[side].estimate = view_estimate_of_none(
				other->estimate.interval, other->allocs, other->bytes);
	}
}

int diff_groups_make(const struct diff *diff, struct site_groups *ret_groups)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	enum option_sort sort = diff->opts.sort;
	int r = 0;

	*ret_groups = (struct site_groups){ 0 };
	for (size_t i = 0; r == 0 && i < diff->members.len; i++)
		r = add_member(ret_groups, &name, diff, &diff->members.data[i]);
	vec_foreach(&ret_groups->list, group)
		estimate_missing_of(group);
	if (ret_groups->list.len > 0)
		qsort_r(ret_groups->list.data, ret_groups->list.len, sizeof(struct site_group),
			compare_groups, &sort);
	return r;
}
