/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF executable or shared library, read through a descriptor: its functions, the pointers
 * that the dynamic linker binds to imported ones, its mapping of addresses to file offsets. The
 * file belongs to somebody else: nothing in it is trusted, and it is read, never mapped, so that
 * its owner can truncate it at any time. Addresses are the file's own (st_value), before any load
 * bias. One thread at a time.
 */
#ifndef MEMTRACED_ELF_ELF_FILE_H
#define MEMTRACED_ELF_ELF_FILE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct stat;

/* A function that the file defines. */
struct elf_symbol {
	const char *name; /* without version; lives as long as the file */
	uint64_t value;
	uint64_t size;
	bool is_ifunc; /* STT_GNU_IFUNC: at `value` is the resolver, not the function */
};

/*
 * 0, or -ENOEXEC: not an ELF file; -EOPNOTSUPP: not a 64-bit little-endian executable or shared
 * library; -EBADMSG: damaged; -ENOMEM. `fd` is not closed and must stay open for as long as the
 * object lives; its offset does not matter.
 */
int elf_file_new(int fd, struct elf_file **ret_file);

/* The same, but its functions are not read: it has none. */
int elf_file_new_without_symbols(int fd, struct elf_file **ret_file);

/* Is it an ELF file for 32 bits? False also when it cannot be read. */
bool elf_file_is_32bit(int fd);
void elf_file_free(struct elf_file *file); /* NULL is legal */
DEFINE_CLEANUP(struct elf_file, elf_file_free)

uint16_t elf_file_machine(const struct elf_file *file); /* e_machine */
uint16_t elf_file_type(const struct elf_file *file);	/* ET_EXEC or ET_DYN */
uint64_t elf_file_entry(const struct elf_file *file);	/* e_entry */

/* An executable that needs no dynamic linker, at a fixed address or (static-pie) not. */
bool elf_file_is_static_executable(const struct elf_file *file);

/* Does the dynamic linker load others for it, or is it that linker? True of libraries, too. */
bool elf_file_loads_others(const struct elf_file *file);

/* Whether .dynsym or .symtab is there and has entries, defined or not. */
bool elf_file_has_symbols(const struct elf_file *file);

/* All functions of .dynsym and .symtab, by ascending value; most are there twice. */
const struct elf_symbol *elf_file_symbols(const struct elf_file *file, size_t *ret_n);

/* The first of the symbols at exactly `vaddr`, or NULL; *ret_n of them follow each other. */
const struct elf_symbol *elf_file_symbols_at(const struct elf_file *file, uint64_t vaddr,
					     size_t *ret_n);

/*
 * The symbol that the dynamic linker binds the pointer at `slot` to, or NULL: an imported one, or
 * one of the object's own whose code a resolver chooses (ifunc).
 */
const char *elf_file_slot_symbol(const struct elf_file *file, uint64_t slot);

/* By PT_LOAD. 0, or -ENOENT where the file has no such byte. */
int elf_file_offset_of(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_offset);

/* Copies up to `len` loaded bytes from `vaddr` on; how many there are. text: executable ones. */
size_t elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len);
size_t elf_file_read_text(struct elf_file *file, uint64_t vaddr, void *buf, size_t len);

/* What a PT_LOAD maps for execution, without what is not in the file. */
struct elf_text {
	uint64_t vaddr, offset, size;
};

/* How many there are; the first `max` of them are written. */
size_t elf_file_texts(const struct elf_file *file, struct elf_text *ret_texts, size_t max);

/* The page on which the lowest PT_LOAD starts; 0 where there is none. */
uint64_t elf_file_base(const struct elf_file *file);

/* DT_PLTGOT: what DW_EH_PE_datarel is relative to; 0: there is none. */
uint64_t elf_file_got(const struct elf_file *file);

/* How many entries PT_DYNAMIC has, 4096 at most, and where in the file; 0: there are none. */
size_t elf_file_dynamic(const struct elf_file *file, uint64_t *ret_offset);

/* Copies up to `len` bytes of the file from `offset` on; how many there are. */
size_t elf_file_read_offset(const struct elf_file *file, uint64_t offset, void *buf, size_t len);

/* How many loaded bytes there are from `vaddr` on, up to its segment's end. */
uint64_t elf_file_left(const struct elf_file *file, uint64_t vaddr);

/* Address of .eh_frame_hdr (PT_GNU_EH_FRAME), or -ENOENT. */
int elf_file_eh_frame_hdr(const struct elf_file *file, uint64_t *ret_vaddr);

/* The build ID's length in bytes, 0: there is none. *ret_id lives as long as the file. */
size_t elf_file_build_id(struct elf_file *file, const uint8_t **ret_id);

/* As the file was when it was opened. */
const struct stat *elf_file_stat(const struct elf_file *file);

/* For elf/ only. */
typedef struct Elf Elf;
Elf *elf_file_libelf(struct elf_file *file);

#endif
