/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of traced files: answers of the process that parses them, were it not ours any more; requests. */
#include "config/near_name.h"
#include "elf/cfi/cfi_rows.h"
#include "probe/object_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_BYTES 0x100000

static void check(int condition)
{
	if (!condition)
		abort();
}

static void check_plan(const struct plan *plan)
{
	for (size_t i = 0; plan && i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];

		check(probe->function && probe->entry_site < FILE_BYTES);
		check(probe->n_inner_frees <= INNER_FREES_MAX);
		for (size_t k = 0; k < probe->n_exit_sites; k++)
			check(probe->exit_sites[k] < FILE_BYTES);
	}
	for (size_t i = 0; plan && i < plan->n_skipped; i++)
		check(plan->skipped[i].function && plan->skipped[i].why);
}

static void read_facts(struct wire_reader reader, const struct object_wants *wants)
{
	struct object_facts facts;

	if (object_get_facts(&reader, FILE_BYTES, wants, &facts) < 0)
		return;
	check(!facts.is_elf ||
	      (!facts.plan == !wants->allocators && !facts.samples == !wants->samples));
	check_plan(facts.plan);
	check_plan(facts.samples);
	check(facts.unwind.n_segments <= ABI_UNWIND_SEGMENTS);
	object_facts_done(&facts);
}

static void read_request(struct wire_reader reader)
{
	struct object_asked asked;

	if (object_get_wants(&reader, &asked) < 0)
		return;
	check(asked.wants.path != NULL);
	object_asked_done(&asked);
}

static void read_near(struct wire_reader reader)
{
	struct near_names near;

	near_names_init(&near, "malloc");
	(void)object_get_near(&reader, &near); /* what was good until then stays */
	check(near.n <= NEAR_NAMES);
}

static void read_ranges(struct wire_reader reader)
{
	struct object_ranges ranges;

	if (object_get_ranges(&reader, 0x10000, &ranges) < 0)
		return;
	check(ranges.n <= OBJECT_MAX_RANGES);
	for (size_t i = 0; i < ranges.n; i++)
		check(ranges.list[i].size <= 0x10000 &&
		      ranges.list[i].offset <= 0x10000 - ranges.list[i].size);
}

static void read_rows(const uint8_t *data, size_t size)
{
	struct cfi_key key = { 0 };
	struct cfi_rows *rows;

	if (cfi_decode(data, size, &key, &rows) < 0)
		return;
	(void)cfi_rule_at(rows, 0x1000);
	cfi_rows_free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *names[] = { (char *)"malloc", NULL };
	const char *text = (const char *)data;
	const struct wire_reader reader = { text, text + size, false };

	for (int bits = 0; bits < 4; bits++) {
		const struct object_wants wants = { .allocators = bits & 1,
						    .samples = bits & 2,
						    .checkpoints = bits != 0,
						    .checkpoint_names = names,
						    .unwinding = bits != 2 };

		read_facts(reader, &wants);
	}
	read_request(reader);
	read_near(reader);
	read_ranges(reader);
	read_rows(data, size);
	return 0;
}
