/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jitdumps, which traced programs write, in two pieces; the second by another process. */
#include "symbol/jit/jit_reader.h"
#include "symbol/jit/jitdump.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_code(const struct jit_item *item, void *userdata)
{
	(void)userdata;
	if (item->size_bytes == 0 || item->start + item->size_bytes < item->start || !item->name)
		abort();
	for (size_t i = 0; i < item->n_lines; i++)
		if (!item->lines[i].file || strlen(item->lines[i].file) > 1 << 20 ||
		    (i > 0 && item->lines[i].offset < item->lines[i - 1].offset))
			abort();
	return 0;
}

static int take(const struct jit_item *item, void *userdata)
{
	return jit_loads_pass(userdata, item, check_code, NULL);
}

static size_t feed(struct jitdump *dump, struct jit_loads *loads, const void *data, size_t size)
{
	size_t used;

	if (jitdump_feed(dump, data, size, take, loads, &used))
		return SIZE_MAX;
	if (used > size)
		abort();
	return used;
}

/* The file's first 40 bytes were fed alone. */
static int go_on(struct jitdump **dump, const uint8_t *data, size_t size)
{
	struct jitdump_state state = *jitdump_state(*dump);
	int r;

	jitdump_free(*dump);
	*dump = NULL;
	r = jitdump_new(&state, dump);
	if (r == 0 && state.lines_offset > 0) {
		if (state.lines_offset < 40 || state.lines_offset >= state.offset)
			abort();
		data += state.lines_offset - 40;
		size -= state.lines_offset - 40;
		r = jitdump_feed_lines(*dump, (const char *)data, size);
		if (r < 0)
			abort();
	}
	return r;
}

/* The header costs the fuzzer time to guess. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char head[40] = "DTiJ\1\0\0\0\x28";
	const struct jitdump_state nothing = {};
	_cleanup_(jit_loads_free_p) struct jit_loads *loads = NULL;
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	size_t used;

	if (jitdump_new(&nothing, &dump) < 0 || jit_loads_new(&loads) < 0)
		return 0;
	if (feed(dump, loads, head, sizeof(head)) != sizeof(head))
		abort();
	used = feed(dump, loads, data, size / 2);
	if (used == SIZE_MAX || go_on(&dump, data, size) < 0)
		return 0;
	(void)feed(dump, loads, data + used, size - used);
	return 0;
}
