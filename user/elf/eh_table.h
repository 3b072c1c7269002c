/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the exception tables of an ELF file (.eh_frame_hdr, .eh_frame, .gcc_except_table) say about
 * its code, also where it has no symbols: where functions start, and where an exception goes on.
 * Reads single entries on demand, believes none of them. One thread at a time.
 */
#ifndef MEMTRACED_ELF_EH_TABLE_H
#define MEMTRACED_ELF_EH_TABLE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct eh_table;
struct elf_file;

/*
 * 0 or -ENOMEM; a file without tables, or with tables of a form that no linker in use writes,
 * makes an empty one. `file` must outlive it.
 */
int eh_table_new(struct elf_file *file, struct eh_table **ret_table);
void eh_table_free(struct eh_table *table); /* NULL is legal */
DEFINE_CLEANUP(struct eh_table, eh_table_free)

/* Whether a function, or a part of one that stands apart (.cold), starts at `vaddr`. */
bool eh_table_starts_function(const struct eh_table *table, uint64_t vaddr);

/*
 * Where the function that holds the call instruction at `vaddr` goes on, for a handler or for
 * clean-up, when that call throws; 0 when it does not. Time is bounded: a file with far more calls
 * than any allocator has gets 0 from some point on.
 */
uint64_t eh_table_landing_pad(struct eh_table *table, uint64_t vaddr);

#endif
