/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections that are compressed by zstd, which libelf reads from elfutils 0.189 on only. Called by
 * readers of debug information. Pure; any thread that owns the section's Elf.
 */
#ifndef MEMTRACED_ELF_ELF_ZSTD_H
#define MEMTRACED_ELF_ELF_ZSTD_H

#include <gelf.h>
#include <stdbool.h>

bool elf_zstd_is_packed(Elf_Scn *section);

/*
 * The uncompressed bytes of a section for which elf_zstd_is_packed() holds: ch_size of them, which
 * the caller has checked against its bounds. They are malloc'ed and the caller's; NULL where there
 * are none. 0, -ENOMEM or -EBADMSG.
 */
int elf_zstd_unpack(Elf *elf, Elf_Scn *section, void **ret_bytes);

#endif
