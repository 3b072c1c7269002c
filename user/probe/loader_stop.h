/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function that a dynamic linker calls for debuggers when it has mapped or unmapped libraries,
 * and before any of their code runs: r_debug.r_brk of <link.h>.
 */
#ifndef MEMTRACED_PROBE_LOADER_STOP_H
#define MEMTRACED_PROBE_LOADER_STOP_H

#include <stdint.h>

struct elf_file;

/* Its offset in the file; 0: the file is no dynamic linker, or has another name for it. */
uint64_t loader_stop_find(const struct elf_file *file);

#endif
