/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-check of stacks (--check-stacks): what the programs have walked, against what elfutils'
 * libdwfl makes of a copy of the same registers and memory. Nothing of it is shared with the walk:
 * libdwfl reads the call frame information by itself. It maps the files, so that one which is
 * truncated meanwhile ends the daemon: a check is for finding faults, not for always. One thread.
 */
#ifndef MEMTRACED_TRACE_UNWIND_STACK_CHECK_H
#define MEMTRACED_TRACE_UNWIND_STACK_CHECK_H

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct abi_ev_stack_copy;
struct stack_check;

/* What came of a stack. All that were sent are in one of them. */
enum stack_check_result {
	CHECK_IDENTICAL,	/* whole, and the reference's frames */
	CHECK_REFERENCE_FAILED, /* the same, but the reference cannot tell that these are all */
	CHECK_BOTH_GUESSED,	/* the same, but frame pointers were followed somewhere */
	CHECK_DIFFERENT,	/* passes for whole, and is not the reference's */
	CHECK_TRUNCATED,	/* marked so, and right as far as it goes; by cause */
	CHECK_CUT_WRONG,	/* marked so, but with frames that the reference does not have */
	CHECK_REFERENCE_SHORT,	/* whole, and goes on where the reference fails */
	CHECK_NO_INFORMATION,	/* whole, where the reference can only guess */
	CHECK_NOT_COPIED,	/* the reference needs memory that is not in the copy */
	CHECK_NO_REFERENCE,	/* nothing is known of the process's code, or libdwfl refuses */
	CHECK_RESULTS
};
/* "identical", "different", ... */
const char *stack_check_result_name(enum stack_check_result result);

/* Code that a process has mapped. */
struct stack_check_code {
	uint64_t start, offset;
	int fd;		  /* of the file, borrowed; -1: none */
	const char *path; /* of the file; NULL: none, which is the vDSO if `vdso` */
	bool vdso;
};

/* A stack as reports have it. */
struct stack_check_walked {
	const uint64_t *frames;
	size_t n;
	bool whole;
	bool by_frame_pointer; /* somewhere there was no better information */
};

int stack_check_new(struct stack_check **ret_check);
/* NULL is legal. */
void stack_check_free(struct stack_check *check);
DEFINE_CLEANUP(struct stack_check, stack_check_free)

/*
 * Walks the copy and compares. `code`: all that the process had mapped at that time. 0 or -ENOMEM.
 * Of stacks whose frames are not the same, both are appended to `ours` and `reference`, a frame a
 * line.
 */
int stack_check_compare(struct stack_check *check, const struct abi_ev_stack_copy *copy,
			const struct stack_check_code *code, size_t n_code,
			const struct stack_check_walked *walked,
			enum stack_check_result *ret_result, struct strbuf *ours,
			struct strbuf *reference);

/* A process is gone: forgets what was read of its code. */
void stack_check_forget(struct stack_check *check, uint32_t slot);

#endif
