/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/process_values.h"

static void values_done(struct values *values)
{
	vec_done(&values->sites);
	vec_done(&values->errors);
	vec_done(&values->pairs);
}

void process_values_done(struct process_values *values)
{
	values_done(&values->latest);
	values_done(&values->next);
}

void process_values_totals(struct process_values *values, const struct record_totals *record,
			   const char *comm)
{
	values->next_totals = *record;
	values->next_totals.comm = comm;
	values->next_has_totals = true;
}

int process_values_site(struct process_values *values, const struct record_site *record)
{
	return vec_push(&values->next.sites, (struct model_site){ .values = *record });
}

int process_values_error(struct process_values *values, const struct record_heap_error *record)
{
	return vec_push(&values->next.errors, *record);
}

int process_values_free_pair(struct process_values *values, const struct record_free_pair *record)
{
	return vec_push(&values->next.pairs, *record);
}

static int site_compare(const void *item_a, const void *item_b)
{
	const struct record_site *a = &((const struct model_site *)item_a)->values;
	const struct record_site *b = &((const struct model_site *)item_b)->values;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->fn > b->fn) - (a->fn < b->fn);
}

/* Both are sorted; a site that is new began at 0. Unsigned: damaged input may wrap. */
static void set_growth(struct values *values, const struct values *before)
{
	size_t i = 0;

	vec_foreach(&values->sites, site) {
		uint64_t was = 0;

		while (i < before->sites.len && site_compare(&before->sites.data[i], site) < 0)
			i++;
		if (i < before->sites.len && site_compare(&before->sites.data[i], site) == 0)
			was = before->sites.data[i].values.live_bytes;
		site->growth_bytes = (int64_t)((uint64_t)site->values.live_bytes - was);
	}
}

void process_values_commit(struct process_values *values, struct model_process *image)
{
	struct values *next = &values->next;

	vec_sort(&next->sites, site_compare);
	set_growth(next, &values->latest);
	values_done(&values->latest);
	values->latest = *next;
	*next = (struct values){ 0 };
	image->sites = values->latest.sites.data;
	image->n_sites = values->latest.sites.len;
	image->errors = values->latest.errors.data;
	image->n_errors = values->latest.errors.len;
	image->free_pairs = values->latest.pairs.data;
	image->n_free_pairs = values->latest.pairs.len;
	if (values->next_has_totals) {
		image->has_totals = true;
		image->totals = values->next_totals;
		if (values->next_totals.comm)
			image->comm = values->next_totals.comm;
	}
}

void process_values_forget(struct process_values *values)
{
	values->next_has_totals = false;
	values_done(&values->next);
}

/* Nothing grows there any more. */
void process_values_rest(struct process_values *values)
{
	vec_foreach(&values->latest.sites, site)
		site->growth_bytes = 0;
}
