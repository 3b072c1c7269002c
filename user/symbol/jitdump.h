/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a jitdump (perf's jitdump-specification.txt), in which JIT compilers say where
 * their code is, from when on, and of which lines. Fed with the file's bytes as it grows; the file
 * is the traced program's. One thread.
 */
#ifndef MEMTRACED_SYMBOL_JITDUMP_H
#define MEMTRACED_SYMBOL_JITDUMP_H

#include "base/cleanup.h"
#include "trace/record/record.h"

#include <stddef.h>

struct jitdump;

int jitdump_new(struct jitdump **ret_dump);
void jitdump_free(struct jitdump *dump); /* NULL is legal */
DEFINE_CLEANUP(struct jitdump, jitdump_free)

/*
 * Takes in what follows the bytes taken in before; new and moved code is handed to fn as
 * RECORD_JIT_CODE, of this slot and source. *ret_used: how many bytes whole records took, 0 until
 * the next one is there as a whole. 0 or negative errno: -EBADMSG for what is no jitdump, is
 * damaged or of foreign byte order, -E2BIG for more code than any sane program's, or what fn
 * returned.
 */
int jitdump_feed(struct jitdump *dump, const char *data, size_t len, uint32_t slot,
		 const char *source, record_fn fn, void *userdata, size_t *ret_used);

#endif
