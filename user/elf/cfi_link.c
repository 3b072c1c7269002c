/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_link.h"

#include "elf/cfi.h"
#include "elf/cfi_program.h"

#include <string.h>

struct search {
	uint64_t address;
	bool in_link; /* by the last state that begins at or below it */
};

static int look(void *ctx, uint64_t pc, const struct cfi_state *state)
{
	struct search *search = ctx;

	if (pc > search->address)
		return 1;
	search->in_link = state->ra.how == CFI_UNSPECIFIED || state->ra.how == CFI_SAME;
	return 0;
}

/* Of a function whose information is damaged nothing is known. */
static bool is_in_link(const struct cfi_section *section, const struct cfi_fde *fde,
		       uint64_t address)
{
	struct search search = { .address = address };
	struct cfi_state initial;
	struct cfi_cie cie;

	return cfi_read_cie(section, fde->cie, &cie) && cfi_run_cie(section, &cie, &initial) == 0 &&
	       cfi_run_fde(section, &cie, &initial, fde, look, &search) == 0 && search.in_link;
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
			    is_in_link(section, &fde, addresses[i]))
				ret_in_link[i] = true;
}

void cfi_find_links(const struct cfi_input *in, const uint64_t *addresses, size_t n,
		    bool *ret_in_link)
{
	const struct cfi_section eh_frame = { in->eh_frame.data, in->eh_frame.len,
					      in->eh_frame.addr, in->data_base, true };
	const struct cfi_section debug_frame = { .data = in->debug_frame.data,
						 .len = in->debug_frame.len };

	memset(ret_in_link, 0, n * sizeof(*ret_in_link));
	find(&eh_frame, addresses, n, ret_in_link);
	find(&debug_frame, addresses, n, ret_in_link);
}
