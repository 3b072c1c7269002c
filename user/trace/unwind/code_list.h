/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code mappings of a process in the order in which the unwinder searches them: ascending, none
 * overlapping. Pure functions.
 */
#ifndef MEMTRACED_TRACE_UNWIND_CODE_LIST_H
#define MEMTRACED_TRACE_UNWIND_CODE_LIST_H

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

/* Which of a space's recent mappings are in the list: all up to a number, and some behind it. */
struct code_numbers {
	uint32_t merged;
	uint64_t ahead; /* bit i: merged + 1 + i */
};

/*
 * This one is, too. Events of two threads can come in another order than their numbers; one that is
 * missing when as many came after it as programs have room for was lost, and is waited for no more.
 */
void code_numbers_add(struct code_numbers *numbers, uint32_t number);

#endif
