/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of a section -> pieces (disjoint, by address) -> gaps filled by .debug_frame, then by
 * what code without information is known to be -> each piece's program is run -> rows.
 */
#include "elf/cfi.h"

#include "elf/cfi_builder.h"
#include "elf/cfi_entry.h"
#include "elf/cfi_pieces.h"
#include "elf/cfi_program.h"
#include "elf/cfi_rule.h"

#include <string.h>

/* What the kernel pushes for a handler: its return address, then a struct ucontext. */
#define UCONTEXT_SIGCONTEXT 40

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
};

static void compiler_done(struct compiler *c)
{
	for (int i = 0; i < CFI_SECTIONS; i++)
		vec_done(&c->fdes[i]);
	cfi_builder_done(&c->builder);
}

static const struct cfi_bytes *text_of(const struct cfi_input *in, uint64_t addr)
{
	for (size_t i = 0; i < in->n_text; i++)
		if (addr >= in->text[i].addr && addr - in->text[i].addr < in->text[i].len)
			return &in->text[i];
	return NULL;
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
			text = text_of(c->in, fde.start);
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

/* How many bytes of a function that only makes the system call rt_sigreturn there are at `code`. */
static size_t signal_return_len(const uint8_t *code, size_t len)
{
	/* mov $15,%rax (%eax); syscall */
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	if (len >= sizeof(rax) && code[0] == rax[0] && memcmp(code, rax, sizeof(rax)) == 0)
		return sizeof(rax);
	if (len >= sizeof(eax) && code[0] == eax[0] && memcmp(code, eax, sizeof(eax)) == 0)
		return sizeof(eax);
	return 0;
}

/* Go's assembler describes its signal return like any function: recognise that at its start. */
static void mark_signal_returns(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	vec_foreach(pieces, piece) {
		const struct cfi_bytes *text = text_of(in, in->base + piece->start);
		size_t skip = text ? (size_t)(in->base + piece->start - text->addr) : 0;

		if (text && text->data && signal_return_len(text->data + skip, text->len - skip))
			piece->source = CFI_IS_SIGNAL_RETURN;
	}
}

/*
 * Looks for signal returns in the addresses [start, end) of `text`, which nothing describes. There
 * are as many gaps as functions, most of a few bytes: memmem() takes longer to begin.
 */
static int search_gap(const struct cfi_input *in, const struct cfi_bytes *text, uint64_t start,
		      uint64_t end, struct cfi_pieces *found)
{
	const uint8_t *code = text->data + (start - text->addr), *stop = code + (end - start);
	int r = 0;

	for (; r == 0 && code < stop; code++) {
		size_t len = signal_return_len(code, (size_t)(stop - code));
		uint32_t rel;

		if (len == 0)
			continue;
		rel = (uint32_t)(text->addr - in->base + (uint64_t)(code - text->data));
		/* The kernel jumps there: what is looked up is the byte before. */
		r = vec_push(found, (struct cfi_piece){ .start = rel ? rel - 1 : rel,
							.end = rel + (uint32_t)len,
							.source = CFI_IS_SIGNAL_RETURN });
	}
	return r;
}

static int search_gaps(const struct cfi_input *in, const struct cfi_bytes *text,
		       const struct cfi_pieces *pieces, struct cfi_pieces *found)
{
	uint64_t covered = text->addr, end = text->addr + text->len;
	int r = 0;

	if (!text->data)
		return 0;
	for (size_t i = 0; r == 0 && i < pieces->len; i++) {
		uint64_t piece_start = in->base + pieces->data[i].start;
		uint64_t piece_end = in->base + pieces->data[i].end;

		if (piece_end <= covered)
			continue;
		if (piece_start >= end)
			break;
		if (piece_start > covered)
			r = search_gap(in, text, covered, piece_start, found);
		covered = piece_end;
	}
	if (r == 0 && covered < end)
		r = search_gap(in, text, covered, end, found);
	return r;
}

/* mov %r64,%rsp: 89 /r with rsp as the destination (Intel SDM vol. 2, MOV). */
static bool replaces_stack_pointer(const uint8_t *code, size_t len)
{
	return len >= 3 && (code[0] == 0x48 || code[0] == 0x4c) && code[1] == 0x89 &&
	       (code[2] & 0xc7) == 0xc4;
}

/*
 * A function that begins by leaving its stack is not called but returned to: makecontext puts
 * glibc's __start_context where a new stack begins. What is looked up is the byte before.
 */
static int search_stack_starts(const struct cfi_input *in, const struct cfi_pieces *pieces,
			       struct cfi_pieces *found)
{
	uint32_t covered = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < pieces->len; i++) {
		uint32_t start = pieces->data[i].start;
		const struct cfi_bytes *text = text_of(in, in->base + start);
		size_t skip = text ? (size_t)(in->base + start - text->addr) : 0;

		if (text && text->data && start > covered && skip > 0 &&
		    replaces_stack_pointer(text->data + skip, text->len - skip))
			r = vec_push(found, (struct cfi_piece){ .start = start - 1,
								.end = start,
								.source = CFI_IS_STACK_START });
		covered = pieces->data[i].end;
	}
	return r;
}

/* What is known of code that no entry describes. */
static int add_known(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	_cleanup_(cfi_pieces_done) struct cfi_pieces known = { 0 };
	const struct cfi_bytes *text = text_of(in, in->entry);
	uint64_t end = in->entry_end;
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_text; i++)
		r = search_gaps(in, &in->text[i], pieces, &known);
	if (r == 0)
		r = search_stack_starts(in, pieces, &known);
	if (r < 0)
		return r;
	if (text && end > text->addr + text->len)
		end = text->addr + text->len;
	/* Up to code with information: what stands behind that is not part of the start. */
	for (size_t i = 0; i < pieces->len; i++) {
		uint64_t start = in->base + pieces->data[i].start;

		if (in->base + pieces->data[i].end <= in->entry || start >= end)
			continue;
		end = start < in->entry ? in->entry : start;
	}
	if (text && end > in->entry)
		r = vec_push(&known, (struct cfi_piece){ .start = (uint32_t)(in->entry - in->base),
							 .end = (uint32_t)(end - in->base),
							 .source = CFI_IS_STACK_START });
	if (r < 0)
		return r;
	cfi_pieces_settle(&known);
	return cfi_pieces_fill(pieces, &known);
}

static int collect(struct compiler *c, struct cfi_pieces *pieces)
{
	_cleanup_(cfi_pieces_done) struct cfi_pieces debug = { 0 };
	int r = read_section(c, CFI_FROM_EH_FRAME, pieces);

	if (r == 0)
		r = read_section(c, CFI_FROM_DEBUG_FRAME, &debug);
	if (r < 0)
		return r;
	mark_signal_returns(c->in, &debug);
	r = cfi_pieces_fill(pieces, &debug);
	return r < 0 ? r : add_known(c->in, pieces);
}

static int emit_row(void *ctx, uint64_t pc, const struct cfi_state *state)
{
	struct compiler *c = ctx;
	uint64_t start = c->in->base + c->piece.start;

	if (pc >= c->in->base + c->piece.end)
		return 0;
	if (pc < start)
		pc = start;
	return cfi_builder_add(&c->builder, (uint32_t)(pc - c->in->base),
			       cfi_rule(&c->last.cie, state, c->builder.lost));
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
		return cfi_builder_add(&c->builder, c->piece.start, rule);
	case CFI_IS_STACK_START:
		return cfi_builder_add(&c->builder, c->piece.start, rule);
	default:
		return compile_fde(c);
	}
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

int cfi_compile(const struct cfi_input *in, struct cfi_rows **ret_rows)
{
	const struct cfi_bytes *bytes[CFI_SECTIONS] = { &in->eh_frame, &in->debug_frame };
	_cleanup_(compiler_done) struct compiler c = { .in = in };
	int r;

	if (!is_in_reach(in))
		return -E2BIG;
	for (int i = 0; i < CFI_SECTIONS; i++)
		c.sections[i] = (struct cfi_section){ .data = bytes[i]->data,
						      .len = bytes[i]->len,
						      .addr = bytes[i]->addr,
						      .data_base = in->data_base,
						      .is_eh = i == CFI_FROM_EH_FRAME };
	r = cfi_builder_init(&c.builder);
	if (r == 0)
		r = compile(&c);
	return r < 0 ? r : cfi_builder_finish(&c.builder, false, ret_rows);
}
