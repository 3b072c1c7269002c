/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of Go's run-time that change from one stack to another. Go's information says of them
 * that the caller is where the stack pointer is, which is false from the change on. Found by their
 * names; where the caller's stack is, their code says. For elf/cfi/cfi.c and the check of stacks.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_GO_H
#define MEMTRACED_ELF_CFI_CFI_GO_H

#include "elf/cfi/cfi_pieces.h"

enum cfi_go_function {
	CFI_GO_NONE,
	CFI_GO_SWITCHES,  /* calls on another stack, and comes back */
	CFI_GO_RESUMES,	  /* the same, and goes on elsewhere */
	CFI_GO_LEAVES,	  /* what it calls on another stack has no caller there */
	CFI_GO_OUTERMOST, /* TOPFRAME: nothing has called it */
};

/* Which of Go's functions that change stacks has the name. */
enum cfi_go_function cfi_go_function(const char *name);

/* Puts what is known of these functions in front of what settled pieces say. 0 or -ENOMEM. */
int cfi_add_go(const struct cfi_input *in, struct cfi_pieces *pieces);

#endif
