/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A diff as one object on one line: the two runs, then each program with its totals and its sites.
 * What was not there before, or is not any more, is null; the change is there always.
 */
#include "base/vec.h"
#include "report/diff/diff.h"
#include "report/diff/diff_keys.h"
#include "report/json/json_out.h"
#include "report/json/json_parts.h"
#include "report/json/json_stacks.h"
#include "report/text/next_words.h"
#include "report/writers.h"

#include <errno.h>

static int add_frame(struct json_stacks *stacks, const struct view_frame *from, bool one_place,
		     uint32_t *ret_number)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	struct json_frame frame = {
		.file = from->file,
		.object = from->place->object,
		.is_inline = from->is_inline,
		.line = one_place ? from->line : 0,
	};

	if (from->function) {
		diff_function_name(from->function, &name);
		frame.function = strbuf_str(&name);
	}
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	return json_stacks_add_frame(stacks, &frame, ret_number);
}

/*
 * Adds "stack_id" and "name_frame": names as they are matched, without addresses; lines only of
 * `one_place`.
 */
static void add_stack(struct json_out *out, struct json_object *to, const struct view_stack *stack,
		      bool one_place)
{
	struct json_stacks *stacks = json_stacks_get(out);
	struct view_frames it = { .stack = stack };
	VEC(uint32_t) numbers = { 0 };
	struct view_frame frame;
	int64_t number = -1;
	int r = stacks ? 0 : -ENOMEM;

	while (r == 0 && view_frames_next(&it, &frame)) {
		uint32_t of_frame;

		r = add_frame(stacks, &frame, one_place, &of_frame);
		if (r == 0)
			r = vec_push(&numbers, of_frame);
	}
	if (r == 0)
		r = json_stacks_add_numbers(stacks, numbers.data, numbers.len, &number);
	if (r < 0)
		out->error = r;
	json_out_known(out, to, "stack_id", number >= 0, (uint64_t)number);
	json_add_name_frame(out, to, stack);
	vec_done(&numbers);
}

static void put_run(struct json_out *out, const char *key, const struct diff_run *run)
{
	const char *next = next_words(view_model(run->view));
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "file", run->path);
	json_out_bool(out, json, "exact", view_is_exact(run->view));
	json_out_bool(out, json, "damaged", run->damaged);
	json_add_notes(out, json, run->view, NULL);
	if (next)
		json_out_string(out, json, "hint", next);
	fprintf(out->file, "\"%s\":{", key);
	json_out_put_members(out, json);
	fputc(',', out->file);
	json_run(out, run->view);
	fputs("},", out->file);
}

enum column { BEFORE, AFTER, CHANGE, COLUMNS };

static const char *const column_names[COLUMNS] = { "before", "after", "change" };

/* A number of both runs; null where it is not known. */
struct number {
	const char *key;
	uint64_t sides[DIFF_SIDES];
	bool known[DIFF_SIDES];
};

static void add_change(struct json_out *out, struct json_object *to, const struct number *number,
		       const char *key)
{
	const uint64_t *sides = number->sides;

	if (number->known[DIFF_BEFORE] && number->known[DIFF_AFTER])
		json_out_add(
			out, to, key,
			json_object_new_int64((int64_t)(sides[DIFF_AFTER] - sides[DIFF_BEFORE])));
	else
		json_out_null(out, to, key);
}

/* Numbers of one column, with what they can be off where `estimate` is not NULL. */
static struct json_object *column_json(struct json_out *out, const struct number *numbers, size_t n,
				       enum column column, const struct view_estimate *estimate,
				       bool is_process)
{
	struct json_object *json = json_out_new(out);

	for (size_t i = 0; i < n; i++)
		if (column == CHANGE)
			add_change(out, json, &numbers[i], numbers[i].key);
		else
			json_out_known(out, json, numbers[i].key, numbers[i].known[column],
				       numbers[i].sides[column]);
	if (estimate)
		json_add_estimate(out, json, estimate, is_process);
	return json;
}

static void add_columns(struct json_out *out, struct json_object *to, const struct number *numbers,
			size_t n, const bool there[DIFF_SIDES],
			const struct view_estimate *estimates, bool is_process)
{
	for (enum column column = BEFORE; column < COLUMNS; column++)
		json_out_add_or_null(out, to, column_names[column],
				     column == CHANGE || there[column] ?
					     column_json(out, numbers, n, column,
							 estimates ? &estimates[column] : NULL,
							 is_process) :
					     NULL);
}

static void add_values(struct json_out *out, struct json_object *to,
		       const struct site_sums sides[DIFF_SIDES], const size_t there[DIFF_SIDES],
		       bool is_process)
{
	const struct site_sums *b = &sides[DIFF_BEFORE], *a = &sides[DIFF_AFTER];
	const struct view_estimate estimates[] = { b->estimate, a->estimate, diff_estimate(sides) };
#define OF(member)                                                                                 \
#member,                                                                                   \
	{                                                                                          \
		(uint64_t) b->member, (uint64_t)a->member                                          \
	}
	const struct number numbers[] = {
		{ OF(live_bytes), { true, true } },
		{ OF(live_blocks), { true, true } },
		{ OF(peak_bytes), { true, true } },
		{ OF(allocs), { true, true } },
		{ OF(bytes), { true, true } },
		/* Samples do not tell it. */
		{ OF(temporary), { !b->estimate.interval, !a->estimate.interval } },
	};
#undef OF

	add_columns(out, to, numbers, sizeof(numbers) / sizeof(numbers[0]),
		    (const bool[]){ there[DIFF_BEFORE], there[DIFF_AFTER] }, estimates, is_process);
}

static void put_site(struct json_out *out, const struct diff_site *site)
{
	bool one_place = site->places[DIFF_BEFORE] <= 1 && site->places[DIFF_AFTER] <= 1;
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "class", site->class == VIEW_MMAP ? "mmap" : "heap");
	json_out_u64(out, json, "places_before", site->places[DIFF_BEFORE]);
	json_out_u64(out, json, "places_after", site->places[DIFF_AFTER]);
	add_values(out, json, site->sides, site->places, false);
	json_out_bool(out, json, "truncated",
		      site->site->stack.truncated || site->site->stack.lost);
	add_stack(out, json, &site->site->stack, one_place);
	json_out_put(out, json);
}

static struct json_object *totals_json(struct json_out *out,
				       const struct site_sums sides[DIFF_SIDES],
				       const struct diff_program *program)
{
	struct json_object *json = json_out_new(out);

	add_values(out, json, sides, program->processes, true);
	return json;
}

/* Reservations of address space (PROT_NONE), part of what is mapped. */
static struct json_object *inaccessible_json(struct json_out *out,
					     const struct diff_program *program)
{
	struct json_object *json = json_out_new(out);
	struct number number = { 0 };

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		number.sides[side] = program->inaccessible[side];
		number.known[side] = diff_knows_inaccessible(program, side);
		json_out_known(out, json, column_names[side],
			       number.known[side] && program->processes[side] > 0,
			       number.sides[side]);
	}
	add_change(out, json, &number, column_names[CHANGE]);
	return json;
}

static void put_program(struct json_out *out, const struct diff *diff,
			const struct diff_program *program)
{
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "name", program->name);
	json_out_u64(out, json, "processes_before", program->processes[DIFF_BEFORE]);
	json_out_u64(out, json, "processes_after", program->processes[DIFF_AFTER]);
	json_out_bool(out, json, "exact", diff_exact(program));
	json_out_add(out, json, "heap", totals_json(out, program->heap, program));
	json_out_add(out, json, "mmap", totals_json(out, program->mmap, program));
	json_out_add(out, json, "inaccessible", inaccessible_json(out, program));
	json_out_u64(out, json, "sites_left_out", program->n_left_out);
	fputc('{', out->file);
	json_out_put_members(out, json);
	fputs(",\"sites\":[", out->file);
	for (size_t i = 0; i < program->n_sites; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_site(out, &diff->sites.data[program->first + i]);
	}
	fputs("]}", out->file);
}

/* What is counted of an event on both sides; "ns" where it takes time. */
static void add_counts(struct json_out *out, struct json_object *to, const bool there[DIFF_SIDES],
		       const uint64_t counts[DIFF_SIDES], const uint64_t ns[DIFF_SIDES], bool timed)
{
	const struct number numbers[] = {
		{ "count", { counts[DIFF_BEFORE], counts[DIFF_AFTER] }, { true, true } },
		{ "ns", { ns[DIFF_BEFORE], ns[DIFF_AFTER] }, { timed, timed } },
	};

	add_columns(out, to, numbers, 2, there, NULL, false);
}

static void put_event_stack(struct json_out *out, const struct diff_stack *stack, bool timed)
{
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "comm", stack->image->comm);
	add_counts(out, json, stack->seen, stack->counts, stack->values, timed);
	add_stack(out, json, stack->stack, false);
	json_out_put(out, json);
}

/* What only one run counted has no stacks here: there is nothing to compare them with. */
static void put_event(struct json_out *out, const struct diff_event *event)
{
	const struct view_event *shown =
		event->sides[event->sides[DIFF_AFTER] ? DIFF_AFTER : DIFF_BEFORE];
	struct json_object *json = json_out_new(out);
	uint64_t counts[DIFF_SIDES], ns[DIFF_SIDES];
	bool there[DIFF_SIDES];

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct view_event *of = event->sides[side];

		there[side] = of;
		counts[side] = of ? of->count : 0;
		ns[side] = of ? of->ns : 0;
	}
	json_out_string(out, json, "name", shown->asked->name);
	json_out_known(out, json, "period_ns", shown->asked->period_ns > 0,
		       shown->asked->period_ns);
	add_counts(out, json, there, counts, ns, shown->asked->timed);
	fputc('{', out->file);
	json_out_put_members(out, json);
	fputs(",\"stacks\":[", out->file);
	for (size_t i = 0; out->error == 0 && i < event->n_stacks; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_event_stack(out, &event->stacks[i], shown->asked->timed);
	}
	fputs("]}", out->file);
}

static void put_group(struct json_out *out, const struct record_histogram *asked,
		      const struct diff_hist_group *group)
{
	const struct view_group *shown =
		group->sides[DIFF_AFTER] ? group->sides[DIFF_AFTER] : group->sides[DIFF_BEFORE];
	struct json_object *json = json_out_new(out);
	struct number count = { .known = { true, true } };

	json_out_string(out, json, "spec", asked->spec);
	json_out_string(out, json, "unit", asked->unit);
	json_out_string(out, json, "key", shown->counts->key);
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct view_group *of = group->sides[side];

		count.sides[side] = of ? of->count : 0;
		json_out_add_or_null(out, json, column_names[side],
				     of ? json_counts_group(out, of) : NULL);
	}
	add_change(out, json, &count, column_names[CHANGE]);
	json_out_put(out, json);
}

/* The members "histograms" and "events". */
static void put_jobs(struct json_out *out, const struct diff *diff)
{
	const struct diff_jobs *jobs = &diff->jobs;
	bool first = true;

	fputs("\"histograms\":[", out->file);
	for (size_t i = 0; i < jobs->n_histograms; i++)
		for (size_t j = 0; j < jobs->histograms[i].n_groups; j++, first = false) {
			if (!first)
				fputc(',', out->file);
			put_group(out, jobs->histograms[i].sides[DIFF_AFTER]->asked,
				  &jobs->histograms[i].groups[j]);
		}
	fputs("],\"events\":[", out->file);
	for (size_t i = 0; i < jobs->n_events; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_event(out, &jobs->events[i]);
	}
	fputc(']', out->file);
}

int diff_json_write(const struct diff *diff, FILE *file)
{
	_cleanup_(json_stacks_done) struct json_out out = { .file = file };

	fputs("{\"version\":2,\"report\":\"diff\",", file);
	put_run(&out, "before", &diff->runs[DIFF_BEFORE]);
	put_run(&out, "after", &diff->runs[DIFF_AFTER]);
	fputs("\"programs\":[", file);
	for (size_t i = 0; out.error == 0 && i < diff->programs.len; i++) {
		if (i > 0)
			fputc(',', file);
		put_program(&out, diff, &diff->programs.data[i]);
	}
	fputs("],", file);
	put_jobs(&out, diff);
	fputc(',', file);
	json_stacks_put(&out);
	fputs("}\n", file);
	if (out.error < 0)
		return out.error;
	return ferror(file) ? -EIO : 0;
}
