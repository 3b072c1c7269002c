/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_json_jobs.h"

#include "report/diff/diff_json_stack.h"
#include "report/json/json_counts.h"

static const char *const side_names[DIFF_SIDES] = { "before", "after" };

static void add_change(struct json_out *out, struct json_object *to, const char *key,
		       uint64_t before, uint64_t after)
{
	json_out_add(out, to, key, json_object_new_int64((int64_t)(after - before)));
}

/* What is counted of an event on both sides, "ns" where it takes time. */
struct counted {
	bool there[DIFF_SIDES];
	uint64_t counts[DIFF_SIDES], ns[DIFF_SIDES];
	bool timed;
};

static struct json_object *side_json(struct json_out *out, uint64_t count, uint64_t ns, bool timed)
{
	struct json_object *json = json_out_new(out);

	if (json) {
		json_out_u64(out, json, "count", count);
		json_out_known(out, json, "ns", timed, ns);
	}
	return json;
}

static void add_sides(struct json_out *out, struct json_object *to, const struct counted *counted)
{
	struct json_object *change;

	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		if (counted->there[side])
			json_out_add(out, to, side_names[side],
				     side_json(out, counted->counts[side], counted->ns[side],
					       counted->timed));
		else
			json_out_null(out, to, side_names[side]);
	change = json_out_new(out);
	if (!change)
		return;
	add_change(out, change, "count", counted->counts[DIFF_BEFORE], counted->counts[DIFF_AFTER]);
	if (counted->timed)
		add_change(out, change, "ns", counted->ns[DIFF_BEFORE], counted->ns[DIFF_AFTER]);
	else
		json_out_null(out, change, "ns");
	json_out_add(out, to, "change", change);
}

static void put_stack(struct json_out *out, const struct diff_stack *stack, bool timed)
{
	struct counted counted = { .timed = timed };
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		counted.there[side] = stack->seen[side];
		counted.counts[side] = stack->counts[side];
		counted.ns[side] = timed ? stack->values[side] : 0;
	}
	json_out_string(out, json, "comm", stack->image->comm);
	add_sides(out, json, &counted);
	diff_json_stack(out, json, stack->stack, false);
	json_out_put(out, json);
}

/* What only one run counted has no stacks here: there is nothing to compare them with. */
static void put_event(struct json_out *out, const struct diff_event *event)
{
	const struct view_event *shown =
		event->sides[event->sides[DIFF_AFTER] ? DIFF_AFTER : DIFF_BEFORE];
	struct counted counted = { .timed = shown->asked->timed };
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct view_event *of = event->sides[side];

		counted.there[side] = of;
		counted.counts[side] = of ? of->count : 0;
		counted.ns[side] = of ? of->ns : 0;
	}
	json_out_string(out, json, "name", shown->asked->name);
	json_out_known(out, json, "period_ns", shown->asked->period_ns > 0,
		       shown->asked->period_ns);
	add_sides(out, json, &counted);
	fputc('{', out->file);
	json_out_put_members(out, json);
	fputs(",\"stacks\":[", out->file);
	for (size_t i = 0; out->error == 0 && i < event->n_stacks; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_stack(out, &event->stacks[i], shown->asked->timed);
	}
	fputs("]}", out->file);
}

static void put_group(struct json_out *out, const struct record_histogram *asked,
		      const struct diff_hist_group *group)
{
	const struct view_group *shown =
		group->sides[DIFF_AFTER] ? group->sides[DIFF_AFTER] : group->sides[DIFF_BEFORE];
	struct json_object *json = json_out_new(out);
	uint64_t counts[DIFF_SIDES] = { 0 };

	if (!json)
		return;
	json_out_string(out, json, "spec", asked->spec);
	json_out_string(out, json, "unit", asked->unit);
	json_out_string(out, json, "key", shown->counts->key);
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct view_group *of = group->sides[side];

		counts[side] = of ? of->count : 0;
		if (of)
			json_out_add(out, json, side_names[side], json_counts_group(out, of));
		else
			json_out_null(out, json, side_names[side]);
	}
	add_change(out, json, "change", counts[DIFF_BEFORE], counts[DIFF_AFTER]);
	json_out_put(out, json);
}

void diff_json_jobs(struct json_out *out, const struct diff *diff)
{
	const struct diff_jobs *jobs = diff_jobs(diff);
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
