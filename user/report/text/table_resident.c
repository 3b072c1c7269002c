/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/saturate.h"
#include "config/units.h"
#include "report/text/table.h"

#include <inttypes.h>
#include <string.h>

#define PARTS 7
/* Smaller parts are left out of the line of the summary. */
#define LEAST_PERCENT 2

struct part {
	uint64_t bytes;
	const char *word, *what;
};

static void head_line(struct table *t, const struct record_resident *v)
{
	const struct record_run *run = model_run(view_model(t->view));
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char text[FORMAT_UNIT_LEN];

	strbuf_adds(&line, "  memory");
	if (run && v->time_ns >= run->start_ns)
		strbuf_addf(&line, " at %s", format_duration(v->time_ns - run->start_ns, text));
	strbuf_addf(&line, ": %s resident", format_size(saturate_signed(v->rss), text));
	strbuf_addf(&line, " (PSS %s)", format_size(saturate_signed(v->pss), text));
	strbuf_addf(&line, ", %s of page tables beside it",
		    format_size(saturate_signed(v->page_tables), text));
	if (v->swap)
		strbuf_addf(&line, ", %s swapped out", format_size(saturate_signed(v->swap), text));
	table_wrap(t, 8, &line);
}

static void part_line(struct table *t, const struct record_resident *v, const struct part *part,
		      bool exact)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char size[TABLE_NUMBER_LEN], share[TABLE_NUMBER_LEN];

	/* Both are ASCII: columns are bytes. */
	snprintf(share, sizeof(share), "%s%.1f%%", exact ? "" : "~",
		 v->rss ? 100.0 * (double)part->bytes / (double)v->rss : 0.0);
	strbuf_addf(&line, "      %11s %7s  %s",
		    table_size(saturate_signed(part->bytes), exact, size), share, part->what);
	table_wrap(t, view_opts(t->view)->width < 60 ? 8 : 27, &line);
}

static void moved_line(struct table *t, const struct record_resident *v)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(&line, "      %s came or went while it was read",
		    format_size(saturate_signed(v->moved), size));
	table_wrap(t, 8, &line);
}

static void parts_of(const struct record_resident *v, struct part parts[PARTS])
{
	uint64_t unknown = v->unknown > v->unknown_heap ? v->unknown - v->unknown_heap : 0;
	const struct part made[PARTS] = {
		{ v->heap_live, "heap", "heap, live blocks" },
		{ v->all_blocks ? v->heap_free : 0, "free heap",
		  "heap, in no block: free, headers, rounding" },
		{ v->unknown_heap, "unknown heap",
		  "heap, not known: blocks from before the attach, and free" },
		{ v->mmap, "mmap", "mmap regions" },
		{ v->file, "files", "files and their data" },
		{ v->stack, "stacks", "stacks" },
		{ unknown, "unknown", "unknown" },
	};

	memcpy(parts, made, sizeof(made));
}

void table_resident(struct table *t, const struct view_process *process)
{
	const struct record_resident *v = &process->image->resident;
	bool exact = view_resident_exact(process);
	struct part parts[PARTS];

	if (!process->image->has_resident)
		return;
	head_line(t, v);
	parts_of(v, parts);
	for (size_t i = 0; i < PARTS; i++)
		if (parts[i].bytes || i == PARTS - 1)
			part_line(t, v, &parts[i], exact);
	if (v->moved)
		moved_line(t, v);
}

void table_resident_words(const struct record_resident *v, bool exact, struct strbuf *line)
{
	const char *before = ":", *mark = exact ? "" : "~";
	char rss[FORMAT_UNIT_LEN];
	struct part parts[PARTS];

	strbuf_addf(line, "RSS %s", format_size(saturate_signed(v->rss), rss));
	parts_of(v, parts);
	for (size_t i = 0; i < PARTS; i++) {
		double percent = v->rss ? 100.0 * (double)parts[i].bytes / (double)v->rss : 0;

		if (percent < LEAST_PERCENT)
			continue;
		strbuf_addf(line, "%s %s %s%.0f%%", before, parts[i].word, mark, percent);
		before = ",";
	}
}
