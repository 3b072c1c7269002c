/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of an ELF file before any symbol of it is looked up: who it is, where its segments
 * are, where its debug information may be. Plain data: a worker reads it from the file, and the
 * daemon from the worker's answer.
 */
#ifndef MEMTRACED_SYMBOL_ELF_FACTS_H
#define MEMTRACED_SYMBOL_ELF_FACTS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define ELF_MAX_BUILD_ID 64

struct elf_build_id {
	uint8_t bytes[ELF_MAX_BUILD_ID];
	uint8_t len; /* 0: none */
};

/* Tells whether a file is what it was: by its build ID or, without one, by size and time. */
struct elf_stamp {
	struct elf_build_id build_id;
	uint64_t size_bytes;
	uint64_t modified_s, modified_ns;
};

struct elf_load {
	uint64_t vaddr, file_offset, file_bytes, mem_bytes;
	bool executable;
};

struct elf_facts {
	struct elf_stamp stamp;
	uint16_t machine;
	uint8_t class; /* EI_CLASS */
	bool has_dwarf, has_symtab;
	char *link; /* name in .gnu_debuglink, without a folder; NULL: none */
	uint32_t link_crc;
	char *alt; /* path in .gnu_debugaltlink; NULL: none */
	struct elf_build_id alt_id;
	VEC(struct elf_load) loads;
};

void elf_facts_done(struct elf_facts *facts);

bool elf_same_build_id(const struct elf_build_id *a, const struct elf_build_id *b);
/* By build ID where `then` has one. */
bool elf_stamp_matches(const struct elf_stamp *then, const struct elf_stamp *now);

/* The address of a file offset, executable segments first; false when no segment holds it. */
bool elf_loads_vaddr(const struct elf_load *loads, size_t n, uint64_t file_offset,
		     uint64_t *ret_vaddr);

#endif
