/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_facts.h"

#include <string.h>

bool elf_same_build_id(const struct elf_build_id *a, const struct elf_build_id *b)
{
	return a->len > 0 && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool elf_stamp_matches(const struct elf_stamp *then, const struct elf_stamp *now)
{
	if (then->build_id.len > 0)
		return elf_same_build_id(&then->build_id, &now->build_id);
	return now->build_id.len == 0 && then->size_bytes == now->size_bytes &&
	       then->modified_s == now->modified_s && then->modified_ns == now->modified_ns;
}

bool elf_loads_vaddr(const struct elf_load *loads, size_t n, uint64_t file_offset,
		     uint64_t *ret_vaddr)
{
	const struct elf_load *found = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct elf_load *load = &loads[i];

		if (file_offset < load->file_offset ||
		    file_offset - load->file_offset >= load->file_bytes)
			continue;
		if (!found || (load->executable && !found->executable))
			found = load;
	}
	if (!found)
		return false;
	*ret_vaddr = found->vaddr + (file_offset - found->file_offset);
	return true;
}

void elf_facts_done(struct elf_facts *facts)
{
	free(facts->link);
	free(facts->alt);
	vec_done(&facts->loads);
	facts->link = NULL;
	facts->alt = NULL;
}
