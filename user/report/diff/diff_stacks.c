/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Diffs as stacks with two values: collapsed ("server;main;malloc 64 128", before and after, as
 * difffolded.pl writes them), and as a flame graph, whose widths are those of one run and whose
 * colours say what has changed. Below each program's name, since pids differ.
 */
#include "report/diff/diff.h"
#include "report/diff/diff_keys.h"
#include "report/flame/flamegraph.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>

/* A stack of the job that is shown: a site's or an event's. */
struct entry {
	const char *program;
	const struct model_process *image;
	const struct view_stack *stack;
	unsigned int shown_side;
	uint64_t values[DIFF_SIDES];
};

struct drawing {
	const struct diff *diff;
	struct entry entry; /* the one at hand */
	struct flame_stacks flame;
};

/* Where one run has mappings alone, these are all that both have. */
static enum view_class class_shown(const struct diff *diff)
{
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		if (view_class_shown(diff->runs[side].view) == VIEW_MMAP)
			return VIEW_MMAP;
	return diff->opts.mappings ? VIEW_MMAP : VIEW_HEAP;
}

static size_t n_entries(const struct diff *diff)
{
	const struct diff_event *event = diff_event_shown(diff);

	return event ? event->n_stacks : diff->sites.len;
}

static struct entry site_entry(const struct diff *diff, const struct diff_site *site)
{
	enum option_sort quantity = view_site_quantity(diff->opts.sort);
	struct entry entry = {
		.program = diff->programs.data[site->program].name,
		.image = site->process->image,
		.stack = &site->site->stack,
		.shown_side = site->shown_side,
	};

	/* A diff's sites have one class on both sides. */
	if (site->site->class != class_shown(diff))
		return entry;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		int64_t value = site_sums_value(&site->sides[side], quantity);

		entry.values[side] = value > 0 ? (uint64_t)value : 0;
	}
	return entry;
}

static struct entry entry_at(const struct diff *diff, size_t index)
{
	const struct diff_event *event = diff_event_shown(diff);
	const struct diff_stack *stack;

	if (!event)
		return site_entry(diff, &diff->sites.data[index]);
	stack = &event->stacks[index];
	return (struct entry){
		.program = *stack->image->comm ? stack->image->comm : "unknown",
		.image = stack->image,
		.stack = stack->stack,
		.shown_side = stack->shown_side,
		.values = { stack->values[DIFF_BEFORE], stack->values[DIFF_AFTER] },
	};
}

/* As names are matched; frames that are no part of that, as one run does not know them, are not. */
static int name_frame(const struct sample_frame *frame, void *userdata, struct strbuf *name)
{
	const struct drawing *drawing = userdata;
	const struct entry *entry = &drawing->entry;
	_cleanup_strbuf_ struct strbuf raw = { 0 };
	int r = frame->mark ? 1 :
			      diff_keys_shows(drawing->diff->keys, entry->shown_side, entry->image,
					      &frame->frame);

	sample_frame_name(frame, &raw);
	diff_function_name(strbuf_str(&raw), name);
	strbuf_pass_error(name, &raw);
	return r;
}

static int add_entries(struct drawing *drawing)
{
	int r = 0;

	drawing->flame.name_frame = name_frame;
	drawing->flame.userdata = drawing;
	for (size_t i = 0; r == 0 && i < n_entries(drawing->diff); i++) {
		drawing->entry = entry_at(drawing->diff, i);
		for (unsigned int side = 0; r == 0 && side < DIFF_SIDES; side++)
			r = flame_stacks_add(&drawing->flame, side, drawing->entry.values[side],
					     drawing->entry.program, drawing->entry.stack);
	}
	return r;
}

/* What only the run has whose widths are not drawn. */
static uint64_t unseen(const struct diff *diff)
{
	unsigned int drawn = diff->opts.widths == WIDTHS_BEFORE ? DIFF_BEFORE : DIFF_AFTER;
	uint64_t sum = 0;

	for (size_t i = 0; i < n_entries(diff); i++) {
		const struct entry entry = entry_at(diff, i);

		if (entry.values[drawn] == 0)
			sum += entry.values[!drawn];
	}
	return sum;
}

static void remark(const struct diff *diff, const char *unit, struct strbuf *out)
{
	bool by_before = diff->opts.widths == WIDTHS_BEFORE;
	enum coverage_state worst = COVERAGE_EXACT, state;
	uint64_t sum = unseen(diff);

	strbuf_addf(out, "as wide as %s; red: more than before, blue: less",
		    by_before ? "before" : "after");
	if (sum > 0) {
		strbuf_adds(out, "; ");
		text_grouped(out, sum);
		strbuf_addf(out, " %s of stacks that are only in the %s run are not drawn", unit,
			    by_before ? "later" : "earlier");
	}
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		state = coverage_state(diff->runs[side].view);
		if (state > worst)
			worst = state;
	}
	if (sample_peaks_differ(diff->runs[DIFF_BEFORE].view, diff->opts.sort) ||
	    sample_peaks_differ(diff->runs[DIFF_AFTER].view, diff->opts.sort))
		strbuf_adds(out, "; peaks are " SAMPLE_PEAKS_DIFFER);
	if (worst != COVERAGE_EXACT)
		strbuf_addf(out, "; %s", coverage_state_name(worst));
	if (diff->runs[DIFF_BEFORE].damaged || diff->runs[DIFF_AFTER].damaged)
		strbuf_adds(out, "; a recording is damaged");
}

static void add_title(const struct diff *diff, const struct view_event *event, struct strbuf *out)
{
	escape_text(out, sample_what(event, class_shown(diff), diff->opts.sort));
	if (diff->programs.len > 0 && !event) {
		strbuf_adds(out, " of ");
		escape_text(out, diff->programs.data[0].name);
	}
	if (diff->programs.len > 1 && !event)
		strbuf_addf(out, " and %zu more program%s", diff->programs.len - 1,
			    diff->programs.len == 2 ? "" : "s");
	strbuf_adds(out, ", before and after");
}

int diff_flamegraph_write(const struct diff *diff, FILE *file)
{
	const struct diff_event *shown = diff_event_shown(diff);
	const struct view_event *event = shown ? shown->sides[DIFF_AFTER] : NULL;
	_cleanup_strbuf_ struct strbuf title = { 0 }, below = { 0 };
	struct drawing drawing = { .diff = diff };
	struct flame flame = {
		.unit = sample_unit(event, diff->opts.sort),
		.is_diff = true,
		.by_before = diff->opts.widths == WIDTHS_BEFORE,
	};
	int r = 0;

	add_title(diff, event, &title);
	remark(diff, flame.unit, &below);
	flame.title = strbuf_str(&title);
	flame.remark = strbuf_str(&below);
	if (strbuf_error(&title) < 0 || strbuf_error(&below) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = add_entries(&drawing);
	if (r == 0)
		r = flamegraph_draw(&flame, &drawing.flame.paths, file);
	flame_stacks_done(&drawing.flame);
	return r;
}

/* The path to a node, and what is its own: its values without its children's. */
struct fold {
	FILE *file;
	struct strbuf text;
};

static int put_stack(const struct path_stack *stack, void *userdata)
{
	struct fold *fold = userdata;

	strbuf_reset(&fold->text);
	for (size_t i = 0; i < stack->n; i++) {
		if (i > 0)
			strbuf_addch(&fold->text, ';');
		text_folded(&fold->text, stack->names[i]);
	}
	if (strbuf_error(&fold->text) < 0)
		return strbuf_error(&fold->text);
	fprintf(fold->file, "%s %" PRIu64 " %" PRIu64 "\n", strbuf_str(&fold->text),
		stack->values[DIFF_BEFORE], stack->values[DIFF_AFTER]);
	return 0;
}

int diff_folded_write(const struct diff *diff, FILE *file)
{
	struct drawing drawing = { .diff = diff };
	struct fold fold = { .file = file };
	int r = add_entries(&drawing);

	if (r == 0)
		r = stack_paths_each(&drawing.flame.paths, put_stack, &fold);
	flame_stacks_done(&drawing.flame);
	strbuf_done(&fold.text);
	return r == 0 && ferror(file) ? -EIO : r;
}
