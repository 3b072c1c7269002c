/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of a section -> pieces (disjoint, by address) -> gaps filled by .debug_frame, then by
 * what code without information is known to be, or does -> each piece's program is run -> rows.
 */
#include "elf/cfi/cfi.h"

#include "elf/cfi/cfi_entry.h"
#include "elf/cfi/cfi_go.h"
#include "elf/cfi/cfi_pieces.h"
#include "elf/cfi/cfi_program.h"
#include "elf/cfi/cfi_rows.h"
#include "elf/cfi/cfi_rule.h"

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

static int collect_pieces(struct compiler *c, struct cfi_pieces *pieces)
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
	int r = collect_pieces(c, &pieces);

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

/* The longest call without its prefixes: ff /2 with SIB and disp32. A call rel32 has 5 bytes. */
#define MAX_CALL 7

struct scan {
	const struct cfi_rows *full;
	const struct cfi_bytes *texts;
	size_t n_texts;
	uint64_t base;
	const struct cfi_bytes *text; /* that is scanned */
	size_t row;		      /* of what was found last */
	bool *is_needed;	      /* by row */
};

static void scan_done(struct scan *s)
{
	free(s->is_needed);
}

/* Calls are found from below upwards, so the row is mostly the last one or the next. */
static void need_row_of(struct scan *s, uint64_t addr)
{
	uint64_t rel = addr - s->base;
	size_t row = s->row;

	while (row > 0 && s->full->rows[row].pc > rel)
		row--;
	while (row + 1 < s->full->n_rows && s->full->rows[row + 1].pc <= rel)
		row++;
	s->row = row;
	s->is_needed[row] = true;
}

/*
 * A function that does not return is called at the end of its caller, and behind that there may be
 * filling, which has no information: nothing returns there.
 */
static void need_next(struct scan *s, uint64_t addr)
{
	const struct cfi_rows *full = s->full;
	size_t row = s->row + 1;

	if (row < full->n_rows && full->rows[row].pc == addr - s->base &&
	    full->rules[full->rows[row].rule].kind == ABI_UNWIND_NONE)
		return;
	need_row_of(s, addr);
}

static bool is_text(const struct scan *s, uint64_t addr)
{
	for (size_t i = 0; i < s->n_texts; i++)
		if (addr >= s->texts[i].addr && addr - s->texts[i].addr < s->texts[i].len)
			return true;
	return false;
}

/* The bytes of ff /2 from its opcode on (Intel SDM vol. 2, tables 2-2 and 2-3), 0: it is none. */
static size_t indirect_call_len(const uint8_t *at, size_t left)
{
	static const uint8_t displacement[] = { 0, 1, 4, 0 };
	uint8_t modrm, mod, rm, sib;
	size_t len = 2;

	if (left < 2)
		return 0;
	modrm = at[1];
	mod = modrm >> 6;
	rm = modrm & 7;
	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mod != 3 && rm == 4) {
		sib = left > 2 ? at[2] : 0;
		len++;
		if (mod == 0 && (sib & 7) == 5)
			len += 4;
	} else if (mod == 0 && rm == 5) {
		len += 4;
	}
	len += displacement[mod];
	return len <= left ? len : 0;
}

/* How long the call or `syscall` is whose opcode may stand there, 0: none does. */
static size_t call_len(const struct scan *s, const uint8_t *at, size_t left)
{
	int32_t distance;
	uint64_t next;

	switch (*at) {
	case 0xe8:
		if (left < 5)
			return 0;
		/* Calls are within the object; that tells most other bytes from them. */
		memcpy(&distance, at + 1, sizeof(distance));
		next = s->text->addr + (uint64_t)(at - s->text->data) + 5;
		return is_text(s, next + (uint64_t)(int64_t)distance) ? 5 : 0;
	case 0xff:
		return indirect_call_len(at, left);
	case 0x0f:
		return left >= 2 && at[1] == 0x05 ? 2 : 0;
	default:
		return 0;
	}
}

static void scan_text(struct scan *s)
{
	const struct cfi_bytes *text = s->text;

	for (size_t i = 0; i < text->len; i++) {
		size_t len = call_len(s, text->data + i, text->len - i);
		uint64_t next, row_end;

		if (len == 0)
			continue;
		next = text->addr + i + len;
		need_row_of(s, next - 1);
		need_next(s, next);
		/* Both in the row that this byte is of: nothing is left to be found there. */
		if (s->row + 1 >= s->full->n_rows ||
		    s->full->rows[s->row].pc > text->addr + i - s->base)
			continue;
		row_end = s->base + s->full->rows[s->row + 1].pc - text->addr;
		if (row_end > i + MAX_CALL + 1)
			i = row_end - MAX_CALL - 1;
	}
}

static int build(const struct scan *s, struct cfi_rows **ret_rows)
{
	_cleanup_(cfi_builder_done) struct cfi_builder b;
	const struct cfi_rows *full = s->full;
	int r = cfi_builder_init(&b);

	for (size_t i = 0; r == 0 && i < full->n_rows; i++) {
		struct abi_unwind_rule rule = full->rules[full->rows[i].rule];

		/* What is returned to without a call before it. */
		if (s->is_needed[i] || rule.kind == ABI_UNWIND_SIGNAL ||
		    rule.kind == ABI_UNWIND_END)
			r = cfi_builder_add(&b, full->rows[i].pc, rule);
	}
	if (r < 0)
		return r;
	memcpy(b.lost, full->lost, sizeof(b.lost));
	return cfi_builder_finish(&b, true, ret_rows);
}

int cfi_prune(const struct cfi_rows *full, const struct cfi_bytes *text, size_t n_text,
	      uint64_t base, struct cfi_rows **ret_rows)
{
	_cleanup_(scan_done) struct scan s = {
		.full = full, .texts = text, .n_texts = n_text, .base = base
	};

	s.is_needed = calloc(full->n_rows, sizeof(*s.is_needed));
	if (!s.is_needed)
		return -ENOMEM;
	for (size_t i = 0; i < n_text; i++) {
		s.text = &text[i];
		scan_text(&s);
	}
	return build(&s, ret_rows);
}

struct search {
	uint64_t address;
	enum cfi_how how; /* by the last state that begins at or below it */
};

static int look_for_state(void *ctx, uint64_t pc, const struct cfi_state *state)
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
	    cfi_run_fde(section, &cie, &initial, fde, look_for_state, &search))
		return CFI_OFFSET;
	return search.how;
}

static bool is_in_link(enum cfi_how how)
{
	return how == CFI_UNSPECIFIED || how == CFI_SAME;
}

static void find_in_link(const struct cfi_section *section, const uint64_t *addresses, size_t n,
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
	find_in_link(&eh_frame, addresses, n, ret_in_link);
	find_in_link(&debug_frame, addresses, n, ret_in_link);
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
