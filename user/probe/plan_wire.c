/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/plan_wire.h"

#include "bpf/abi.h"
#include "probe/allocators.h"
#include "probe/custom_allocators.h"
#include "probe/plan.h"
#include "probe/sample_plan.h"
#include "probe/sites.h"

#include <errno.h>
#include <string.h>

/* More than any file has (plan.c: MAX_CANDIDATES), of each kind. */
#define MAX_ENTRIES 1024
#define PROBE_BYTES 48
#define SKIPPED_BYTES 5
#define MARK_BYTES 10

/* Where a function's name is from, beside its number there. */
enum name_source { NAME_TABLE, NAME_CUSTOM, NAME_SAMPLE };

/* --- names ----------------------------------------------------------------------------------- */

static void put_source(struct strbuf *message, enum name_source source, size_t number)
{
	wire_put_u8(message, (uint8_t)source);
	wire_put_u16(message, (uint16_t)number);
}

/* Names are the rows' own: a user's function may be called as one of the table. */
static void put_name(struct strbuf *message, const char *name, struct custom_allocators *custom)
{
	const struct allocator_function *table;
	const struct custom_function *all;
	const struct sample_probe *samples;
	size_t n;

	all = custom_allocators_all(custom, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].row.name == name) {
			put_source(message, NAME_CUSTOM, i);
			return;
		}
	samples = sample_probes(&n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(samples[i].function, name) == 0) {
			put_source(message, NAME_SAMPLE, i);
			return;
		}
	table = allocator_functions(&n);
	put_source(message, NAME_TABLE, (size_t)(allocator_function_find(name) - table));
}

struct named {
	const char *name;
	uint8_t kind;
	uint16_t args;
};

static struct named name_of_row(const struct allocator_function *row)
{
	return (struct named){ row->name, row->kind | (row->may_throw ? ABI_THROWS : 0),
			       row->args };
}

static struct named get_name(struct wire_reader *reader, struct custom_allocators *custom)
{
	uint8_t source = wire_get_u8(reader);
	uint16_t number = wire_get_u16(reader);
	const struct allocator_function *table;
	const struct custom_function *all;
	const struct sample_probe *samples;
	size_t n_table, n_custom, n_samples;

	table = allocator_functions(&n_table);
	all = custom_allocators_all(custom, &n_custom);
	samples = sample_probes(&n_samples);
	if (source == NAME_TABLE && number < n_table)
		return name_of_row(&table[number]);
	if (source == NAME_CUSTOM && number < n_custom)
		return name_of_row(&all[number].row);
	if (source == NAME_SAMPLE && number < n_samples)
		return (struct named){ samples[number].function, samples[number].kind, 0 };
	reader->bad = true;
	return (struct named){ NULL, 0, 0 };
}

/* --- probes ---------------------------------------------------------------------------------- */

static void put_offsets(struct strbuf *message, const uint64_t *offsets, size_t n)
{
	wire_put_u32(message, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		wire_put_u64(message, offsets[i]);
}

static void put_probe(struct strbuf *message, const struct plan_probe *probe,
		      struct custom_allocators *custom)
{
	put_name(message, probe->function, custom);
	wire_put_u8(message, probe->kind);
	wire_put_u16(message, probe->args);
	strbuf_add(message, &probe->sample, sizeof(probe->sample));
	wire_put_u64(message, probe->semaphore_offset);
	wire_put_u8(message, probe->family);
	wire_put_u8(message, probe->forms);
	wire_put_u8(message, probe->entry_emulated);
	wire_put_u8(message, (uint8_t)probe->exits);
	wire_put_u64(message, probe->function_offset);
	wire_put_u64(message, probe->entry_site);
	put_offsets(message, probe->exit_sites, probe->n_exit_sites);
	wire_put_u8(message, plan_why_number(probe->why_no_sites));
	put_offsets(message, probe->inner_frees, probe->n_inner_frees);
}

static uint64_t get_offset(struct wire_reader *reader, uint64_t file_bytes)
{
	uint64_t offset = wire_get_u64(reader);

	if (offset >= file_bytes)
		reader->bad = true;
	return offset;
}

static void get_sample(struct wire_reader *reader, struct abi_sample_spec *spec)
{
	const char *bytes = wire_get_bytes(reader, sizeof(*spec));

	if (!bytes)
		return;
	memcpy(spec, bytes, sizeof(*spec));
	for (size_t i = 0; i < ABI_SAMPLE_ARGS; i++)
		if (spec->arg[i].place > ABI_USDT_MEMORY)
			reader->bad = true;
	if (spec->is_stand_in > 1 || spec->in_link > 1)
		reader->bad = true;
}

static const char *get_why(struct wire_reader *reader, bool needed)
{
	uint8_t number = wire_get_u8(reader);
	const char *why = plan_why(number);

	if (!why && (number || needed))
		reader->bad = true;
	return why;
}

static void get_kind(struct wire_reader *reader, const struct named *named,
		     struct plan_probe *probe)
{
	probe->function = named->name;
	probe->kind = wire_get_u8(reader);
	probe->args = wire_get_u16(reader);
	/* That realloc(p, 0) frees is the family's, which the object is of. */
	if ((probe->kind & ~ABI_REALLOC0_FREES) != (named->kind & ~ABI_REALLOC0_FREES) ||
	    probe->args != named->args)
		reader->bad = true;
}

static int get_exit_sites(struct wire_reader *reader, uint64_t file_bytes, struct plan_probe *probe)
{
	uint32_t n = wire_get_count(reader, sizeof(uint64_t));

	probe->exit_sites = calloc(n ? n : 1, sizeof(uint64_t));
	if (!probe->exit_sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		probe->exit_sites[i] = get_offset(reader, file_bytes);
	probe->n_exit_sites = n;
	return 0;
}

static void get_inner_frees(struct wire_reader *reader, uint64_t file_bytes,
			    struct plan_probe *probe)
{
	uint32_t n = wire_get_count(reader, sizeof(uint64_t));

	if (n > INNER_FREES_MAX) {
		reader->bad = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		probe->inner_frees[i] = get_offset(reader, file_bytes);
	probe->n_inner_frees = n;
}

static int get_probe(struct wire_reader *reader, uint64_t file_bytes,
		     struct custom_allocators *custom, struct plan_probe *probe)
{
	struct named named = get_name(reader, custom);
	uint8_t exits;
	int r;

	get_kind(reader, &named, probe);
	get_sample(reader, &probe->sample);
	probe->semaphore_offset = get_offset(reader, file_bytes);
	probe->family = wire_get_u8(reader);
	probe->forms = wire_get_u8(reader);
	probe->entry_emulated = wire_get_bool(reader);
	exits = wire_get_u8(reader);
	if (exits > PLAN_EXIT_SITES || ABI_TRAITS(probe->family, probe->forms) > UINT8_MAX)
		reader->bad = true;
	probe->exits = exits;
	probe->function_offset = get_offset(reader, file_bytes);
	probe->entry_site = get_offset(reader, file_bytes);
	r = get_exit_sites(reader, file_bytes, probe);
	probe->why_no_sites = get_why(reader, false);
	get_inner_frees(reader, file_bytes, probe);
	return r;
}

/* --- plans ----------------------------------------------------------------------------------- */

void plan_put(struct strbuf *message, const struct plan *plan, struct custom_allocators *custom)
{
	wire_put_u8(message, plan->has_symbols);
	wire_put_u8(message, plan->is_static_executable);
	wire_put_u8(message, plan->loads_others);
	wire_put_u32(message, (uint32_t)plan->n_probes);
	for (size_t i = 0; i < plan->n_probes; i++)
		put_probe(message, &plan->probes[i], custom);
	wire_put_u32(message, (uint32_t)plan->n_skipped);
	for (size_t i = 0; i < plan->n_skipped; i++) {
		put_name(message, plan->skipped[i].function, custom);
		wire_put_u8(message, plan->skipped[i].forwards);
		wire_put_u8(message, plan_why_number(plan->skipped[i].why));
	}
	wire_put_u32(message, (uint32_t)plan->n_marks);
	for (size_t i = 0; i < plan->n_marks; i++) {
		wire_put_u64(message, plan->marks[i].entry_site);
		wire_put_u8(message, plan->marks[i].form);
		wire_put_u8(message, plan->marks[i].deletes);
	}
}

/* How many follow, and room for them: of one at least. */
static int get_room(struct wire_reader *reader, size_t least_bytes, size_t size, void **ret_room,
		    uint32_t *ret_n)
{
	uint32_t n = wire_get_count(reader, least_bytes);

	if (n > MAX_ENTRIES) {
		reader->bad = true;
		n = 0;
	}
	*ret_n = n;
	*ret_room = calloc(n ? n : 1, size);
	return *ret_room ? 0 : -ENOMEM;
}

static int get_probes(struct wire_reader *reader, uint64_t file_bytes,
		      struct custom_allocators *custom, struct plan *plan)
{
	void *room;
	uint32_t n;
	int r = get_room(reader, PROBE_BYTES, sizeof(*plan->probes), &room, &n);

	if (r < 0)
		return r;
	plan->probes = room;
	while (r == 0 && !reader->bad && plan->n_probes < n)
		r = get_probe(reader, file_bytes, custom, &plan->probes[plan->n_probes++]);
	return r;
}

static int get_skipped(struct wire_reader *reader, struct custom_allocators *custom,
		       struct plan *plan)
{
	void *room;
	uint32_t n;
	int r = get_room(reader, SKIPPED_BYTES, sizeof(*plan->skipped), &room, &n);

	if (r < 0)
		return r;
	plan->skipped = room;
	for (; plan->n_skipped < n; plan->n_skipped++) {
		struct plan_skipped *skipped = &plan->skipped[plan->n_skipped];

		skipped->function = get_name(reader, custom).name;
		skipped->forwards = wire_get_bool(reader);
		skipped->why = get_why(reader, true);
	}
	return 0;
}

static int get_marks(struct wire_reader *reader, uint64_t file_bytes, struct plan *plan)
{
	void *room;
	uint32_t n;
	int r = get_room(reader, MARK_BYTES, sizeof(*plan->marks), &room, &n);

	if (r < 0)
		return r;
	plan->marks = room;
	for (; plan->n_marks < n; plan->n_marks++) {
		struct plan_mark *mark = &plan->marks[plan->n_marks];

		mark->entry_site = get_offset(reader, file_bytes);
		mark->form = wire_get_u8(reader);
		mark->deletes = wire_get_bool(reader);
		if (mark->form != ABI_FORM_UNKNOWN && mark->form != ABI_FORM_NEW &&
		    mark->form != ABI_FORM_ARRAY)
			reader->bad = true;
	}
	return 0;
}

int plan_get(struct wire_reader *reader, uint64_t file_bytes, struct custom_allocators *custom,
	     struct plan **ret_plan)
{
	_cleanup_(plan_free_p) struct plan *plan = calloc(1, sizeof(*plan));
	int r = plan ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	plan->has_symbols = wire_get_bool(reader);
	plan->is_static_executable = wire_get_bool(reader);
	plan->loads_others = wire_get_bool(reader);
	r = get_probes(reader, file_bytes, custom, plan);
	if (r == 0)
		r = get_skipped(reader, custom, plan);
	if (r == 0)
		r = get_marks(reader, file_bytes, plan);
	if (r < 0 || reader->bad)
		return r < 0 ? r : -EBADMSG;
	*ret_plan = TAKE_PTR(plan);
	return 0;
}
