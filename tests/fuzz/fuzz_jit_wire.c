/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the process that reads JIT maps and dumps, were it not ours any more; and requests. */
#include "base/cleanup.h"
#include "symbol/jit_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void check_item(const struct jit_item *item)
{
	check(item->is_move == !item->name);
	check(!item->name || strlen(item->name) <= JIT_MAX_NAME);
	check(item->n_lines <= JIT_MAX_LINES);
	for (size_t i = 0; i < item->n_lines; i++) {
		check(strlen(item->lines[i].file) <= JIT_MAX_NAME);
		check(i == 0 || item->lines[i].offset >= item->lines[i - 1].offset);
	}
}

static void read_items(struct wire_reader *reader, uint32_t n)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	struct jit_item item;

	for (uint32_t i = 0; i < n; i++) {
		int r = jit_get_item(reader, &room, &item);

		check(r == 0 || r == -EBADMSG || r == -ENOMEM);
		if (r < 0)
			return;
		check_item(&item);
	}
}

static void read_answer(struct wire_reader reader)
{
	const struct jit_asked asked = { .state = { .offset = 3 } };
	struct jit_head head = jit_get_head(&reader, &asked);

	if (reader.bad)
		return;
	check(head.state.offset >= 3 && (!head.more || head.state.offset > 3));
	check(head.state.lines_offset == 0 || head.state.lines_offset < head.state.offset);
	read_items(&reader, head.n_items);
}

static void read_request(struct wire_reader reader)
{
	struct jit_asked asked;

	if (jit_get_asked(&reader, &asked))
		check(asked.state.offset <= INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct wire_reader reader = { text, text + size, false };

	read_answer(reader);
	read_request(reader);
	read_items(&reader, 2); /* a head costs the fuzzer time to guess */
	return 0;
}
