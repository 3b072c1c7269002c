/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the dynamic linker looks for when it loads a file, by the file's dynamic section (System V
 * gABI, "Dynamic Section"). Nothing in it is trusted: what is damaged or too long is left out.
 */
#ifndef MEMTRACED_ELF_ELF_NEEDS_H
#define MEMTRACED_ELF_ELF_NEEDS_H

#include "base/vec.h"

#define ELF_NEEDS_MOST 256     /* libraries of one file */
#define ELF_NEEDS_NAME_MAX 255 /* bytes of a library's name */
#define ELF_NEEDS_SEARCH_MAX 4095

struct elf_file;

struct elf_needs {
	VEC(char *) names; /* DT_NEEDED, in their order */
	char *search;	   /* DT_RUNPATH, else DT_RPATH: folders between colons; NULL: none */
};

/* Of a file that needs none both are empty. 0 or -ENOMEM; `ret_needs` is for elf_needs_done(). */
int elf_needs_read(struct elf_file *file, struct elf_needs *ret_needs);
void elf_needs_done(struct elf_needs *needs);

#endif
