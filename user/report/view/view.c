/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view.h"

#include "base/vec.h"
#include "report/view/view_collect.h"
#include "report/view/view_coverage.h"
#include "report/view/view_estimate.h"
#include "report/view/view_frees.h"
#include "report/view/view_names.h"
#include "report/view/view_resolve.h"
#include "report/view/view_site.h"
#include "report/view/view_where.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct view {
	const struct model *model;
	struct report_opts opts;
	bool lost_nothing;
	bool all_attributed; /* every lost event is some process's */
	bool only_mappings;  /* nothing else passes --where */
	struct view_coverage coverage;
	VEC(struct view_process) processes;
	VEC(const struct model_ended *) ended;
	size_t n_processes_left_out; /* by --where */
	struct view_counts counts;
	struct view_syscalls syscalls;
	struct view_names *names;
	struct pieces pieces; /* of sites' stacks */
};

/* A process (not an image): its newest image, and where it stands among others. */
struct head {
	const struct model_process *image;
	bool root;
	uint64_t first_ns; /* start of its first image */
	size_t index;	   /* of its first image, in order of appearance */
};

static int compare_heads(const void *item_a, const void *item_b)
{
	const struct head *a = item_a, *b = item_b;

	if (a->root != b->root)
		return a->root ? -1 : 1;
	if (!a->root && a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static const struct model_process *replaced_by(const struct model *model,
					       const struct model_process *image)
{
	if (image_is_none(image->prev_id))
		return NULL;
	return model_find_process(model, image->prev_id);
}

static bool allocated_itself(const struct model_process *image)
{
	struct region_totals mmap = { 0 };

	if (image->regions)
		regions_totals(image->regions, &mmap);
	return mmap.allocs > 0 || image->n_errors > 0 || image->has_fault ||
	       (image->has_totals && (image->totals.allocs > 0 || image->totals.failed > 0));
}

/* Of the allocations or mappings, which are job 0. */
static bool shows_sites(const struct view *view, const struct model_process *image)
{
	return (!view->opts.only_job || view->opts.job == 0) &&
	       !(image->ended && view->opts.held_now);
}

static bool is_forked_copy(const struct model_process *image)
{
	return image_is_none(image->prev_id) && !image_is_none(image->parent_id);
}

/*
 * Of a program that another one has replaced: where samples alone tell, that none has come says
 * nothing of whether it allocated. Not of one that a change of depth has ended, whose program goes
 * on in the next image, nor of a copy that a fork made.
 */
static bool may_have_allocated(const struct model *model, const struct model_process *image,
			       const struct model_process *next)
{
	if (image->depth == RECORD_DEPTH_EXACT && !view_is_sampled(model))
		return false;
	return image->exe && next->exe && !is_forked_copy(image) &&
	       (image->depth == next->depth || strcmp(image->exe, next->exe) != 0);
}

static int add_process(struct view *view, struct symbols *symbols,
		       const struct model_process *image, bool is_past)
{
	const struct view_resolver resolver = { view->model, symbols };
	struct view_process process = { .image = image,
					.totals = image->totals,
					.is_past = is_past };
	int r = vec_reserve(&view->processes, view->processes.len + 1);

	if (r < 0)
		return r;
	process.exact = (view->lost_nothing || view->all_attributed) && image->totals.lost == 0 &&
			image->depth == RECORD_DEPTH_EXACT;
	view_clamp(&process.totals.live_bytes, &process.exact);
	view_clamp(&process.totals.live_blocks, &process.exact);
	view_clamp(&process.totals.peak_bytes, &process.exact);
	process.has_mmap = image->regions && shows_sites(view, image);
	if (process.has_mmap)
		regions_totals(image->regions, &process.mmap);
	process.exact &= process.mmap.left_out == 0;
	r = view_timeline_init(view->model, view->opts.usage, image, &process.timeline);
	if (r == 0 && shows_sites(view, image))
		r = view_collect(&resolver, &view->opts, &view->pieces, &process);
	if (r < 0) {
		view_timeline_done(&process.timeline);
		return r;
	}
	r = view_free_pairs_init(&resolver, &process);
	if (r == 0)
		r = view_leaks_init(&resolver, &view->opts, &process);
	if (r == 0)
		r = view_errors_init(&resolver, image, &process.errors);
	if (r == 0)
		r = view_fault_init(&resolver, image, &process.fault);
	view->processes.data[view->processes.len++] = process;
	return r;
}

/* A process's images, the newest first. */
static int add_images(struct view *view, struct symbols *symbols,
		      const struct model_process *newest)
{
	const struct model_process *image, *next = NULL;
	bool is_counted = false; /* at a later depth of the same program */
	int r = 0;

	/* What came while the cut was read is known already, but the report is of the cut. */
	while (newest && model_is_later(view->model, newest))
		newest = view->opts.alone ? NULL : replaced_by(view->model, newest);
	for (image = newest; r == 0 && image; image = replaced_by(view->model, image)) {
		is_counted &= image->ended && image->how == RECORD_END_DEPTH;
		if (next && view->opts.alone)
			break;
		if (!next || allocated_itself(image) ||
		    may_have_allocated(view->model, image, next))
			r = add_process(view, symbols, image, is_counted);
		is_counted |= image->has_totals;
		next = image;
	}
	return r;
}

static int add_processes(struct view *view, struct symbols *symbols)
{
	size_t n = model_n_processes(view->model), n_heads = 0;
	_cleanup_free_ struct head *heads = calloc(n + 1, sizeof(*heads));
	int r = 0;

	if (!heads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct model_process *newest = model_process(view->model, i);
		struct head *head = &heads[n_heads];

		/* An older image comes before its successors: its process is a head already. */
		if (!image_is_none(newest->prev_id))
			continue;
		*head = (struct head){ .first_ns = newest->start_ns, .index = i };
		head->root = newest->root;
		while (!image_is_none(newest->next_id)) {
			newest = model_find_process(view->model, newest->next_id);
			head->root |= newest->root;
		}
		if (view->opts.one_image && !image_is(newest->id, view->opts.image))
			continue;
		head->image = newest;
		n_heads++;
	}
	qsort(heads, n_heads, sizeof(*heads), compare_heads);
	for (size_t i = 0; r == 0 && i < n_heads; i++)
		r = add_images(view, symbols, heads[i].image);
	return r;
}

static bool run_has_allocations(const struct view *view)
{
	const struct record_run *run = model_run(view->model);

	return !run || !run->no_allocations;
}

/* Those of other jobs are not even looked up. */
static int add_counts(struct view *view, struct symbols *symbols)
{
	bool none = view->opts.only_job && view->opts.job == 0 && run_has_allocations(view);

	return none ? 0 : view_counts_init(view->model, symbols, &view->opts, &view->counts);
}

static bool has_only_mappings(const struct view *view)
{
	size_t n = 0;

	vec_foreach(&view->processes, process) {
		for (size_t i = 0; i < process->n_sites; i++)
			if (process->sites[i].class == VIEW_HEAP)
				return false;
		n += process->n_sites;
	}
	return n > 0;
}

static void process_done(struct view_process *process)
{
	view_collect_free(process->sites, process->n_sites);
	view_errors_done(&process->errors);
	view_fault_done(&process->fault);
	view_timeline_done(&process->timeline);
}

/* Takes out sites that do not match, then processes of which none does, if sites are shown. */
static void apply_where(struct view *view)
{
	size_t n = 0;

	vec_foreach(&view->processes, process) {
		view_where_apply(view->opts.where, process);
		if (process->n_sites > 0 || !shows_sites(view, process->image))
			view->processes.data[n++] = *process;
		else
			process_done(process);
	}
	view->n_processes_left_out = view->processes.len - n;
	view->processes.len = n;
	n = 0;
	vec_foreach(&view->ended, ended) {
		if (view_where_holds_ended(view->opts.where, *ended))
			view->ended.data[n++] = *ended;
		else
			view->n_processes_left_out += (*ended)->processes;
	}
	view->ended.len = n;
	view->only_mappings = has_only_mappings(view);
}

static struct view_named named_of(struct view *view)
{
	return (struct view_named){ view->processes.data, view->processes.len, &view->counts };
}

static int name_sites(struct view *view)
{
	const struct view_named named = named_of(view);

	return view_names_new(view->opts.wrappers, &named, &view->names);
}

int view_share_names(struct view *a, struct view *b)
{
	const struct view_named of_a = named_of(a), of_b = named_of(b);
	int r = view_names_learn(a->names, b->names, &of_a);

	return r < 0 ? r : view_names_learn(b->names, a->names, &of_b);
}

static int add_ended(struct view *view)
{
	const struct ended *ended = model_ended(view->model);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ended->list.len; i++)
		r = vec_push(&view->ended, &ended->list.data[i]);
	return r;
}

int view_new(const struct model *model, struct symbols *symbols, const struct report_opts *opts,
	     struct view **ret_view)
{
	_cleanup_(view_free_p) struct view *view = calloc(1, sizeof(*view));
	const struct record_coverage *coverage = model_coverage(model)->at_cut;
	uint64_t others = symbols_others(symbols);
	int r;

	if (!view)
		return -ENOMEM;
	view->model = model;
	view->opts = *opts;
	if (view->opts.width < REPORT_LEAST_WIDTH)
		view->opts.width = view->opts.width ? REPORT_LEAST_WIDTH : 80;
	/* Else all would be told as nothing temporary. */
	if (view->opts.sort == SORT_TEMPORARY && !view_knows_temporary(model))
		view->opts.sort = SORT_BYTES;
	if (coverage && !view_is_cut_off(model)) {
		view->lost_nothing = coverage->exact && model_regions_left_out(model) == 0;
		view->all_attributed = coverage->exact || view_losses_attributed(model);
	}
	r = add_processes(view, symbols);
	if (r == 0)
		r = add_ended(view);
	if (r == 0)
		r = add_counts(view, symbols);
	if (r == 0)
		r = view_syscalls_init(model, symbols, &view->syscalls);
	if (r == 0)
		r = symbols_settle(symbols);
	if (r == 0)
		r = name_sites(view);
	if (r == 0)
		r = view_coverage_init(model, symbols, symbols_others(symbols) - others,
				       &view->coverage);
	if (r < 0)
		return r;
	if (view_has_only_samples(view)) {
		view->coverage.coverage.exact = false;
		vec_foreach(&view->processes, process)
			process->exact = false;
	}
	if (opts->where)
		apply_where(view);
	*ret_view = TAKE_PTR(view);
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	vec_foreach(&view->processes, process)
		process_done(process);
	vec_done(&view->processes);
	pieces_done(&view->pieces);
	vec_done(&view->ended);
	view_coverage_done(&view->coverage);
	view_counts_done(&view->counts);
	view_syscalls_done(&view->syscalls);
	view_names_free(view->names);
	free(view);
}

const struct model *view_model(const struct view *view)
{
	return view->model;
}

const struct report_opts *view_opts(const struct view *view)
{
	return &view->opts;
}

const struct record_coverage *view_coverage(const struct view *view)
{
	return view->coverage.is_known ? &view->coverage.coverage : NULL;
}

uint64_t view_now_ns(const struct view *view)
{
	return model_now_ns(view->model);
}

uint64_t view_realtime_ns(const struct view *view)
{
	const struct record_run *run = model_run(view->model);
	uint64_t now_ns = view_now_ns(view);

	if (!run || now_ns < run->start_ns)
		return 0;
	return run->start_realtime_ns + (now_ns - run->start_ns) + model_slept_ns(view->model);
}

size_t view_n_processes(const struct view *view)
{
	return view->processes.len;
}

const struct view_process *view_before_depth(const struct view *view,
					     const struct view_process *process)
{
	const struct view_process *next = process + 1;

	if (next == view->processes.data + view->processes.len ||
	    view_same_program(view->model, next->image) !=
		    view_same_program(view->model, process->image))
		return NULL;
	return next;
}

void view_process_name(const struct model_process *image, struct strbuf *out)
{
	strbuf_adds(out, *image->comm ? image->comm : "unknown");
	if (image->known)
		strbuf_addf(out, " (pid %" PRIu32 ")", image->pid);
}

size_t view_n_ended(const struct view *view)
{
	return view->ended.len;
}

const struct model_ended *view_ended(const struct view *view, size_t index)
{
	return view->ended.data[index];
}

size_t view_n_processes_left_out(const struct view *view)
{
	return view->n_processes_left_out;
}

size_t view_n_programs(const struct view *view)
{
	const struct model_process *last = NULL;
	size_t n = 0;

	vec_foreach(&view->processes, process) {
		const struct model_process *program =
			view_same_program(view->model, process->image);

		n += program != last;
		last = program;
	}
	return n;
}

const struct view_process *view_process(const struct view *view, size_t index)
{
	return &view->processes.data[index];
}

bool view_has_allocations(const struct view *view)
{
	return run_has_allocations(view) && (!view->opts.only_job || view->opts.job == 0);
}

size_t view_n_histograms(const struct view *view)
{
	return view->counts.n_histograms;
}

const struct view_histogram *view_histogram(const struct view *view, size_t index)
{
	return &view->counts.histograms[index];
}

/* NULL: it is no event. */
static const struct view_event *only_event(const struct view *view)
{
	const struct view_event *event;

	return view_job(view, &event) ? event : NULL;
}

size_t view_n_events(const struct view *view)
{
	if (view->opts.only_job)
		return only_event(view) ? 1 : 0;
	return view->counts.n_events;
}

const struct view_event *view_event(const struct view *view, size_t index)
{
	return view->opts.only_job ? only_event(view) : &view->counts.events[index];
}

const struct view_syscalls *view_syscalls(const struct view *view)
{
	return &view->syscalls;
}

uint64_t view_looked_at_ns(const struct view *view, const struct view_process *process)
{
	const struct record_run *run = model_run(view->model);
	const struct model_process *image = process->image;
	uint64_t until_ns = image->ended ? image->end_ns : view_now_ns(view);

	return run && run->no_heap && until_ns > image->start_ns ? until_ns - image->start_ns : 0;
}

bool view_has_frees(const struct view *view)
{
	const struct record_run *run = model_run(view->model);

	return run && run->free_stacks;
}

bool view_job(const struct view *view, const struct view_event **ret_event)
{
	size_t job = view->opts.job;

	*ret_event = NULL;
	if (run_has_allocations(view)) {
		if (job == 0)
			return true;
		job--;
	}
	if (job >= view->counts.n_events)
		return false;
	*ret_event = &view->counts.events[job];
	return true;
}

enum view_class view_class_shown(const struct view *view)
{
	const struct record_run *run = model_run(view->model);

	bool mappings = view->opts.mappings || view->only_mappings || (run && run->no_heap);

	return mappings ? VIEW_MMAP : VIEW_HEAP;
}

bool view_lost_nothing(const struct view *view)
{
	return view->lost_nothing && model_depths(view->model)->changes.len == 0;
}

uint64_t view_age_resolution_ns(const struct view *view)
{
	const struct record_run *run = model_run(view->model);
	uint64_t resolution_ns = run ? run->age_resolution_ns : 0;

	for (size_t i = 0; i < view_n_processes(view) && resolution_ns; i++) {
		uint64_t own_ns = view_process(view, i)->image->totals.lifetime_resolution_ns;

		if (own_ns > resolution_ns)
			resolution_ns = own_ns;
	}
	return resolution_ns;
}

bool view_is_exact(const struct view *view)
{
	return view_lost_nothing(view) && !view_has_only_samples(view);
}

bool view_has_only_samples(const struct view *view)
{
	const struct record_run *run = model_run(view->model);
	size_t n = view_n_events(view);

	if ((run && run->no_heap) || view_has_allocations(view) || view_n_histograms(view) > 0 ||
	    view->syscalls.n_processes > 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!view_event_sampled(view_event(view, i)))
			return false;
	return n > 0;
}

const char *view_filters(const struct view *view)
{
	if (!view->opts.where)
		return "--older-than";
	return view->opts.older_than_ns ? "--older-than and --where" : "--where";
}
