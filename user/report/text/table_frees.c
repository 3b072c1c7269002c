/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/text/table.h"

#include <inttypes.h>

/* Places of a site that are shown. */
#define PLACES 3

static void add_lifetimes(struct strbuf *line, const struct view_free *place)
{
	uint64_t mean = view_frees_mean_ns(place->total_ns, place->count, place->unknown);
	size_t median = view_free_median(place);
	char text[FORMAT_UNIT_LEN];

	if (mean == VIEW_UNKNOWN)
		return;
	strbuf_addf(line, ", after %s on average", format_duration(mean, text));
	if (median + 1 < RECORD_LIFETIMES)
		strbuf_addf(line, ", half of them within %s",
			    format_duration(view_lifetime_from_ns(median + 1), text));
}

static void place_part(struct table *t, const struct view_frees *frees,
		       const struct view_free *place, bool exact)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	uint64_t known = place->count - place->unknown;
	char number[TABLE_NUMBER_LEN], size[TABLE_NUMBER_LEN];

	strbuf_addf(&line, "    freed: %s of %" PRIu64 " block%s, %s",
		    table_count(place->count, exact, number), frees->count,
		    table_plural(frees->count), table_size((int64_t)place->bytes, exact, size));
	add_lifetimes(&line, place);
	if (place->count > place->unknown)
		strbuf_addf(&line, "; %.1f%% by another thread",
			    100.0 * (double)place->others / (double)known);
	if (place->unknown > 0)
		strbuf_addf(&line, "; of %" PRIu64 " it is not known when they were allocated",
			    place->unknown);
	table_wrap(t, 8, strbuf_str(&line));
	table_stack(t, &place->stack);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

void table_frees(struct table *t, const struct view_process *process, const struct view_site *site)
{
	const struct view_frees *frees = &site->frees;
	uint64_t rest = 0;

	for (size_t i = 0; i < frees->n; i++) {
		if (i < PLACES)
			place_part(t, frees, &frees->list[i], process->exact);
		else
			rest += frees->list[i].count;
	}
	if (frees->n > PLACES)
		strbuf_addf(&t->out, "    … %zu more place%s, %" PRIu64 " block%s\n",
			    frees->n - PLACES, table_plural(frees->n - PLACES), rest,
			    table_plural(rest));
}
