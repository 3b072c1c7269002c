/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/next_words.h"

#include <string.h>

const char *next_words_event(const struct record_event *event)
{
	if (event && event->page_bytes && event->period > 1)
		return "no page fault was sampled: --page-faults=1 counts each";
	if (event && event->page_bytes)
		return "no page fault was seen, so no new memory was touched: --existing counts "
		       "what a running process holds";
	if (event && event->period_ns)
		return "no sample was taken, so no CPU time was used: --off-cpu shows what is "
		       "waited for";
	if (event && event->timed)
		return "no wait was seen: --cpu shows what runs";
	return "it did not happen in what was traced: trace longer, or the whole host (-a)";
}

static bool saw_nothing(const struct model *model)
{
	const struct record_coverage *coverage = model_coverage(model)->at_cut;

	if (!coverage || coverage->events > 0 || record_counted_nothing(coverage))
		return false;
	for (size_t i = 0; i < model_n_processes(model); i++)
		if (model_process(model, i)->regions ||
		    model_process(model, i)->totals.before_blocks)
			return false;
	return true;
}

/* Was --existing given? What it did not find is no reason to give it. */
static bool read_existing(const struct model *model)
{
	const struct record_coverage *coverage = model_coverage(model)->at_cut;

	for (size_t i = 0; i < coverage->n_losses; i++)
		if (coverage->losses[i].count > 0 &&
		    strcmp(coverage->losses[i].cause, RECORD_CAUSE_BEFORE_UNREAD) == 0)
			return true;
	for (size_t i = 0; i < model_n_processes(model); i++)
		if (model_process(model, i)->totals.has_before)
			return true;
	return false;
}

const char *next_words(const struct model *model)
{
	const struct record_run *run = model_run(model);
	const struct event_counts *events = model_events(model);

	if (!run || !saw_nothing(model))
		return NULL;
	if (!run->no_allocations && run->sampled)
		return "no sample was seen: a smaller --sample=SIZE gives more, without --sample "
		       "each call is counted";
	if (!run->no_allocations && run->no_heap)
		return "no mapping was made: --alloc counts calls of the allocator";
	if (!run->no_allocations && read_existing(model))
		return "no call of an allocator was seen: --page-faults=10 shows where its memory "
		       "grows";
	if (!run->no_allocations)
		return "no call of an allocator was seen: --existing counts what a running process "
		       "holds, --page-faults=10 shows where its memory grows";
	return next_words_event(events->list.len ? &events->list.data[0]->asked : NULL);
}
