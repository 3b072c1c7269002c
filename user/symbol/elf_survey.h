/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the facts of an ELF file. Part of the worker (symbol/symbol_server.h).
 */
#ifndef MEMTRACED_SYMBOL_ELF_SURVEY_H
#define MEMTRACED_SYMBOL_ELF_SURVEY_H

#include "symbol/elf_facts.h"

struct elf_image;

/* 0 or -ENOMEM. */
int elf_survey(const struct elf_image *image, struct elf_facts *ret_facts);

#endif
