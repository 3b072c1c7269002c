/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan of an object at sampled depth: the USDT probes of otel_memory that it has, and where
 * their arguments are. Stands for plan_new() there, and gives the same struct plan.
 */
#ifndef MEMTRACED_PROBE_SAMPLE_PLAN_H
#define MEMTRACED_PROBE_SAMPLE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct plan;

/* A probe of that library's. */
struct sample_probe {
	const char *note;     /* its name in the file's notes */
	const char *function; /* as of the plan's functions */
	uint8_t kind;
	int n_args;
};

/* All of them, frees first (see struct plan). *ret_n is their number. */
const struct sample_probe *sample_probes(size_t *ret_n);

/*
 * `is_stand_in`: it is the library that samples for programs which carry no probes.
 *
 * A plan without exits, marks and inner frees. A probe whose arguments cannot be evaluated is among
 * what is skipped. 0, or -EOPNOTSUPP: of another machine; -ENOMEM.
 */
int sample_plan_new(struct elf_file *file, bool is_stand_in, struct plan **ret_plan);

#endif
