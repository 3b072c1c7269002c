/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/growth_words.h"

#include "config/units.h"
#include "report/view/view_stack.h"

#include <inttypes.h>

static void add_bytes(uint64_t n_faults, uint64_t page_size, struct strbuf *out)
{
	uint64_t most = INT64_MAX / page_size;
	char size[FORMAT_UNIT_LEN];

	strbuf_addf(out, "~%s",
		    format_size((int64_t)((n_faults < most ? n_faults : most) * page_size), size));
}

void growth_words(const struct view_event *faults, uint64_t seen_ns, uint64_t page_size,
		  struct strbuf *out)
{
	uint32_t period = faults->asked->period ? faults->asked->period : 1;
	char seen[FORMAT_UNIT_LEN];

	if (faults->count == 0) {
		strbuf_addf(out,
			    "none of its page faults was sampled in %s, of which one in %" PRIu32
			    " is",
			    format_duration(seen_ns, seen), period);
		return;
	}
	strbuf_addf(out, "%" PRIu64 " of its page faults %s sampled, one in %" PRIu32 ", in %s: ",
		    faults->count, faults->count == 1 ? "was" : "were", period,
		    format_duration(seen_ns, seen));
	add_bytes(view_event_total(faults), page_size, out);
	strbuf_adds(out, " if all were of small pages");
}

bool growth_words_place(const struct view_event *faults, uint64_t page_size, struct strbuf *out)
{
	const struct view_event_stack *most = faults->n_stacks ? &faults->stacks[0] : NULL;
	struct view_frame frame;

	if (!most || !view_stack_name(&most->stack, &frame))
		return false;
	view_frame_words(&frame, out);
	strbuf_adds(out, ", ");
	add_bytes(view_event_value(faults, most), page_size, out);
	return true;
}

bool growth_words_mapped(const struct view_process *process, struct strbuf *out)
{
	const struct region_totals *mmap = &process->mmap;
	char size[FORMAT_UNIT_LEN];

	if (!process->has_mmap || mmap->live_bytes <= 0)
		return false;
	strbuf_addf(out,
		    "%s%s of address space was mapped in that time and not unmapped (%" PRId64
		    " region%s%s)",
		    process->exact ? "" : "about ", format_size(mmap->live_bytes, size),
		    mmap->live_blocks, mmap->live_blocks == 1 ? "" : "s",
		    mmap->left_out ? ", and there were more than are kept" : "");
	return true;
}

bool growth_words_site(const struct view_process *process, enum view_class class,
		       struct strbuf *out)
{
	const struct view_site *most = NULL;
	struct view_frame frame;
	char size[FORMAT_UNIT_LEN];

	for (size_t i = 0; i < process->n_sites; i++)
		if (process->sites[i].class == class &&
		    (!most || process->sites[i].live_bytes > most->live_bytes))
			most = &process->sites[i];
	if (!most || most->live_bytes <= 0 || !view_stack_name(&most->stack, &frame) ||
	    frame.place->alloc)
		return false;
	view_frame_words(&frame, out);
	strbuf_addf(out, ", %s%s", process->exact ? "" : "about ",
		    format_size(most->live_bytes, size));
	return true;
}
