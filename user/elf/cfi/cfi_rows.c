/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_rows.h"

#include "base/hashmap.h"

#include <string.h>

const struct abi_unwind_rule *cfi_rule_at(const struct cfi_rows *rows, uint32_t rel)
{
	size_t low = 0, high = rows->n_rows;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (rows->rows[mid].pc <= rel)
			low = mid;
		else
			high = mid;
	}
	return &rows->rules[rows->rows[low].rule];
}

void cfi_rows_free(struct cfi_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows->rules);
	free(rows);
}

#define FIRST_SLOTS 256

static uint64_t bits_of(struct abi_unwind_rule rule)
{
	uint64_t bits;

	static_assert(sizeof(bits) == sizeof(rule), "rules are compared as numbers");
	memcpy(&bits, &rule, sizeof(bits));
	return bits;
}

/* The slot that holds the rule, or the free one where it belongs. */
static size_t slot_of(const struct cfi_builder *b, uint64_t bits)
{
	size_t slot = hash_u64(bits) & (b->n_slots - 1);

	while (b->slots[slot] && bits_of(b->rules.data[b->slots[slot]]) != bits)
		slot = (slot + 1) & (b->n_slots - 1);
	return slot;
}

static int grow_rows(struct cfi_builder *b)
{
	uint16_t *slots = calloc(b->n_slots * 2, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(b->slots);
	b->slots = slots;
	b->n_slots *= 2;
	for (size_t i = 1; i < b->rules.len; i++)
		b->slots[slot_of(b, bits_of(b->rules.data[i]))] = (uint16_t)i;
	return 0;
}

/* The rule's number, or -ENOMEM. */
static int intern_rule(struct cfi_builder *b, struct abi_unwind_rule rule)
{
	uint64_t bits = bits_of(rule);
	size_t slot;
	int r;

	if (bits == 0)
		return 0;
	slot = slot_of(b, bits);
	if (b->slots[slot])
		return b->slots[slot];
	/* The last one says that there was no room. */
	if (b->rules.len >= ABI_UNWIND_RULES - 1 && rule.kind != ABI_UNWIND_UNSUPPORTED) {
		b->lost[CFI_TOO_MANY_RULES]++;
		return intern_rule(b, (struct abi_unwind_rule){ .kind = ABI_UNWIND_UNSUPPORTED });
	}
	r = vec_push(&b->rules, rule);
	if (r < 0)
		return r;
	b->slots[slot] = (uint16_t)(b->rules.len - 1);
	if (b->rules.len > b->n_slots / 2)
		r = grow_rows(b);
	return r < 0 ? r : (int)b->rules.len - 1;
}

int cfi_builder_init(struct cfi_builder *b)
{
	struct abi_unwind_row row = { 0 };
	int r;

	*b = (struct cfi_builder){ .n_slots = FIRST_SLOTS };
	b->slots = calloc(b->n_slots, sizeof(*b->slots));
	if (!b->slots)
		return -ENOMEM;
	r = vec_push(&b->rules, (struct abi_unwind_rule){ 0 });
	return r < 0 ? r : vec_push(&b->rows, row);
}

void cfi_builder_done(struct cfi_builder *b)
{
	vec_done(&b->rows);
	vec_done(&b->rules);
	free(b->slots);
	b->slots = NULL;
}

int cfi_builder_add(struct cfi_builder *b, uint32_t pc, struct abi_unwind_rule rule)
{
	struct abi_unwind_row *last = &b->rows.data[b->rows.len - 1];
	int number = bits_of(rule) == bits_of(b->rules.data[last->rule]) ? last->rule :
									   intern_rule(b, rule);
	struct abi_unwind_row row = { .pc = pc, .rule = (uint16_t)number };

	if (number < 0)
		return number;
	if (last->pc == pc) {
		last->rule = row.rule;
		if (b->rows.len > 1 && last[-1].rule == row.rule)
			b->rows.len--;
		return 0;
	}
	return last->rule == row.rule ? 0 : vec_push(&b->rows, row);
}

int cfi_builder_finish(struct cfi_builder *b, bool pruned, struct cfi_rows **ret_rows)
{
	struct cfi_rows *rows = calloc(1, sizeof(*rows));
	void *smaller;

	if (!rows)
		return -ENOMEM;
	/* Rows are kept for as long as their object: without the half that growth left. */
	smaller = reallocarray(b->rows.data, b->rows.len, sizeof(*b->rows.data));
	rows->rows = smaller ? smaller : b->rows.data;
	rows->n_rows = b->rows.len;
	rows->rules = b->rules.data;
	rows->n_rules = b->rules.len;
	rows->pruned = pruned;
	memcpy(rows->lost, b->lost, sizeof(rows->lost));
	b->rows.data = NULL;
	b->rules.data = NULL;
	cfi_builder_done(b);
	*ret_rows = rows;
	return 0;
}
