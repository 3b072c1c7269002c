/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probe plan of one object: which allocator functions it defines and where each is probed.
 * A pure function of the file: the caller attaches it, for as many processes as map the object.
 */
#ifndef MEMTRACED_PROBE_PLAN_H
#define MEMTRACED_PROBE_PLAN_H

#include "base/cleanup.h"
#include "bpf/abi_sample.h"
#include "probe/inner_frees.h"
#include "probe/insn_types.h"
#include "probe/result_sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the returns of a function can be seen. */
enum plan_exits {
	PLAN_EXIT_NONE,	  /* not needed: free */
	PLAN_EXIT_ANY,	  /* a return probe is safe; exit sites are known as well */
	PLAN_EXIT_RETURN, /* return probe only: exit sites cannot be proven, see why_no_sites */
	PLAN_EXIT_SITES,  /* exit sites only: the function can be left by unwinding */
};

struct plan_probe {
	const char *function; /* the table's or custom_allocators' name, "malloc" */
	uint8_t kind;	      /* enum abi_kind, with all its flags but ABI_AT_EXIT */
	uint16_t args;	      /* ABI_SIZE_*, ABI_BLOCK_ARG; not of a sample's probe, which has: */
	struct abi_sample_spec sample;
	uint64_t semaphore_offset; /* file offset of its counter of listeners; 0: none */
	/* allocator_family_number(); 0: not known, any, or of the user's own. With ABI_COMPLETE. */
	uint8_t family;
	uint8_t forms;	     /* allocator_function_forms() of all its names; 0: not known */
	bool entry_emulated; /* the kernel emulates the instruction at entry_site */
	bool only_jumps;     /* as of struct sites */
	enum plan_exits exits;
	uint64_t function_offset; /* file offset of the function's first byte */
	uint64_t entry_site; /* file offset of the probe: sp and the arguments are as at entry */
	size_t n_exit_sites;
	uint64_t *exit_sites;	  /* file offsets of every `ret` that the function can leave by */
	const char *why_no_sites; /* static string or NULL */
	bool may_have_results;	  /* sites of results were not asked for, and may be there */
	/* As of result_sites_find(), each with a file offset for its address; 0: none. */
	size_t n_results;
	struct result_site *results;
	const char *why_no_results; /* static string or NULL */
	/* File offsets: as result_sites.exits. */
	size_t n_left_exits;
	uint64_t *left_exits;
	/* File offsets of the return addresses of inner frees: probe/inner_frees.h. */
	size_t n_inner_frees;
	uint64_t inner_frees[INNER_FREES_MAX];
};

/* A function of the table that is in the object and is not probed. */
struct plan_skipped {
	const char *function;
	bool forwards;	 /* by design: it calls a function that is probed; not a loss */
	const char *why; /* static string */
};

/* A form of new or delete that forwards, whose entry is probed where forms are of interest. */
struct plan_mark {
	uint64_t entry_site; /* as of plan_probe */
	uint8_t form;	     /* enum abi_form */
	bool deletes;
};

struct custom_allocators;

struct plan {
	size_t n_probes;
	struct plan_probe *probes; /* frees first: a block that is recorded has its free seen */
	size_t n_skipped;
	struct plan_skipped *skipped;
	size_t n_marks;
	struct plan_mark *marks;
	bool loads_others; /* elf_file_loads_others() */
};

/*
 * Plans an object with that path, whose file is no longer used afterwards, for the table and for
 * `custom`, which may be NULL, is told what was found, and must outlive the plan. 0 with an empty
 * plan when the object defines no allocator; -EOPNOTSUPP: of another machine; -EBADMSG: damaged.
 * `asked_sizes`: an aligned new is probed even where it only forwards a larger request, at the cost
 * of loading another program for each process with libstdc++. `results`: sites of results are
 * looked for, which takes longer than all else.
 */
struct elf_file;
int plan_new(struct elf_file *file, const char *path, const struct plan_emulation *emulation,
	     struct custom_allocators *custom, bool asked_sizes, bool results,
	     struct plan **ret_plan);
void plan_free(struct plan *plan); /* NULL is legal */
DEFINE_CLEANUP(struct plan, plan_free)

#endif
