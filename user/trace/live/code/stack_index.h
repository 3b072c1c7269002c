/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of each stack that was recorded, by its id: why it is not whole. Pure. */
#ifndef MEMTRACED_TRACE_LIVE_STACK_INDEX_H
#define MEMTRACED_TRACE_LIVE_STACK_INDEX_H

#include "base/cleanup.h"
#include "bpf/abi_unwind.h"

#include <stdbool.h>
#include <stdint.h>

/* Why a stack is not whole, beside enum abi_stack_cut. */
enum stack_cut {
	STACK_CUT_FRAME_POINTERS = ABI_CUTS, /* they ended where no stack is known to begin */
	STACK_CUT_LOST,			     /* it never came */
	/* Code that had gone, or may have come later, when it was read which it is: nameless. */
	STACK_CUT_GONE,
	STACK_CUT_GENERATED, /* code that a run-time has made: no file has information about it */
	STACK_CUT_ROOM,	     /* all stacks have as many frames as there is room for */
	STACK_CUTS
};

struct stack_facts {
	uint64_t id;
	uint8_t cut;	     /* enum stack_cut or abi_stack_cut; ABI_CUT_NONE: complete */
	bool frame_pointers; /* followed for want of call frame information */
	bool by_library;     /* our library is on it, near its top */
	uint16_t frames;     /* that are kept of it */
};

struct stack_index;

int stack_index_new(struct stack_index **ret_index);
/* NULL is legal. */
void stack_index_free(struct stack_index *index);
DEFINE_CLEANUP(struct stack_index, stack_index_free)

/* 0, -ENOMEM or -EEXIST. */
int stack_index_add(struct stack_index *index, const struct stack_facts *facts);
/* NULL: it is not known. */
const struct stack_facts *stack_index_find(const struct stack_index *index, uint64_t id);
void stack_index_remove(struct stack_index *index, uint64_t id);
/* Those of all that are known. */
uint64_t stack_index_frames(const struct stack_index *index);

/* It met code that was gone: why it is not whole may follow from that. */
void stack_facts_set_gone(struct stack_facts *facts);
/* The same, if it is known. */
void stack_index_set_gone(struct stack_index *index, uint64_t id);

#endif
