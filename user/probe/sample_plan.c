/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/sample_plan.h"

#include "base/vec.h"
#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "elf/usdt.h"
#include "probe/insn.h"
#include "probe/plan.h"
#include "probe/sites.h"

#include <errno.h>
#include <string.h>

#define PROVIDER "otel_memory"
#define INTERVAL_VARIABLE "memtraced_sample_interval" /* sample/process.c */

static const struct sample_probe all_probes[] = {
	{ "free", PROVIDER ":free", ABI_SAMPLE_FREE, 1 },
	{ "alloc", PROVIDER ":alloc", ABI_SAMPLE_ALLOC, ABI_SAMPLE_INTERVAL_TOLD },
};
#define SAMPLE_PROBES (sizeof(all_probes) / sizeof(all_probes[0]))

const struct sample_probe *sample_probes(size_t *ret_n)
{
	*ret_n = SAMPLE_PROBES;
	return all_probes;
}

typedef VEC(struct plan_probe) probe_list;
typedef VEC(struct plan_skipped) skipped_list;

/* The variables of a file, read when the first argument is in one. */
struct variables {
	struct elf_file *file;
	struct data_symbols *symbols;
};

static int find_variable(void *userdata, const char *name, uint64_t *ret_vaddr)
{
	struct variables *variables = userdata;
	int r = 0;

	if (!variables->symbols)
		r = data_symbols_new(variables->file, &variables->symbols);
	return r ? r : data_symbols_find(variables->symbols, name, ret_vaddr);
}

/* Our library has its interval in a variable, older ones of ours have none. 0 or -ENOMEM. */
static int find_interval(struct variables *variables, const struct usdt_probe *usdt,
			 struct abi_usdt_arg *ret_arg)
{
	uint64_t vaddr;
	int r = find_variable(variables, INTERVAL_VARIABLE, &vaddr);

	if (r == 0)
		*ret_arg = usdt_args_variable((int64_t)(vaddr - usdt->vaddr));
	return r == -ENOMEM ? r : 0;
}

static int add_sample_probe(const struct sample_probe *kind, const struct usdt_probe *usdt,
			    struct variables *variables, struct abi_sample_spec spec,
			    probe_list *probes, skipped_list *skipped)
{
	const struct usdt_globals globals = { usdt->vaddr, find_variable, variables };
	struct plan_probe probe = {
		.function = kind->function,
		.kind = kind->kind,
		.exits = PLAN_EXIT_NONE,
		.function_offset = usdt->offset,
		.entry_site = usdt->offset,
		.semaphore_offset = usdt->semaphore_offset,
		.sample = spec,
	};
	int n = usdt_args_parse(usdt->args, elf_file_machine(variables->file), &globals,
				probe.sample.arg, (size_t)kind->n_args);
	bool unknown = n == -ENOENT || n == -ENOTUNIQ;

	if (n == -ENOMEM)
		return n;
	if (spec.is_stand_in &&
	    find_interval(variables, usdt, &probe.sample.arg[ABI_SAMPLE_INTERVAL_TOLD]) < 0)
		return -ENOMEM;
	if (n == kind->n_args)
		return vec_push(probes, probe);
	return vec_push(skipped, (struct plan_skipped){ kind->function, false,
							unknown ? why_variable : why_arguments });
}

/* Of each probe whether only the link register tells of its function's caller; to be freed. */
static bool *find_links(struct elf_file *file, const struct usdt_notes *notes)
{
	_cleanup_free_ uint64_t *addresses = calloc(notes->n + 1, sizeof(*addresses));
	_cleanup_free_ bool *in_link = calloc(notes->n + 1, sizeof(*in_link));

	if (!addresses || !in_link)
		return NULL;
	for (size_t i = 0; i < notes->n; i++)
		addresses[i] = notes->probes[i].vaddr;
	return cfi_file_links(file, addresses, notes->n, in_link) ? NULL : TAKE_PTR(in_link);
}

static int add_all(struct elf_file *file, const struct usdt_notes *notes, bool is_stand_in,
		   probe_list *probes, skipped_list *skipped)
{
	_cleanup_free_ bool *in_link = find_links(file, notes);
	struct variables variables = { .file = file };
	int r = in_link ? 0 : -ENOMEM;

	for (size_t kind = 0; kind < SAMPLE_PROBES; kind++)
		for (size_t i = 0; i < notes->n && r == 0; i++)
			if (strcmp(notes->probes[i].name, all_probes[kind].note) == 0)
				r = add_sample_probe(
					&all_probes[kind], &notes->probes[i], &variables,
					(struct abi_sample_spec){ .is_stand_in = is_stand_in,
								  .in_link = in_link[i] },
					probes, skipped);
	data_symbols_free(variables.symbols);
	return r;
}

int sample_plan_new(struct elf_file *file, bool is_stand_in, struct plan **ret_plan)
{
	_cleanup_(usdt_notes_done) struct usdt_notes notes = { 0 };
	_cleanup_(plan_free_p) struct plan *plan = calloc(1, sizeof(*plan));
	skipped_list skipped = { 0 };
	probe_list probes = { 0 };
	int r = 0;

	if (elf_file_machine(file) != INSN_NATIVE_MACHINE)
		return -EOPNOTSUPP;
	if (plan)
		r = usdt_notes_read(file, PROVIDER, &notes);
	if (plan && r == 0)
		r = add_all(file, &notes, is_stand_in, &probes, &skipped);
	if (!plan || r) {
		vec_done(&probes);
		vec_done(&skipped);
		return r ? r : -ENOMEM;
	}
	plan->loads_others = elf_file_loads_others(file);
	plan->n_probes = probes.len;
	plan->probes = probes.data;
	plan->n_skipped = skipped.len;
	plan->skipped = skipped.data;
	*ret_plan = TAKE_PTR(plan);
	return 0;
}
