/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/object_facts.h"

#include "elf/elf_file.h"
#include "probe/loader_stop.h"
#include "probe/sample_plan.h"

#include <errno.h>
#include <string.h>

void object_facts_done(struct object_facts *facts)
{
	plan_free(facts->plan);
	plan_free(facts->samples);
	vec_done(&facts->checkpoints.list);
	elf_needs_done(&facts->needs);
	*facts = (struct object_facts){ 0 };
}

static int read_all(struct elf_file *elf, const struct object_wants *wants,
		    struct object_facts *facts)
{
	const uint8_t *id;
	size_t len;
	int r = 0;

	/* Once for all that is asked of it: symbols are read, which takes node's 45 ms. */
	if (wants->allocators)
		r = plan_new(elf, wants->path, wants->emulation, wants->custom, &facts->plan);
	if (r == 0 && wants->samples)
		r = sample_plan_new(elf, wants->is_stand_in, &facts->samples);
	if (r == 0 && wants->checkpoints)
		r = checkpoints_find(elf, wants->checkpoint_names, &facts->checkpoints);
	if (r < 0)
		return r;
	stack_start_read(elf, &facts->start);
	len = elf_file_build_id(elf, &id);
	if (len > 0 && len <= sizeof(facts->build_id)) {
		memcpy(facts->build_id, id, len);
		facts->build_id_len = (uint8_t)len;
	}
	if (wants->unwinding)
		cfi_facts_read(elf, &facts->unwind);
	facts->is_elf = true;
	r = elf_needs_read(elf, &facts->needs);
	/* What nobody loads libraries for has few symbols to look through. */
	if (r == 0 && wants->loader && facts->needs.names.len == 0)
		facts->loader_stop = loader_stop_find(elf);
	return r;
}

int object_facts_read(int fd, const struct object_wants *wants, struct object_facts *ret_facts)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	struct object_facts facts = { 0 };
	int r = elf_file_new(fd, &elf);

	if (r == -EOPNOTSUPP)
		facts.is_32bit = elf_file_is_32bit(fd);
	if (r == 0)
		r = read_all(elf, wants, &facts);
	/* Not ELF, another machine's, damaged: the loader would not run it, nothing to probe. */
	if (r < 0) {
		const bool is_32bit = facts.is_32bit;

		object_facts_done(&facts);
		facts.is_32bit = is_32bit;
	}
	if (r != -ENOMEM)
		*ret_facts = facts;
	return r == -ENOMEM ? r : 0;
}
