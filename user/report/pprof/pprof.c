/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for pprof, gzipped protobuf (FORMATS.md 2), written part by part. Of allocations it is
 * a heap profile as Go's: objects and bytes that were allocated and that are in use, and the same
 * of mappings as further types. Of an event it counts how often it happened, and of samples the
 * time that they stand for.
 */
#include "base/saturate.h"
#include "report/diff/diff.h"
#include "report/packed_out.h"
#include "report/pprof/drop_frames.h"
#include "report/pprof/pprof_tables.h"
#include "report/profile_part.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/next_words.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Of the heap, and as many of mappings. What is shown unless told otherwise is last. */
#define CLASS_TYPES 4
#define SITE_TYPES (2 * CLASS_TYPES)
#define ALLOC_SPACE 1

/* By these pprof knows the samples of -diff_base, whose sum it takes percentages of. */
#define BASE_KEY "pprof::base"
#define BASE_VALUE "true"

struct profile {
	const struct view *view;
	struct pprof_tables tables;
	struct drop_frames drop_frames;
	const struct profile_part *part; /* what alone is in it; NULL: all of the view */
	size_t n_samples;
	size_t n_types;	 /* of an event: values of each sample */
	bool is_base;	 /* values are subtracted */
	const char *of;	 /* which run comments are about: "before: "; NULL: there is one */
	int error;	 /* of comments; sticks */
	uint64_t period; /* of a clock's samples: the time that each stands for */
	uint64_t page_bytes;
};

static int64_t add_string(struct pprof_tables *tables, const char *s)
{
	return (int64_t)profile_tables_string(&tables->rows, s);
}

static Pprof__ValueType value_type(struct pprof_tables *tables, const char *type, const char *unit)
{
	Pprof__ValueType value = PPROF__VALUE_TYPE__INIT;

	value.type = add_string(tables, type);
	value.unit = add_string(tables, unit);
	return value;
}

/* Types of the samples' values, and what of `period_type` each sample stands for. */
struct value_types {
	struct profile_part_type list[SITE_TYPES], period_type;
	size_t n, shown; /* shown: unless told otherwise */
	uint64_t period;
	struct profile_part_time time;
};

static void put_types(struct profile *profile, const struct value_types *types)
{
	struct pprof_tables *tables = &profile->tables;
	Pprof__ValueType list[SITE_TYPES], *pointers[SITE_TYPES], period;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	for (size_t i = 0; i < types->n; i++) {
		list[i] = value_type(tables, types->list[i].type, types->list[i].unit);
		pointers[i] = &list[i];
	}
	period = value_type(tables, types->period_type.type, types->period_type.unit);
	part.n_sample_type = types->n;
	part.sample_type = pointers;
	part.default_sample_type = list[types->shown].type;
	part.period_type = &period;
	part.period = saturate_signed(types->period);
	part.time_nanos = saturate_signed(types->time.start_ns);
	part.duration_nanos = saturate_signed(types->time.length_ns);
	pprof_tables_put(tables, &part);
}

/* Elapsed time only for what counts since the start: Parca takes such profiles for differences. */
static struct profile_part_time time_of(const struct view *view, bool is_event)
{
	const struct record_run *run = model_run(view_model(view));
	uint64_t now_ns = view_now_ns(view);

	if (!run || now_ns < run->start_ns)
		return (struct profile_part_time){ 0 };
	return (struct profile_part_time){ view_realtime_ns(view),
					   is_event ? now_ns - run->start_ns : 0 };
}

/*
 * One sample in so many bytes: of the process that samples most finely, where they differ. Without
 * samples every allocation counts.
 */
static uint64_t smallest_interval(const struct view *view)
{
	uint64_t smallest = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		uint64_t interval = view_process(view, i)->totals.sample_interval;

		if (interval && (!smallest || interval < smallest))
			smallest = interval;
	}
	return smallest ? smallest : 1;
}

/* Where a class's types stand among all. */
static size_t class_at(const struct profile *profile, enum view_class class)
{
	return class == view_class_shown(profile->view) ? CLASS_TYPES : 0;
}

/* A class's types are in Go's order; readers show the last of all unless told otherwise. */
static void put_heap_types(struct profile *profile)
{
	static const struct profile_part_type names[][CLASS_TYPES] = {
		[VIEW_HEAP] = { { "alloc_objects", "count" },
				{ "alloc_space", "bytes" },
				{ "inuse_objects", "count" },
				{ "inuse_space", "bytes" } },
		[VIEW_MMAP] = { { "mmap_calls", "count" },
				{ "mmap_space", "bytes" },
				{ "mapped_regions", "count" },
				{ "mapped_space", "bytes" } },
	};
	enum view_class shown = view_class_shown(profile->view);
	struct value_types types = {
		.period_type = { "space", "bytes" },
		.n = SITE_TYPES,
		.shown = view_opts(profile->view)->allocated_first ? CLASS_TYPES + ALLOC_SPACE :
								     SITE_TYPES - 1,
		.period = smallest_interval(profile->view),
		.time = time_of(profile->view, false),
	};

	memcpy(types.list, names[shown == VIEW_HEAP ? VIEW_MMAP : VIEW_HEAP], sizeof(names[0]));
	memcpy(types.list + CLASS_TYPES, names[shown], sizeof(names[0]));
	put_types(profile, &types);
}

/*
 * As Go's: samples with the time that they stand for, or waits ("block") with what they took;
 * samples with as many events as they stand for, and of page faults the bytes, as pushed profiles
 * have them (profile_part.c).
 */
static void put_sample_types(struct profile *profile, const struct view_event *event)
{
	bool timed = event->asked->timed, weighs = view_event_weighs(event);
	const struct profile_part_type value = { weighs ? event->asked->name :
						 timed	? "delay" :
							  "cpu",
						 weighs ? "count" : "nanoseconds" };
	struct value_types types = {
		.list = { { timed ? "contentions" : "samples", "count" },
			  value,
			  { "growth", "bytes" } },
		.period_type = value,
		.n = event->asked->page_bytes ? 3 : 2,
		.period = timed			  ? 1 :
			  event->asked->period_ns ? event->asked->period_ns :
						    event->interval,
		.time = time_of(profile->view, true),
	};

	types.shown = types.n - 1;
	profile->n_types = types.n;
	profile->page_bytes = event->asked->page_bytes;
	profile->period = event->asked->period_ns;
	put_types(profile, &types);
}

static void put_event_type(struct profile *profile, const struct view_event *event)
{
	const struct profile_part_type type = { *event->asked->name ? event->asked->name : "events",
						"count" };

	profile->n_types = 1;
	put_types(profile, &(struct value_types){ .list = { type },
						  .period_type = type,
						  .n = 1,
						  .period = 1,
						  .time = time_of(profile->view, true) });
}

static void put_part_types(struct profile *profile)
{
	const struct profile_part_type *names = profile_part_types(profile->part->kind);
	const struct view_event *event = NULL;
	struct value_types types = {
		.period_type = { "space", "bytes" },
		.n = profile_part_n_types(profile->part->kind),
		.shown = 1,
		.period = profile_part_period(profile->view, profile->part),
		.time = profile_part_time(profile->view, profile->part),
	};

	(void)view_job(profile->view, &event); /* NULL: allocations */
	memcpy(types.list, names, types.n * sizeof(*names));
	if (event)
		types.period_type = names[1];
	put_types(profile, &types);
}

static void put_comment(struct profile *profile, const char *text)
{
	_cleanup_strbuf_ struct strbuf whole = { 0 };
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t index;

	strbuf_addf(&whole, "%s%s", profile->of ? profile->of : "", text);
	index = add_string(&profile->tables, strbuf_str(&whole));
	part.n_comment = 1;
	part.comment = &index;
	pprof_tables_put(&profile->tables, &part);
	if (strbuf_error(&whole) < 0)
		profile->error = strbuf_error(&whole);
}

/* Who wrote it, and what is missing. */
static int put_comments(struct profile *profile)
{
	static const char *const totals[] = {
		[COVERAGE_EXACT] = "totals are exact",
		[COVERAGE_ESTIMATES] = "totals are estimates, no sample was lost",
		[COVERAGE_LOST] = "not exact",
		[COVERAGE_UNKNOWN] = "not exact",
	};
	const struct view *view = profile->view;
	const struct record_run *run = model_run(view_model(view));
	const struct record_coverage *coverage = view_coverage(view);
	const char *next = next_words(view_model(view));
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (run)
		put_comment(profile, run->tool);
	put_comment(profile, next ? next : totals[coverage_state(view)]);
	if (view_opts(view)->budget) {
		coverage_budget_words(view_opts(view)->budget, &text);
		put_comment(profile, strbuf_str(&text));
	}
	for (size_t i = 0; coverage && i < coverage->n_losses; i++) {
		if (coverage->losses[i].count == 0)
			continue;
		strbuf_reset(&text);
		strbuf_addf(&text, "lost: %s %" PRIu64, coverage->losses[i].cause,
			    coverage->losses[i].count);
		put_comment(profile, strbuf_str(&text));
	}
	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		if (process->n_left_out == 0)
			continue;
		strbuf_reset(&text);
		strbuf_addf(&text, "pid %" PRIu32 ": %zu sites left out by %s, %" PRId64 " bytes",
			    process->image->pid, process->n_left_out, view_filters(view),
			    process->left_out_bytes);
		put_comment(profile, strbuf_str(&text));
	}
	return strbuf_error(&text) < 0 ? strbuf_error(&text) : profile->error;
}

struct labels {
	Pprof__Label list[5], *pointers[5];
	size_t n;
};

static Pprof__Label *add_label(struct profile *profile, struct labels *labels, const char *key)
{
	Pprof__Label *label = &labels->list[labels->n];

	pprof__label__init(label);
	label->key = add_string(&profile->tables, key);
	labels->pointers[labels->n++] = label;
	return label;
}

/* A number that is 0 has no encoding and reads as a string: it is left out. */
static void add_labels(struct profile *profile, const struct sample *sample, struct labels *labels)
{
	const struct model_process *image = sample->image;
	const struct view_site *site = sample->site;
	Pprof__Label *label;

	if (image->known && !profile->part)
		add_label(profile, labels, "pid")->num = image->pid;
	if (*image->comm && !profile->part)
		add_label(profile, labels, "process")->str =
			add_string(&profile->tables, image->comm);
	/* The mean, as in Go's profiles. */
	if (site && site->allocs > 0 && site->bytes >= site->allocs && !profile->part) {
		label = add_label(profile, labels, "bytes");
		label->num = saturate_signed(site->bytes / site->allocs);
		label->num_unit = add_string(&profile->tables, "bytes");
	}
	if (site && site->class == VIEW_MMAP)
		add_label(profile, labels, "class")->str = add_string(&profile->tables, "mmap");
	if (profile->is_base)
		add_label(profile, labels, BASE_KEY)->str =
			add_string(&profile->tables, BASE_VALUE);
}

/* How many values; 0: there is nothing to say. */
static size_t fill_values(const struct profile *profile, const struct sample *sample,
			  int64_t values[SITE_TYPES])
{
	const struct view_site *site = sample->site;

	if (!site) {
		values[0] = saturate_signed(sample->count);
		values[1] = saturate_signed(profile->period ? sample->count * profile->period :
							      sample->value);
		if (values[0] == 0)
			return 0;
		values[2] = saturate_signed(values[1] * profile->page_bytes);
		return profile->n_types;
	}
	memset(values, 0, SITE_TYPES * sizeof(*values));
	values += class_at(profile, site->class);
	values[0] = saturate_signed(site->allocs);
	values[1] = saturate_signed(site->bytes);
	values[2] = site->live_blocks;
	values[3] = site->live_bytes;
	return values[0] || values[1] || values[2] || values[3] ? SITE_TYPES : 0;
}

static int put_sample(const struct sample *from, void *userdata)
{
	struct profile *profile = userdata;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *pointer = &sample;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t values[SITE_TYPES];
	struct labels labels = { .n = 0 };
	int r;

	if (!profile->part)
		sample.n_value = fill_values(profile, from, values);
	else if (profile_part_values(profile->view, profile->part, from, values))
		sample.n_value = profile_part_n_types(profile->part->kind);
	sample.value = values;
	if (sample.n_value == 0)
		return 0;
	for (size_t i = 0; profile->is_base && i < sample.n_value; i++)
		values[i] = -values[i];
	/* Readers leave out what has no location. */
	r = profile_tables_stack(&profile->tables.rows, from->stack, "[unknown]",
				 &sample.location_id, &sample.n_location_id);
	if (r < 0)
		return r;
	profile->n_samples++;
	add_labels(profile, from, &labels);
	sample.n_label = labels.n;
	sample.label = labels.pointers;
	part.n_sample = 1;
	part.sample = &pointer;
	pprof_tables_put(&profile->tables, &part);
	return drop_frames_mark(&profile->drop_frames, from->stack);
}

static int add_dropped_frame(const struct sample *sample, void *userdata)
{
	struct profile *profile = userdata;

	return drop_frames_drop(&profile->drop_frames, sample->stack);
}

/* When all samples are written: the profile shows sites by the functions that we name them by. */
static void put_drop_frames(struct profile *profile)
{
	const char *pattern = drop_frames_pattern(&profile->drop_frames);
	Pprof__Profile part = PPROF__PROFILE__INIT;

	if (!pattern)
		return;
	part.drop_frames = add_string(&profile->tables, pattern);
	pprof_tables_put(&profile->tables, &part);
}

static const struct mapping *main_mapping(const struct view *view)
{
	if (view_n_processes(view) == 0)
		return NULL;
	return model_exe_mapping(view_model(view), view_process(view, 0)->image->id);
}

/* The first mapping is that of the main program; NULL: it is not known. */
static void add_main(struct profile *profile, const struct mapping *mapping)
{
	if (mapping)
		(void)profile_tables_add_mapping(&profile->tables.rows, mapping);
}

static int put_profile(struct profile *profile, const void *of)
{
	const struct view_event *event = of;
	int r;

	add_main(profile, main_mapping(profile->view));
	if (event && (view_event_sampled(event) || event->asked->timed || event->asked->page_bytes))
		put_sample_types(profile, event);
	else if (event)
		put_event_type(profile, event);
	else
		put_heap_types(profile);
	r = put_comments(profile);
	if (r == 0)
		r = samples_of_classes(profile->view, put_sample, profile);
	if (r == 0)
		r = samples_of_classes(profile->view, add_dropped_frame, profile);
	put_drop_frames(profile);
	return r < 0 ? r : pprof_tables_end(&profile->tables);
}

static int put_part(struct profile *profile, const void *of)
{
	const struct profile_part *part = of;
	int r;

	add_main(profile, model_exe_mapping(view_model(profile->view), part->process->image->id));
	put_part_types(profile);
	r = put_comments(profile);
	if (r == 0)
		r = profile_part_each(profile->view, part, put_sample, profile);
	if (r == 0)
		r = profile_part_each(profile->view, part, add_dropped_frame, profile);
	put_drop_frames(profile);
	return r < 0 ? r : pprof_tables_end(&profile->tables);
}

/* Writes a profile whose contents `put` gives. */
static int write_profile(struct profile *profile, FILE *file,
			 int (*put)(struct profile *profile, const void *of), const void *of)
{
	_cleanup_(gzip_out_free_p) struct gzip_out *out = NULL;
	int r = gzip_out_new(file, &out);

	if (r < 0)
		return r;
	pprof_tables_begin(&profile->tables, out);
	r = put(profile, of);
	pprof_tables_done(&profile->tables);
	drop_frames_done(&profile->drop_frames);
	if (r < 0)
		return r;
	gzip_out_end(out);
	return ferror(file) ? -EIO : 0;
}

int pprof_write(const struct view *view, FILE *file)
{
	struct profile profile = { .view = view };
	const struct view_event *event;

	return view_job(view, &event) ? write_profile(&profile, file, put_profile, event) : 0;
}

int pprof_write_part(const struct view *view, const struct profile_part *part, FILE *file)
{
	struct profile profile = { .view = view, .part = part };
	int r = write_profile(&profile, file, put_part, part);

	return r < 0 ? r : profile.n_samples > 0;
}

static int each_member(struct profile *profile, const struct diff *diff, sample_fn fn)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < diff->members.len; i++) {
		const struct diff_member *member = &diff->members.data[i];
		const struct sample sample = {
			.image = member->process->image,
			.stack = &member->site->stack,
			.site = member->site,
		};

		profile->is_base = member->side == DIFF_BEFORE;
		r = fn(&sample, profile);
	}
	return r;
}

/* As `pprof -proto -diff_base` writes it: the earlier run's samples are negative. */
static int put_diff(struct profile *profile, const void *of)
{
	const struct diff *diff = of;
	int r;

	add_main(profile, main_mapping(profile->view));
	put_heap_types(profile);
	put_comment(profile, "difference of two runs");
	profile->of = "before: ";
	profile->view = diff->runs[DIFF_BEFORE].view;
	r = put_comments(profile);
	profile->of = "after: ";
	profile->view = diff->runs[DIFF_AFTER].view;
	if (r == 0)
		r = put_comments(profile);
	if (r == 0)
		r = each_member(profile, diff, put_sample);
	if (r == 0)
		r = each_member(profile, diff, add_dropped_frame);
	put_drop_frames(profile);
	return r < 0 ? r : pprof_tables_end(&profile->tables);
}

int diff_pprof_write(const struct diff *diff, FILE *file)
{
	struct profile profile = { .view = diff->runs[DIFF_AFTER].view };

	return write_profile(&profile, file, put_diff, diff);
}
