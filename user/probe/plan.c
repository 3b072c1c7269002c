/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/plan.h"

#include "base/vec.h"
#include "bpf/abi.h"
#include "elf/eh_table.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "probe/allocators.h"
#include "probe/callee_facts.h"
#include "probe/custom_allocators.h"
#include "probe/insn.h"
#include "probe/sites.h"

#include <errno.h>
#include <string.h>

/* The table has 185 rows, most functions two symbols: only a hostile file has this many. */
#define MAX_CANDIDATES 1024
/* Instructions looked at for all functions of a file; jemalloc's take a tenth. */
#define MAX_INSNS 200000
/* Instructions that are looked at to prove sites of results; glibc's functions take 25,000. */
#define MAX_PROOF_STEPS 400000
/*
 * The same with the code that they call, whose instructions are decoded, too: glibc's functions
 * take 200,000, jemalloc's 220,000.
 */
#define MAX_CALLEE_STEPS 1000000
/* Functions that are the same code are one, with the names of all. */
#define MAX_NAMES_OF_ADDRESS 256
/* glibc has one such function. */
#define MAX_WITH_INNER_FREES 16

struct candidate {
	const struct allocator_function *function;
	const struct allocator_family *family; /* by a name that it has; NULL: the object's */
	uint8_t forms;			       /* of all its names; 0: one of them says nothing */
	uint64_t vaddr;
	bool is_ifunc;
	const char *why_not; /* it cannot be probed */
	struct sites sites;
	struct result_sites results;
};

struct planner {
	struct elf_file *file;
	struct eh_table *eh;
	struct insn_decoder *decoder;
	const struct plan_emulation *emulation;
	const char *path;
	struct custom_allocators *custom;
	const struct allocator_family *family; /* NULL: not known */
	struct symbol_names *names;	       /* NULL: not asked for yet */
	bool asked_sizes, results;	       /* as of plan_new() */
	uint32_t insns_left;
	uint32_t steps_left; /* MAX_PROOF_STEPS */
	uint32_t inner_frees_left;
	struct sites_code code;
	struct callee_facts callees;
	VEC(struct candidate) candidates;
	VEC(struct plan_probe) probes;
	VEC(struct plan_skipped) skipped;
	VEC(struct plan_mark) marks;
};

static void free_probe(struct plan_probe *probe)
{
	free(probe->exit_sites);
	free(probe->results);
	free(probe->left_exits);
}

static void planner_done(struct planner *p)
{
	vec_foreach(&p->probes, probe)
		free_probe(probe);
	vec_done(&p->probes);
	vec_done(&p->skipped);
	vec_done(&p->marks);
	vec_foreach(&p->candidates, candidate) {
		sites_done(&candidate->sites);
		result_sites_done(&candidate->results);
	}
	vec_done(&p->candidates);
	callee_facts_done(&p->callees);
	insn_decoder_free(p->decoder);
	eh_table_free(p->eh);
	symbol_names_free(p->names);
}

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return elf_file_read_text(((struct planner *)ctx)->file, addr, buf, len);
}

static const char *code_slot_name(void *ctx, uint64_t slot)
{
	return elf_file_slot_symbol(((struct planner *)ctx)->file, slot);
}

static const char *code_function_name(void *ctx, uint64_t addr)
{
	size_t n;
	const struct elf_symbol *symbol =
		elf_file_symbols_at(((struct planner *)ctx)->file, addr, &n);

	for (size_t i = 0; i < n && i < MAX_NAMES_OF_ADDRESS; i++)
		if (allocator_function_find(symbol[i].name) || sites_is_noreturn(symbol[i].name))
			return symbol[i].name;
	return n ? symbol->name : NULL;
}

static bool code_starts_function(void *ctx, uint64_t addr)
{
	struct planner *p = ctx;
	size_t n;

	return elf_file_symbols_at(p->file, addr, &n) || eh_table_starts_function(p->eh, addr);
}

static uint64_t code_landing_pad(void *ctx, uint64_t addr)
{
	return eh_table_landing_pad(((struct planner *)ctx)->eh, addr);
}

/* Without memory for the names nothing is known of any. */
static uint64_t code_definition(void *ctx, const char *name)
{
	struct planner *p = ctx;
	const struct elf_symbol *symbols, *found;
	size_t n;

	if (!p->names) {
		symbols = elf_file_symbols(p->file, &n);
		if (symbol_names_new(symbols, n, &p->names) < 0)
			return 0;
	}
	found = symbol_names_find(p->names, name);
	return found && !found->is_ifunc ? found->value : 0;
}

static int kind_rank(uint8_t kind)
{
	switch (kind & ABI_KIND_MASK) {
	case ABI_FREE:
	case ABI_SCOPED_FREE:
		return 0;
	case ABI_REALLOC:
	case ABI_RESIZE:
		return 1;
	default:
		return 2;
	}
}

/* Frees, reallocs, allocs; within each by what is preferred of the names of one address. */
static int candidate_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int rank = kind_rank(x->function->kind) - kind_rank(y->function->kind);

	if (rank)
		return rank;
	if (x->function != y->function)
		return allocator_function_compare(x->function, y->function);
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static struct candidate *candidate_at(struct planner *p, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++)
		if (p->candidates.data[i].vaddr == vaddr)
			return &p->candidates.data[i];
	return NULL;
}

/*
 * Keeps the first of the candidates at one address, which gets the family of any of them and the
 * forms of all.
 */
static void drop_aliases(struct planner *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->candidates.len; i++) {
		struct candidate candidate = p->candidates.data[i];
		struct candidate *first = candidate_at(p, kept, candidate.vaddr);

		if (!first) {
			p->candidates.data[kept++] = candidate;
			continue;
		}
		if (first->forms && candidate.forms)
			first->forms |= candidate.forms;
		else
			first->forms = 0;
		if (candidate.function->by_user)
			*first = candidate; /* of another kind, which sorts later */
		else if (!first->family)
			first->family = candidate.family;
	}
	p->candidates.len = kept;
}

/* Whose rules the object's functions follow unless their names say otherwise. */
static void note_marker(struct planner *p, const char *symbol)
{
	const struct allocator_family *family = allocator_family_marked(symbol);

	if (family && (!p->family || family < p->family))
		p->family = family;
}

static uint64_t value_of(const struct planner *p, const char *name)
{
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(p->file, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return symbols[i].value;
	return 0;
}

/*
 * Is each function probed by which the object's allocator hands out blocks? That is proven of C
 * libraries whose internal calls go to the functions that programs call. An executable may define
 * functions of these names beside others of its own, as Chromium does; it then lacks the family's
 * marker, or its free is not the family's.
 */
static bool is_complete(const struct planner *p)
{
	bool has_free = false;
	uint64_t own_free;

	if (!p->family || !p->family->own_free)
		return false;
	own_free = value_of(p, p->family->own_free);
	vec_foreach(&p->skipped, skipped)
		if (!skipped->forwards)
			return false;
	vec_foreach(&p->candidates, candidate) {
		if (candidate->function->by_user || candidate->family != p->family)
			return false;
		has_free |= own_free && candidate->vaddr == own_free &&
			    candidate->function->kind == ABI_FREE;
	}
	return has_free;
}

static int add_candidate(struct planner *p, uint64_t vaddr, bool is_ifunc,
			 const struct allocator_function *function)
{
	struct candidate candidate = {
		.function = function,
		.family = function->by_user ? NULL : allocator_family_of(function),
		.forms = allocator_function_forms(function),
		.vaddr = vaddr,
		.is_ifunc = is_ifunc,
	};

	if (p->candidates.len == MAX_CANDIDATES)
		return -EBADMSG;
	return vec_push(&p->candidates, candidate);
}

/* What the user has named: by symbol, or by an address of this object. */
static int collect_custom(struct planner *p, const struct elf_symbol *symbols, size_t n)
{
	size_t n_custom;
	struct custom_function *custom = custom_allocators_all(p->custom, &n_custom);
	int r = 0;

	for (size_t i = 0; i < n_custom && r == 0; i++) {
		struct custom_function *f = &custom[i];

		if (!custom_function_is_in(f, p->path))
			continue;
		if (f->address) {
			f->found = true;
			r = add_candidate(p, f->address, false, &f->row);
			continue;
		}
		for (size_t k = 0; k < n && r == 0; k++) {
			if (strcmp(symbols[k].name, f->row.name) != 0)
				continue;
			f->found = true;
			r = add_candidate(p, symbols[k].value, symbols[k].is_ifunc, &f->row);
		}
	}
	return r;
}

static int collect(struct planner *p)
{
	const struct elf_symbol *symbols;
	size_t n;
	int r = 0;

	symbols = elf_file_symbols(p->file, &n);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct allocator_function *function =
			allocator_function_find(symbols[i].name);

		note_marker(p, symbols[i].name);
		if (function)
			r = add_candidate(p, symbols[i].value, symbols[i].is_ifunc, function);
	}
	if (r == 0)
		r = collect_custom(p, symbols, n);
	if (r < 0)
		return r;
	vec_sort(&p->candidates, candidate_order);
	drop_aliases(p);
	vec_foreach(&p->candidates, candidate)
		if (!candidate->family)
			candidate->family = p->family;
	return 0;
}

static int skip(struct planner *p, const struct candidate *candidate, bool forwards,
		const char *why)
{
	struct plan_skipped skipped = { .function = candidate->function->name,
					.forwards = forwards,
					.why = why };

	return vec_push(&p->skipped, skipped);
}

static enum plan_exits exits_of(const struct allocator_function *function,
				const struct sites *sites)
{
	if (function->kind == ABI_FREE)
		return PLAN_EXIT_NONE;
	if (function->may_throw)
		return PLAN_EXIT_SITES;
	return sites->why_no_exits ? PLAN_EXIT_RETURN : PLAN_EXIT_ANY;
}

static int set_offsets(struct planner *p, const uint64_t *addrs, size_t n, uint64_t **ret_offsets)
{
	uint64_t *offsets = calloc(n ? n : 1, sizeof(*offsets));
	int r = 0;

	*ret_offsets = offsets;
	for (size_t i = 0; offsets && i < n && r == 0; i++)
		r = elf_file_offset_of(p->file, addrs[i], &offsets[i]);
	return offsets ? r : -ENOMEM;
}

static int set_exit_sites(struct planner *p, const struct sites *sites, struct plan_probe *probe)
{
	probe->n_exit_sites = sites->exits.len;
	return set_offsets(p, sites->exits.data, sites->exits.len, &probe->exit_sites);
}

static int set_results(struct planner *p, const struct result_sites *results,
		       struct plan_probe *probe)
{
	size_t n = results->list.len;
	int r = 0;

	probe->why_no_results = results->why_none;
	probe->results = calloc(n ? n : 1, sizeof(*probe->results));
	if (!probe->results)
		return -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++) {
		probe->results[i] = results->list.data[i];
		r = elf_file_offset_of(p->file, results->list.data[i].addr,
				       &probe->results[i].addr);
	}
	probe->n_results = n;
	probe->n_left_exits = results->exits.len;
	return r ? r : set_offsets(p, results->exits.data, results->exits.len, &probe->left_exits);
}

/* Those outside any segment are no code that runs: left out. */
static void set_inner_frees(struct planner *p, const struct candidate *candidate,
			    struct plan_probe *probe)
{
	uint64_t returns[INNER_FREES_MAX];
	size_t n = inner_frees(p->file, candidate->vaddr, returns);

	for (size_t i = 0; i < n; i++)
		if (elf_file_offset_of(p->file, returns[i],
				       &probe->inner_frees[probe->n_inner_frees]) == 0)
			probe->n_inner_frees++;
}

static int add_probe(struct planner *p, const struct candidate *candidate)
{
	const struct allocator_function *function = candidate->function;
	const struct allocator_family *family = candidate->family;
	const struct sites *sites = &candidate->sites;
	struct plan_probe probe = {
		.function = function->name,
		.kind = function->kind | (function->may_throw ? ABI_THROWS : 0),
		.args = function->args,
		.family = function->by_user || function->by_realloc ?
				  0 :
				  allocator_family_number(family),
		.forms = candidate->forms,
		.entry_emulated = sites->entry_emulated,
		.only_jumps = sites->only_jumps,
		.exits = exits_of(function, sites),
		.may_have_results =
			!p->results && function->kind == ABI_ALLOC && !candidate->results.why_none,
	};
	int r;

	if ((function->kind & ABI_KIND_MASK) == ABI_REALLOC && !function->by_user && family &&
	    family->realloc0_frees)
		probe.kind |= ABI_REALLOC0_FREES;
	r = elf_file_offset_of(p->file, candidate->vaddr, &probe.function_offset);
	if (r == 0)
		r = elf_file_offset_of(p->file, sites->entry_site, &probe.entry_site);
	if (r == 0 && (probe.exits == PLAN_EXIT_ANY || probe.exits == PLAN_EXIT_SITES))
		r = set_exit_sites(p, sites, &probe);
	if (r == 0)
		r = set_results(p, &candidate->results, &probe);
	if (sites->block_argument)
		probe.args = ABI_BLOCK_ARG(sites->block_argument);
	probe.args |= sites->frame_words;
	if (probe.exits == PLAN_EXIT_RETURN)
		probe.why_no_sites = sites->why_no_exits;
	if (function->kind == ABI_FREE && family && family->has_inner_frees &&
	    p->inner_frees_left > 0) {
		p->inner_frees_left--;
		set_inner_frees(p, candidate, &probe);
	}
	if (r == 0)
		r = vec_push(&p->probes, probe);
	if (r < 0)
		free_probe(&probe);
	return r;
}

static enum abi_form form_of(uint8_t forms)
{
	switch (forms) {
	case 1 << ABI_FORM_NEW:
		return ABI_FORM_NEW;
	case 1 << ABI_FORM_ARRAY:
		return ABI_FORM_ARRAY;
	default:
		return ABI_FORM_UNKNOWN; /* one function for both, or for C's as well */
	}
}

/* One that forwards: by which name it was called is to be known where it arrives. */
static int add_mark(struct planner *p, const struct candidate *candidate)
{
	struct plan_mark mark = { .form = form_of(candidate->forms),
				  .deletes = candidate->function->kind == ABI_FREE };
	int r;

	if (!(candidate->forms & ~ABI_FORM_C) || candidate->sites.why_no_entry)
		return 0;
	/* Where it was called from is read off sp. */
	r = elf_file_offset_of(p->file,
			       candidate->sites.frame_words ? candidate->vaddr :
							      candidate->sites.entry_site,
			       &mark.entry_site);
	return r ? r : vec_push(&p->marks, mark);
}

/* Why sites of results are not looked for; NULL: they are. */
static const char *why_not_by_results(const struct allocator_function *function)
{
	switch (function->kind & ABI_KIND_MASK) {
	case ABI_ALLOC:
		return result_sites_why_not(function);
	case ABI_FREE:
		return NULL;
	case ABI_REALLOC:
	case ABI_RESIZE:
		return why_replaces;
	default:
		return why_not_returned;
	}
}

static int find_sites(struct planner *p, struct candidate *candidate)
{
	uint8_t byte;
	int r;

	if (candidate->is_ifunc) {
		candidate->why_not = why_ifunc;
		return 0;
	}
	if (elf_file_read_text(p->file, candidate->vaddr, &byte, 1) != 1) {
		candidate->why_not = why_no_code;
		return 0;
	}
	r = sites_find(p->decoder, &p->code, candidate->function, candidate->vaddr, p->emulation,
		       &candidate->sites);
	candidate->results.why_none = why_not_by_results(candidate->function);
	if (r == 0 && p->results && candidate->function->kind == ABI_ALLOC &&
	    !candidate->results.why_none)
		r = result_sites_find(&p->callees, candidate->function, candidate->vaddr,
				      &candidate->sites, &p->steps_left, &candidate->results);
	if (r == 0 && candidate->function->may_throw)
		candidate->why_not = candidate->sites.why_no_exits;
	if (r == 0 && candidate->sites.why_no_entry)
		candidate->why_not = candidate->sites.why_no_entry;
	return r;
}

/*
 * An aligned new that asks the C library for a multiple of the alignment, as libstdc++'s: only its
 * own argument is what the program has asked for.
 */
static bool rounds_up(const struct planner *p, const struct candidate *candidate)
{
	return p->asked_sizes && candidate->function->kind == ABI_ALLOC && !candidate->why_not &&
	       !candidate->sites.by_operator &&
	       strstr(candidate->function->name, "St11align_val_t");
}

/*
 * A new that only falls back on malloc (jemalloc's does when it is out of memory) is probed, as
 * its blocks are its own. A delete that frees some blocks only, or those that are not NULL, gives
 * back what the object's own new made, so the two must go together.
 */
static bool forwards(const struct candidate *candidate, bool has_own_new)
{
	enum sites_forwards how = candidate->sites.forwards;

	switch (candidate->function->kind) {
	case ABI_FREE:
		return how == SITES_FORWARDS_ALWAYS ||
		       (how == SITES_FORWARDS_SOMETIMES && !has_own_new);
	default:
		return how == SITES_FORWARDS_ALWAYS;
	}
}

static bool has_own_new(const struct planner *p)
{
	vec_foreach(&p->candidates, candidate)
		if (candidate->function->kind == ABI_ALLOC && candidate->function->may_forward &&
		    !candidate->is_ifunc && !forwards(candidate, false))
			return true;
	return false;
}

static int skip_forwarding(struct planner *p, const struct candidate *candidate)
{
	int r = add_mark(p, candidate);

	return r ? r : skip(p, candidate, true, why_forwards);
}

static void set_code(struct planner *p)
{
	p->code = (struct sites_code){
		.ctx = p,
		.read = code_read,
		.slot_name = code_slot_name,
		.function_name = code_function_name,
		.starts_function = code_starts_function,
		.landing_pad = code_landing_pad,
		.definition = code_definition,
		.insns_left = &p->insns_left,
	};
	p->callees = (struct callee_facts){ .decoder = p->decoder,
					    .code = &p->code,
					    .emulation = p->emulation,
					    .steps_left = MAX_CALLEE_STEPS };
	vec_foreach(&p->candidates, candidate)
		p->callees.is_off |= candidate->function->by_user;
}

static int plan_candidates(struct planner *p)
{
	bool own_new;
	int r = 0;

	set_code(p);
	vec_foreach(&p->candidates, candidate) {
		r = find_sites(p, candidate);
		if (r < 0)
			return r;
	}
	own_new = has_own_new(p);
	vec_foreach(&p->candidates, candidate) {
		if (forwards(candidate, own_new) && !rounds_up(p, candidate))
			r = skip_forwarding(p, candidate);
		else if (candidate->why_not)
			r = skip(p, candidate, false, candidate->why_not);
		else
			r = add_probe(p, candidate);
		if (r < 0)
			return r;
	}
	if (is_complete(p))
		vec_foreach(&p->probes, probe)
			probe->family |= ABI_COMPLETE;
	return 0;
}

static int planner_init(struct planner *p)
{
	int r;

	if (elf_file_machine(p->file) != INSN_NATIVE_MACHINE)
		return -EOPNOTSUPP;
	r = insn_decoder_new(elf_file_machine(p->file), &p->decoder);
	return r ? r : eh_table_new(p->file, &p->eh);
}

int plan_new(struct elf_file *file, const char *path, const struct plan_emulation *emulation,
	     struct custom_allocators *custom, bool asked_sizes, bool results,
	     struct plan **ret_plan)
{
	_cleanup_(planner_done) struct planner p = {
		.file = file,
		.emulation = emulation,
		.path = path,
		.custom = custom,
		.asked_sizes = asked_sizes,
		.results = results,
		.insns_left = MAX_INSNS,
		.steps_left = MAX_PROOF_STEPS,
		.inner_frees_left = MAX_WITH_INNER_FREES,
	};
	struct plan *plan;
	int r;

	r = planner_init(&p);
	if (r == 0)
		r = collect(&p);
	if (r == 0)
		r = plan_candidates(&p);
	if (r < 0)
		return r;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	plan->loads_others = elf_file_loads_others(p.file);
	plan->n_probes = p.probes.len;
	plan->probes = TAKE_PTR(p.probes.data);
	plan->n_skipped = p.skipped.len;
	plan->skipped = TAKE_PTR(p.skipped.data);
	plan->n_marks = p.marks.len;
	plan->marks = TAKE_PTR(p.marks.data);
	p.probes.len = 0;
	*ret_plan = plan;
	return 0;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_probes; i++)
		free_probe(&plan->probes[i]);
	free(plan->probes);
	free(plan->skipped);
	free(plan->marks);
	free(plan);
}
