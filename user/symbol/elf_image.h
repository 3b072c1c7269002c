/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file held open for symbolization, by libelf. It is read, never mapped: a process that
 * truncates a mapped file would kill this process by SIGBUS. Files are other people's, so what they
 * can make us allocate is bounded. Part of the worker (symbol/symbol_server.h): the daemon reads no
 * file itself. One thread.
 */
#ifndef MEMTRACED_SYMBOL_ELF_IMAGE_H
#define MEMTRACED_SYMBOL_ELF_IMAGE_H

#include "base/cleanup.h"
#include "symbol/elf_facts.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;

/* The descriptor is duplicated. -ENOEXEC: no ELF file, or one of foreign byte order. */
int elf_image_open(int fd, struct elf_image **ret_image);
/* Takes over `data` (malloc'ed), also when it fails. */
int elf_image_from_memory(char *data, size_t size_bytes, struct elf_image **ret_image);
void elf_image_free(struct elf_image *image); /* NULL is legal */
DEFINE_CLEANUP(struct elf_image, elf_image_free)

/*
 * Is the file as it was when it was opened? What is read later than that may be another file's,
 * when it was written over. True for an image from memory.
 */
bool elf_image_is_unchanged(const struct elf_image *image);

/* The file; -1: it is from memory. */
int elf_image_fd(const struct elf_image *image);
Elf *elf_image_elf(const struct elf_image *image);
/* Of when it was opened; without size and times for an image from memory. */
const struct elf_stamp *elf_image_stamp(const struct elf_image *image);
const struct elf_load *elf_image_loads(const struct elf_image *image, size_t *ret_n);

/* Whether an executable segment holds the address. */
bool elf_image_is_code(const struct elf_image *image, uint64_t vaddr);

/* The first section of the name (NULL: any) and type (SHT_NULL: any) with bytes in the file. */
Elf_Scn *elf_image_section(const struct elf_image *image, const char *name, uint32_t type);
/* Its bytes, uncompressed; NULL when unreadable or, uncompressed, above max_bytes. The image's. */
Elf_Data *elf_image_data(Elf_Scn *scn, uint64_t max_bytes);
/*
 * Replaces the .debug_* sections that are compressed by zstd by their bytes, for libdw, which does
 * not know zstd before elfutils 0.189. The caller has checked elf_image_debug_bytes(). One that
 * makes no sense stays as it is. 0 or -ENOMEM.
 */
int elf_image_unpack_zstd(struct elf_image *image);
/* What all .debug_* sections would take uncompressed. */
uint64_t elf_image_debug_bytes(const struct elf_image *image);
bool elf_image_has_dwarf(const struct elf_image *image);

/* Reads the facts of a file. 0 or -ENOMEM. */
int elf_survey(const struct elf_image *image, struct elf_facts *ret_facts);

/*
 * The CRC of a whole file, by which .gnu_debuglink knows its debug file. 0 or negative errno;
 * -EFBIG: more than 2 GiB; -EIO: it became shorter meanwhile.
 */
int file_crc(int fd, uint32_t *ret_crc);

#endif
