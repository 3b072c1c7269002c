/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the separate debug file of an ELF image, by build ID and .gnu_debuglink, and the common
 * file that dwz moved shared DWARF to (FORMATS 10.4): in the target's root first, then on this
 * host, by no path that leaves the root it was found in; when asked for, from debuginfod servers.
 */
#ifndef MEMTRACED_SYMBOL_DEBUG_SEARCH_H
#define MEMTRACED_SYMBOL_DEBUG_SEARCH_H

struct elf_image;

/*
 * `path` is the image's own, as the target sees it; `root` the target's root, or NULL for this
 * host's. A file is taken only when its build ID, or without one its CRC, is the image's. What is
 * not found, or not needed because the image holds DWARF itself, is NULL. 0 or -ENOMEM.
 */
int debug_search(const struct elf_image *image, const char *path, const char *root,
		 struct elf_image **ret_debug, struct elf_image **ret_alt);

/*
 * The same from debuginfod servers, for what was not found: *debug and *alt (each may be NULL) are
 * set where one has it. 0 or -ENOMEM.
 */
struct debuginfod;
int debug_fetch(const struct elf_image *image, struct debuginfod *debuginfod,
		struct elf_image **debug, struct elf_image **alt);

#endif
