/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_link.h"

#include "elf/cfi.h"
#include "elf/cfi_program.h"

#include <string.h>

struct search {
	uint64_t address;
	enum cfi_how how; /* by the last state that begins at or below it */
};

static int look(void *ctx, uint64_t pc, const struct cfi_state *state)
{
	struct search *search = ctx;

	if (pc > search->address)
		return 1;
	search->how = state->ra.how;
	return 0;
}

/* Of a function whose information is damaged nothing is known. */
static enum cfi_how place_at(const struct cfi_section *section, const struct cfi_fde *fde,
			     uint64_t address)
{
	struct search search = { .address = address };
	struct cfi_state initial;
	struct cfi_cie cie;

	if (!cfi_read_cie(section, fde->cie, &cie) || cfi_run_cie(section, &cie, &initial) ||
	    cfi_run_fde(section, &cie, &initial, fde, look, &search))
		return CFI_OFFSET;
	return search.how;
}

static bool is_in_link(enum cfi_how how)
{
	return how == CFI_UNSPECIFIED || how == CFI_SAME;
}

static void find(const struct cfi_section *section, const uint64_t *addresses, size_t n,
		 bool *ret_in_link)
{
	enum cfi_entry kind;
	struct cfi_fde fde;
	size_t offset = 0;

	while ((kind = cfi_next_entry(section, &offset, &fde)) != CFI_ENTRY_END)
		for (size_t i = 0; i < n && kind == CFI_ENTRY_FDE; i++)
			if (addresses[i] >= fde.start && addresses[i] < fde.end &&
			    is_in_link(place_at(section, &fde, addresses[i])))
				ret_in_link[i] = true;
}

static struct cfi_section eh_frame_of(const struct cfi_input *in)
{
	return (struct cfi_section){ in->eh_frame.data, in->eh_frame.len, in->eh_frame.addr,
				     in->data_base, true };
}

void cfi_find_links(const struct cfi_input *in, const uint64_t *addresses, size_t n,
		    bool *ret_in_link)
{
	const struct cfi_section eh_frame = eh_frame_of(in);
	const struct cfi_section debug_frame = { .data = in->debug_frame.data,
						 .len = in->debug_frame.len };

	memset(ret_in_link, 0, n * sizeof(*ret_in_link));
	find(&eh_frame, addresses, n, ret_in_link);
	find(&debug_frame, addresses, n, ret_in_link);
}

size_t cfi_find_starts(const struct cfi_input *in, struct cfi_range *ret_starts, size_t max)
{
	const struct cfi_section section = eh_frame_of(in);
	enum cfi_entry kind;
	struct cfi_fde fde;
	size_t offset = 0, n = 0;

	while (n < max && (kind = cfi_next_entry(&section, &offset, &fde)) != CFI_ENTRY_END)
		if (kind == CFI_ENTRY_FDE && place_at(&section, &fde, fde.start) == CFI_UNDEFINED)
			ret_starts[n++] = (struct cfi_range){ fde.start, fde.end };
	return n;
}
