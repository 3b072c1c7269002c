/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that run-times made, by process, address and time: what RECORD_JIT_CODE records say. One
 * thread, with 5 MiB of stack left for demangling.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JIT_CODES_H
#define MEMTRACED_SYMBOL_JIT_JIT_CODES_H

#include "base/cleanup.h"
#include "symbol/symbolizer.h"
#include "trace/record/image.h"
#include "trace/record/record.h"

struct jit_codes;

/* A place in such code. Its strings are the codes'. */
struct jit_place {
	uint32_t code; /* number of the piece of code: others that hold the place have others */
	const char *source;
	struct symbol_frame frame;
};

/* 0 or -ENOMEM. */
int jit_codes_new(struct jit_codes **ret_codes);
void jit_codes_free(struct jit_codes *codes); /* NULL is legal */
DEFINE_CLEANUP(struct jit_codes, jit_codes_free)

/* Copies. Where pieces overlap, the newer is there; of two without a time the later added. 0 or
 * -ENOMEM; a record of no bytes or no name is ignored. */
int jit_codes_add(struct jit_codes *codes, const struct record_jit_code *record);

/*
 * What was at the address at that time; `is_call`: before it. 0, -ENOENT when nothing is known to
 * have been, or -ENOMEM.
 */
int jit_codes_find(struct jit_codes *codes, image_t image, uint64_t addr, bool is_call,
		   uint64_t time_ns, struct jit_place *ret_place);

#endif
