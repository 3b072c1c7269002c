/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi.h"

#include <string.h>

/* The first bytes say how the others are cut up: .eh_frame, .debug_frame, code. */
struct cut {
	uint16_t eh_frame, debug_frame;
	uint16_t code_addr;
	uint16_t entry;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was compiled must keep the promises of the headers. */
static void check(const struct cfi_rows *rows)
{
	if (rows->n_rows == 0 || rows->n_rules == 0 || rows->n_rules > ABI_UNWIND_RULES ||
	    rows->rows[0].pc != 0 || rows->rules[0].kind != ABI_UNWIND_NONE)
		abort();
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct abi_unwind_row *row = &rows->rows[i];

		if (row->rule >= rows->n_rules || row->pad)
			abort();
		if (i && (row[-1].pc >= row->pc || row[-1].rule == row->rule))
			abort();
		if (cfi_rule_at(rows, row->pc) != &rows->rules[row->rule])
			abort();
	}
	for (size_t i = 0; i < rows->n_rules; i++) {
		if (rows->rules[i].kind > ABI_UNWIND_UNSUPPORTED ||
		    rows->rules[i].bp > ABI_UNWIND_BP_AT_BP)
			abort();
		for (size_t j = 0; j < i && rows->n_rules < 200; j++)
			if (memcmp(&rows->rules[i], &rows->rules[j], sizeof(rows->rules[i])) == 0)
				abort();
	}
}

/* A byte behind each plain call must have the rule that the whole rows give it. */
static void check_pruned(const struct cfi_rows *full, const struct cfi_rows *pruned,
			 const struct cfi_bytes *text, uint64_t base)
{
	for (size_t i = 0; i + 2 <= text->len; i++) {
		uint32_t rel = (uint32_t)(text->addr + i - base);
		const struct abi_unwind_rule *wanted;

		/* call *%rax to call *%rdi, and syscall */
		if (!(text->data[i] == 0xff && (text->data[i + 1] & 0xf8) == 0xd0) &&
		    !(text->data[i] == 0x0f && text->data[i + 1] == 0x05))
			continue;
		wanted = cfi_rule_at(full, rel + 1);
		if (memcmp(wanted, cfi_rule_at(pruned, rel + 1), sizeof(*wanted)) != 0)
			abort();
	}
}

static struct cfi_bytes take(const uint8_t **data, size_t *size, size_t want, uint64_t addr)
{
	struct cfi_bytes bytes = { *data, want < *size ? want : *size, addr };

	*data += bytes.len;
	*size -= bytes.len;
	return bytes;
}

/* What arm64 asks of the same sections. */
static void find_links(const struct cfi_input *in)
{
	const uint64_t addresses[] = { in->base, in->base + 0x40, in->entry };
	bool in_link[3];

	cfi_find_links(in, addresses, 3, in_link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_rows *full = NULL, *pruned = NULL;
	struct cfi_bytes text;
	struct cfi_input in;
	struct cut cut;

	if (size < sizeof(cut))
		return 0;
	memcpy(&cut, data, sizeof(cut));
	data += sizeof(cut);
	size -= sizeof(cut);
	in = (struct cfi_input){ .text = &text, .n_text = 1, .base = 0x1000, .data_base = 0x3000 };
	in.eh_frame = take(&data, &size, cut.eh_frame, 0x20000);
	in.debug_frame = take(&data, &size, cut.debug_frame, 0);
	text = take(&data, &size, size, in.base + cut.code_addr);
	in.entry = in.base + cut.entry;
	in.entry_end = in.entry + 128;
	find_links(&in);
	if (cfi_compile(&in, &full) == 0) {
		check(full);
		if (cfi_prune(full, &text, 1, in.base, &pruned) == 0) {
			check(pruned);
			check_pruned(full, pruned, &text, in.base);
		}
	}
	cfi_rows_free(full);
	cfi_rows_free(pruned);
	return 0;
}
