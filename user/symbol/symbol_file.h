/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is held open for its symbols, and what a worker says of it. The file is never read
 * here, as others wrote it.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_FILE_H
#define MEMTRACED_SYMBOL_SYMBOL_FILE_H

#include "base/cleanup.h"
#include "symbol/elf_facts.h"

struct worker;

struct symbol_file {
	int fd; /* -1: there is none */
	struct elf_facts facts;
};

/*
 * The descriptor is duplicated. 0; -ENOEXEC: no ELF file, or one of foreign byte order; -EPIPE or
 * -EAGAIN: no worker could say (worker_call); or -ENOMEM.
 */
int symbol_file_open(struct worker *worker, int fd, struct symbol_file *ret_file);
/* The CRC of its contents. 0, -EIO: it cannot be read or is too large, or as symbol_file_open(). */
int symbol_file_crc(struct worker *worker, const struct symbol_file *file, uint32_t *ret_crc);
/* Asks ahead for what symbol_file_open() will ask (worker_ask_ahead). */
void symbol_file_ask(struct worker *worker, int fd);
void symbol_file_done(struct symbol_file *file);

#endif
