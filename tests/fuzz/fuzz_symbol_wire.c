/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the process that parses files, were it not ours any more; and requests to it. */
#include "symbol/symbol_wire.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void read_places(struct wire_reader reader)
{
	struct symbol_head head = symbol_get_head(&reader, SYMBOL_MAX_PLACES);
	struct symbol_frame frames[OBJECT_MAX_FRAMES];

	for (size_t i = 0; !reader.bad && i < head.n_places; i++) {
		size_t n = symbol_get_place(&reader, frames);

		check(n <= OBJECT_MAX_FRAMES && (n > 0) == !reader.bad);
		for (size_t k = 0; k < n; k++) {
			check(!frames[k].function || strlen(frames[k].function) <= SYMBOL_MAX_NAME);
			check(!frames[k].linkage || strlen(frames[k].linkage) <= SYMBOL_MAX_NAME);
			check(!frames[k].file || strlen(frames[k].file) <= SYMBOL_MAX_NAME);
		}
	}
}

static void read_facts(struct wire_reader reader)
{
	struct elf_facts facts;
	uint64_t vaddr;

	if (symbol_get_facts(&reader, &facts) < 0)
		return;
	check(facts.stamp.build_id.len <= ELF_MAX_BUILD_ID);
	check(facts.alt_id.len <= ELF_MAX_BUILD_ID);
	check(!facts.link || !strchr(facts.link, '/'));
	(void)elf_loads_vaddr(facts.loads.data, facts.loads.len, 0x1000, &vaddr);
	elf_facts_done(&facts);
}

static void read_request(struct wire_reader reader)
{
	struct symbol_look_up *look_up = calloc(1, sizeof(*look_up));
	const int fds[] = { 3, 4 };

	check(look_up != NULL);
	if (symbol_get_look_up(&reader, fds, 2, look_up))
		check(look_up->n_places <= SYMBOL_MAX_PLACES);
	free(look_up);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const struct wire_reader reader = { text, text + size, false };

	read_places(reader);
	read_facts(reader);
	read_request(reader);
	return 0;
}
