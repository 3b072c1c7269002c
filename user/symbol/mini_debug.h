/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mini debug info: an xz-compressed ELF file in the section .gnu_debugdata, whose symbol table
 * holds the functions that .dynsym lacks (FORMATS 10.4).
 */
#ifndef MEMTRACED_SYMBOL_MINI_DEBUG_H
#define MEMTRACED_SYMBOL_MINI_DEBUG_H

struct elf_image;

/* 0, -ENOENT when there is none, -EBADMSG when it is damaged or implausibly large, -ENOMEM. */
int mini_debug_open(const struct elf_image *image, struct elf_image **ret_mini);

#endif
