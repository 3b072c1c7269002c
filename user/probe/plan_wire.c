/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/plan_wire.h"

#include "bpf/abi.h"
#include "probe/allocators.h"
#include "probe/custom_allocators.h"
#include "probe/insn_effect.h"
#include "probe/plan.h"
#include "probe/sample_plan.h"
#include "probe/sites.h"

#include <string.h>

/* More than any file has (plan.c: MAX_CANDIDATES), of each kind. */
#define MAX_ENTRIES 1024
#define MAX_EXIT_SITES (1 << 20)
#define MAX_RESULT_SITES (1 << 12)

/* --- names ----------------------------------------------------------------------------------- */

/* Where a function's name is from: the upper half of its number. The lower is its place there. */
enum name_source { NAME_TABLE = 1, NAME_CUSTOM, NAME_SAMPLE };

static uint32_t number_in(enum name_source source, size_t place)
{
	return (uint32_t)source << 16 | (uint16_t)place;
}

/* Names are the rows' own: a user's function may be called as one of the table. */
static uint32_t function_number(const void *name, const void *custom)
{
	const struct allocator_function *table;
	const struct custom_function *all;
	const struct sample_probe *samples;
	size_t n;

	all = custom_allocators_all((struct custom_allocators *)custom, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].row.name == name)
			return number_in(NAME_CUSTOM, i);
	samples = sample_probes(&n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(samples[i].function, name) == 0)
			return number_in(NAME_SAMPLE, i);
	table = allocator_functions(&n);
	return number_in(NAME_TABLE, (size_t)(allocator_function_find(name) - table));
}

struct named {
	const char *name; /* NULL: there is no such number */
	uint8_t kind;
	uint16_t args;
};

static struct named name_of_row(const struct allocator_function *row)
{
	return (struct named){ row->name, row->kind | (row->may_throw ? ABI_THROWS : 0),
			       row->args };
}

static struct named function_of_number(uint32_t number, const void *custom)
{
	uint32_t source = number >> 16, place = number & UINT16_MAX;
	const struct allocator_function *table;
	const struct custom_function *all;
	const struct sample_probe *samples;
	size_t n_table, n_custom, n_samples;

	table = allocator_functions(&n_table);
	all = custom_allocators_all((struct custom_allocators *)custom, &n_custom);
	samples = sample_probes(&n_samples);
	if (source == NAME_TABLE && place < n_table)
		return name_of_row(&table[place]);
	if (source == NAME_CUSTOM && place < n_custom)
		return name_of_row(&all[place].row);
	if (source == NAME_SAMPLE && place < n_samples)
		return (struct named){ samples[place].function, samples[place].kind, 0 };
	return (struct named){ NULL, 0, 0 };
}

static const void *function_name(uint32_t number, const void *custom)
{
	return function_of_number(number, custom).name;
}

static const struct field_code function_code = { function_number, function_name };

static uint32_t why_number(const void *why, const void *context)
{
	(void)context;
	return plan_why_number(why);
}

static const void *why_of_number(uint32_t number, const void *context)
{
	(void)context;
	return number <= UINT8_MAX ? plan_why((uint8_t)number) : NULL;
}

static const struct field_code why_code = { why_number, why_of_number };

/* --- probes ---------------------------------------------------------------------------------- */

static const struct field offset_fields[] = { { .kind = FIELD_FILE_OFFSET }, F_END };
static const struct layout offset_layout = { "file offset", sizeof(uint64_t), offset_fields, NULL };

static const struct field sample_fields[] = {
	{ .kind = FIELD_BYTES, .max = sizeof(struct abi_sample_spec) },
	F_END,
};

static bool sample_is_sound(const void *value, const void *context)
{
	const struct abi_sample_spec *spec = value;

	(void)context;
	for (size_t i = 0; i < ABI_SAMPLE_ARGS; i++)
		if (spec->arg[i].place > ABI_USDT_MEMORY)
			return false;
	return spec->is_stand_in <= 1 && spec->in_link <= 1;
}

static const struct layout sample_layout =
	LAYOUT_CHECKED(abi_sample_spec, sample_fields, sample_is_sound);

static const struct field see_fields[] = {
	{ .kind = FIELD_BYTES, .max = sizeof(struct abi_result_site) },
	F_END,
};

static bool place_is_sound(const struct abi_usdt_arg *arg)
{
	return arg->place <= ABI_USDT_MEMORY && arg->bytes == 8 && arg->index == ABI_USDT_NO_INDEX;
}

static bool see_is_sound(const void *value, const void *context)
{
	const struct abi_result_site *see = value;

	(void)context;
	if (see->condition >= 16 && see->condition != ABI_RESULT_ALWAYS)
		return false;
	return see->kind == ABI_RESULT_LEAVES ||
	       (see->kind < ABI_RESULT_LEAVES && place_is_sound(&see->size) &&
		place_is_sound(&see->fp) && place_is_sound(&see->factor) && see->is_product <= 1 &&
		(see->kind == ABI_RESULT_BEGINS || place_is_sound(&see->result)));
}

static const struct layout see_layout = LAYOUT_CHECKED(abi_result_site, see_fields, see_is_sound);

static const struct field result_fields[] = {
	F(result_site, addr, FIELD_FILE_OFFSET),
	F_STRUCT(result_site, see, &see_layout),
	F_MAX(result_site, args, FIELD_U16, ABI_SIZE_PRODUCT(INSN_ARGUMENTS, INSN_ARGUMENTS)),
	F(result_site, is_rare, FIELD_BOOL),
	F_END,
};

static bool result_is_sound(const void *value, const void *context)
{
	(void)context;
	return (((const struct result_site *)value)->args & 0xf) <= INSN_ARGUMENTS;
}

static const struct layout result_layout =
	LAYOUT_CHECKED(result_site, result_fields, result_is_sound);

static const struct field probe_fields[] = {
	F_CODED(plan_probe, function, &function_code, 1),
	F(plan_probe, kind, FIELD_U8),
	F(plan_probe, args, FIELD_U16),
	F_STRUCT(plan_probe, sample, &sample_layout),
	F(plan_probe, semaphore_offset, FIELD_FILE_OFFSET),
	F(plan_probe, family, FIELD_U8),
	F(plan_probe, forms, FIELD_U8),
	F(plan_probe, entry_emulated, FIELD_BOOL),
	F(plan_probe, only_jumps, FIELD_BOOL),
	F_MAX(plan_probe, exits, FIELD_U32, PLAN_EXIT_SITES),
	F(plan_probe, function_offset, FIELD_FILE_OFFSET),
	F(plan_probe, entry_site, FIELD_FILE_OFFSET),
	F_LIST(plan_probe, exit_sites, n_exit_sites, MAX_EXIT_SITES, &offset_layout),
	F_CODED(plan_probe, why_no_sites, &why_code, 0),
	F(plan_probe, may_have_results, FIELD_BOOL),
	F_LIST(plan_probe, results, n_results, MAX_RESULT_SITES, &result_layout),
	F_CODED(plan_probe, why_no_results, &why_code, 0),
	F_LIST(plan_probe, left_exits, n_left_exits, MAX_EXIT_SITES, &offset_layout),
	F_ARRAY(plan_probe, inner_frees, n_inner_frees, &offset_layout),
	F_END,
};

/*
 * As the row says; or of a free, in which argument's register the block is at its site, and how far
 * sp has moved.
 */
static bool args_are_sound(const struct plan_probe *probe, struct named named)
{
	return probe->args == named.args ||
	       (probe->kind == ABI_FREE && probe->args >> 8 <= INSN_ARGUMENTS);
}

/* That realloc(p, 0) frees is the family's, which the object is of; else a row says the kind. */
static bool probe_is_sound(const void *value, const void *custom)
{
	const struct plan_probe *probe = value;
	struct named named = function_of_number(function_number(probe->function, custom), custom);

	return (probe->kind & ~ABI_REALLOC0_FREES) == (named.kind & ~ABI_REALLOC0_FREES) &&
	       args_are_sound(probe, named) && ABI_TRAITS(probe->family, probe->forms) <= UINT8_MAX;
}

static const struct layout probe_layout = LAYOUT_CHECKED(plan_probe, probe_fields, probe_is_sound);

/* --- plans ----------------------------------------------------------------------------------- */

static const struct field skipped_fields[] = {
	F_CODED(plan_skipped, function, &function_code, 1),
	F(plan_skipped, forwards, FIELD_BOOL),
	F_CODED(plan_skipped, why, &why_code, 1),
	F_END,
};
static const struct layout skipped_layout = LAYOUT(plan_skipped, skipped_fields);

static const struct field mark_fields[] = {
	F(plan_mark, entry_site, FIELD_FILE_OFFSET),
	F_MAX(plan_mark, form, FIELD_U8, ABI_FORM_UNKNOWN),
	F(plan_mark, deletes, FIELD_BOOL),
	F_END,
};

static bool mark_is_sound(const void *value, const void *context)
{
	(void)context;
	return ((const struct plan_mark *)value)->form != ABI_FORM_OWN;
}

static const struct layout mark_layout = LAYOUT_CHECKED(plan_mark, mark_fields, mark_is_sound);

static const struct field plan_fields[] = {
	F(plan, loads_others, FIELD_BOOL),
	F_LIST(plan, probes, n_probes, MAX_ENTRIES, &probe_layout),
	F_LIST(plan, skipped, n_skipped, MAX_ENTRIES, &skipped_layout),
	F_LIST(plan, marks, n_marks, MAX_ENTRIES, &mark_layout),
	F_END,
};
const struct layout plan_layout = LAYOUT(plan, plan_fields);
