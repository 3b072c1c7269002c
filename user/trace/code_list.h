/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code mappings of a process in the order in which the unwinder searches them: ascending, none
 * overlapping. And what is to be kept of those that BPF programs noted. Pure functions.
 */
#ifndef MEMTRACED_TRACE_CODE_LIST_H
#define MEMTRACED_TRACE_CODE_LIST_H

#include "base/vec.h"
#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_list {
	VEC(struct abi_unwind_mapping) maps;
};

void code_list_done(struct code_list *list);

/* 0 or -ENOMEM. */
int code_list_copy(const struct code_list *from, struct code_list *ret_list);

/*
 * Puts a mapping in; what it overlaps is cut away. Object 0 cuts only. 0, or -ENOMEM: the list is
 * as before.
 */
int code_list_put(struct code_list *list, const struct abi_unwind_mapping *map);

/* The mapping that holds addr, or NULL. */
const struct abi_unwind_mapping *code_list_at(const struct code_list *list, uint64_t addr);

/* More than programs can note between two of our looks. */
#define CODE_LIST_SEEN 64

/*
 * Takes those of a space's recent ones away that are among `seen`, of which each stands for one,
 * and closes the gaps: what is left is news.
 */
void code_list_drop_seen(struct abi_unwind_space *space, const struct abi_unwind_mapping *seen,
			 size_t n_seen);

#endif
