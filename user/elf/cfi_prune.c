/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi.h"
#include "elf/cfi_builder.h"

#include <string.h>

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
static void need(struct scan *s, uint64_t addr)
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
 * filling, which has no information: nobody comes back there.
 */
static void need_next(struct scan *s, uint64_t addr)
{
	const struct cfi_rows *full = s->full;
	size_t row = s->row + 1;

	if (row < full->n_rows && full->rows[row].pc == addr - s->base &&
	    full->rules[full->rows[row].rule].kind == ABI_UNWIND_NONE)
		return;
	need(s, addr);
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
		need(s, next - 1);
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
