/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of a section -> pieces (disjoint, by address) -> gaps filled by .debug_frame, then by
 * what code without information is known to be, or does -> each piece's program is run -> rows.
 */
#include "elf/cfi.h"

#include "elf/cfi_builder.h"
#include "elf/cfi_code.h"
#include "elf/cfi_entry.h"
#include "elf/cfi_ghc.h"
#include "elf/cfi_go.h"
#include "elf/cfi_known.h"
#include "elf/cfi_pieces.h"
#include "elf/cfi_program.h"
#include "elf/cfi_rule.h"

#include <string.h>

/* What the kernel pushes for a handler: its return address, then a struct ucontext. */
#define UCONTEXT_SIGCONTEXT 40
#define WORD_BYTES 8

struct compiler {
	const struct cfi_input *in;
	struct cfi_section sections[CFI_SECTIONS];
	VEC(struct cfi_fde) fdes[CFI_SECTIONS];
	struct cfi_builder builder;
	/* What the last piece's CIE said, which is mostly the next one's, too. */
	struct {
		const struct cfi_section *section;
		size_t offset;
		struct cfi_cie cie;
		struct cfi_state initial;
	} last;
	struct cfi_piece piece; /* whose program is run */
	bool with_rbx;		/* rules say where it is */
	bool wants_rbx;		/* there are some that go by it */
};

static void compiler_done(struct compiler *c)
{
	for (int i = 0; i < CFI_SECTIONS; i++)
		vec_done(&c->fdes[i]);
	cfi_builder_done(&c->builder);
}

/* All entries of a section for code that is there, as settled pieces. */
static int read_section(struct compiler *c, enum cfi_source source, struct cfi_pieces *pieces)
{
	const struct cfi_section *section = &c->sections[source];
	const struct cfi_bytes *text = NULL;
	enum cfi_entry kind;
	struct cfi_fde fde;
	size_t offset = 0;
	int r = 0;

	while (r == 0 && (kind = cfi_next_entry(section, &offset, &fde)) != CFI_ENTRY_END) {
		if (kind == CFI_ENTRY_DAMAGED)
			c->builder.lost[CFI_DAMAGED_ENTRIES]++;
		if (kind != CFI_ENTRY_FDE)
			continue;
		if (!text || fde.start < text->addr || fde.start - text->addr >= text->len)
			text = cfi_text_of(c->in, fde.start);
		if (!text) /* of code that the linker dropped */
			continue;
		if (fde.end > text->addr + text->len)
			fde.end = text->addr + text->len;
		r = vec_push(&c->fdes[source], fde);
		if (r == 0)
			r = vec_push(pieces, (struct cfi_piece){
						     .start = (uint32_t)(fde.start - c->in->base),
						     .end = (uint32_t)(fde.end - c->in->base),
						     .fde = (uint32_t)(c->fdes[source].len - 1),
						     .source = source });
	}
	if (r == 0)
		cfi_pieces_settle(pieces);
	return r;
}

static int collect(struct compiler *c, struct cfi_pieces *pieces)
{
	_cleanup_(cfi_pieces_done) struct cfi_pieces debug = { 0 };
	int r = read_section(c, CFI_FROM_EH_FRAME, pieces);

	if (r == 0)
		r = read_section(c, CFI_FROM_DEBUG_FRAME, &debug);
	if (r < 0)
		return r;
	cfi_mark_known(c->in, &debug);
	r = cfi_pieces_fill(pieces, &debug);
	if (r == 0)
		r = cfi_add_go(c->in, pieces);
	if (r == 0)
		r = cfi_add_known(c->in, pieces);
	if (r == 0)
		r = cfi_add_ghc(c->in, pieces);
	return r < 0 ? r : cfi_add_code(c->in, pieces);
}

static int emit_row(void *ctx, uint64_t pc, const struct cfi_state *state)
{
	struct compiler *c = ctx;
	uint64_t start = c->in->base + c->piece.start;
	struct abi_unwind_rule rule;

	if (pc >= c->in->base + c->piece.end)
		return 0;
	if (pc < start)
		pc = start;
	rule = cfi_rule(&c->last.cie, state, c->with_rbx, c->builder.lost);
	c->wants_rbx |= rule.kind == ABI_UNWIND_RBX;
	return cfi_builder_add(&c->builder, (uint32_t)(pc - c->in->base), rule);
}

/* Makes the CIE of that offset the last one. 0 or -EBADMSG. */
static int use_cie(struct compiler *c, const struct cfi_section *section, size_t offset)
{
	if (c->last.section == section && c->last.offset == offset)
		return 0;
	c->last.section = NULL;
	if (!cfi_read_cie(section, offset, &c->last.cie) ||
	    cfi_run_cie(section, &c->last.cie, &c->last.initial) < 0)
		return -EBADMSG;
	c->last.section = section;
	c->last.offset = offset;
	return 0;
}

static int compile_fde(struct compiler *c)
{
	static const struct abi_unwind_rule unsupported = { .kind = ABI_UNWIND_UNSUPPORTED };
	const struct cfi_section *section = &c->sections[c->piece.source];
	const struct cfi_fde *fde = &c->fdes[c->piece.source].data[c->piece.fde];
	size_t n = c->builder.rows.len;
	int r = use_cie(c, section, fde->cie);

	if (r == 0)
		r = cfi_run_fde(section, &c->last.cie, &c->last.initial, fde, emit_row, c);
	if (r != -EBADMSG)
		return r;
	/* How far what was understood reaches is not known. */
	c->builder.lost[CFI_DAMAGED_ENTRIES]++;
	c->builder.rows.len = n;
	return cfi_builder_add(&c->builder, c->piece.start, unsupported);
}

static int compile_piece(struct compiler *c)
{
	struct abi_unwind_rule rule = { .kind = ABI_UNWIND_END };

	switch (c->piece.source) {
	case CFI_IS_SIGNAL_RETURN:
		rule.kind = ABI_UNWIND_SIGNAL;
		rule.offset = UCONTEXT_SIGCONTEXT;
		break;
	case CFI_IS_CLONE:
		rule.kind = ABI_UNWIND_CLONED;
		rule.offset = WORD_BYTES;
		break;
	case CFI_IS_STUB:
		rule.kind = ABI_UNWIND_SP;
		rule.offset = WORD_BYTES;
		break;
	case CFI_FROM_CODE:
		rule = c->piece.rule;
		break;
	case CFI_IS_STACK_START:
		break;
	default:
		return compile_fde(c);
	}
	return cfi_builder_add(&c->builder, c->piece.start, rule);
}

static int compile(struct compiler *c)
{
	static const struct abi_unwind_rule none = { .kind = ABI_UNWIND_NONE };
	_cleanup_(cfi_pieces_done) struct cfi_pieces pieces = { 0 };
	uint32_t covered = 0;
	int r = collect(c, &pieces);

	for (size_t i = 0; r == 0 && i < pieces.len; i++) {
		c->piece = pieces.data[i];
		if (c->piece.start > covered)
			r = cfi_builder_add(&c->builder, covered, none);
		if (r == 0)
			r = compile_piece(c);
		covered = c->piece.end;
	}
	return r < 0 ? r : cfi_builder_add(&c->builder, covered, none);
}

static bool is_in_reach(const struct cfi_input *in)
{
	for (size_t i = 0; i < in->n_text; i++) {
		const struct cfi_bytes *text = &in->text[i];

		if (text->addr < in->base || text->len > UINT32_MAX ||
		    text->addr - in->base > UINT32_MAX - text->len ||
		    text->addr > UINT64_MAX - text->len)
			return false;
	}
	return true;
}

/* *ret_wants_rbx: there are rules that go by it, and it is not said where it is. */
static int compile_input(const struct cfi_input *in, bool with_rbx, bool *ret_wants_rbx,
			 struct cfi_rows **ret_rows)
{
	const struct cfi_bytes *bytes[CFI_SECTIONS] = { &in->eh_frame, &in->debug_frame };
	_cleanup_(compiler_done) struct compiler c = { .in = in, .with_rbx = with_rbx };
	int r;

	for (int i = 0; i < CFI_SECTIONS; i++)
		c.sections[i] = (struct cfi_section){ .data = bytes[i]->data,
						      .len = bytes[i]->len,
						      .addr = bytes[i]->addr,
						      .data_base = in->data_base,
						      .is_eh = i == CFI_FROM_EH_FRAME };
	r = cfi_builder_init(&c.builder);
	if (r == 0)
		r = compile(&c);
	*ret_wants_rbx = c.wants_rbx && !with_rbx;
	return r < 0 || *ret_wants_rbx ? r : cfi_builder_finish(&c.builder, false, ret_rows);
}

int cfi_compile(const struct cfi_input *in, struct cfi_rows **ret_rows)
{
	bool wants_rbx = false;
	int r;

	if (!is_in_reach(in))
		return -E2BIG;
	r = compile_input(in, false, &wants_rbx, ret_rows);
	return r == 0 && wants_rbx ? compile_input(in, true, &wants_rbx, ret_rows) : r;
}
