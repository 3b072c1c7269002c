/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/library_walk.h"

#include "bpf/abi_book.h"
#include "sample/walk.h"
#include "sample/walk_rules.h"

#include <string.h>

static struct walker walker;
static library_rules rules_of;

struct abi_unwind_rule __wrap_walk_rule(uint64_t address);

struct abi_unwind_rule __wrap_walk_rule(uint64_t address)
{
	struct abi_unwind_rule rule;

	return rules_of(address, &rule) ? rule : (struct abi_unwind_rule){ .kind = WALK_NO_OBJECT };
}

void library_walk_begin(library_rules rules)
{
	rules_of = rules;
	memset(&walker, 0, sizeof(walker));
}

static void add(struct library_stack *ret, const struct walk_frame *frame)
{
	uint32_t at = ret->frames++;

	ret->frame[at] = frame->pc;
	if (frame->flags & ABI_BOOK_EXACT)
		ret->exact[at / 64] |= 1ULL << at % 64;
	ret->any_guided |= (frame->flags & ABI_BOOK_GUIDED) != 0;
}

void library_walk(const struct library_registers *from, struct library_stack *ret)
{
	const struct walk_registers regs = {
		.pc = from->pc, .sp = from->sp, .bp = from->bp, .bx = from->bx
	};

	const struct walk_frame *frame;

	memset(ret, 0, sizeof(*ret));
	walk(&walker, &regs);
	for (uint32_t i = 0; (frame = walk_frame_at(&walker, i)); i++)
		add(ret, frame);
	ret->shared = walker.joined;
	ret->cut = walker.cut;
	walk_keep(&walker);
}
