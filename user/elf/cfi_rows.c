/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_rows.h"

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
