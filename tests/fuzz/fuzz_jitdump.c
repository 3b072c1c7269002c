/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jitdumps, which traced programs write, in two pieces. */
#include "symbol/jitdump.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_code(const struct record *record, void *userdata)
{
	const struct record_jit_code *code = &record->jit_code;

	(void)userdata;
	if (code->size_bytes == 0 || code->start + code->size_bytes < code->start || !code->name)
		abort();
	for (size_t i = 0; i < code->n_lines; i++)
		if (!code->lines[i].file || strlen(code->lines[i].file) > 1 << 20 ||
		    (i > 0 && code->lines[i].offset < code->lines[i - 1].offset))
			abort();
	return 0;
}

/* The header costs the fuzzer time to guess. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char head[40] = "DTiJ\1\0\0\0\x28";
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	size_t used, half = size / 2;

	if (jitdump_new(&dump) < 0)
		return 0;
	if (jitdump_feed(dump, head, sizeof(head), 1, "jit-1.dump", check_code, NULL, &used) < 0 ||
	    used != sizeof(head))
		abort();
	if (jitdump_feed(dump, (const char *)data, half, 1, "jit-1.dump", check_code, NULL, &used))
		return 0;
	if (used > half)
		abort();
	(void)jitdump_feed(dump, (const char *)data + used, size - used, 1, "jit-1.dump",
			   check_code, NULL, &used);
	return 0;
}
