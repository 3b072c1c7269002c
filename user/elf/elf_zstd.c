/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_zstd.h"

#include "base/cleanup.h"
#include "base/zstd_frame.h"

#include <errno.h>
#include <stdlib.h>

/* From the System V ABI; glibc's elf.h has it from 2.37 on. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

bool elf_zstd_is_packed(Elf_Scn *section)
{
	GElf_Shdr sh;
	GElf_Chdr ch;

	return gelf_getshdr(section, &sh) && (sh.sh_flags & SHF_COMPRESSED) &&
	       gelf_getchdr(section, &ch) && ch.ch_type == ELFCOMPRESS_ZSTD;
}

int elf_zstd_unpack(Elf *elf, Elf_Scn *section, void **ret_bytes)
{
	size_t head = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	Elf_Data *packed = elf_rawdata(section, NULL);
	_cleanup_free_ char *bytes = NULL;
	GElf_Chdr ch;
	int r;

	if (!packed || !packed->d_buf || packed->d_size < head || !gelf_getchdr(section, &ch))
		return -EBADMSG;
	if (ch.ch_size == 0) {
		*ret_bytes = NULL;
		return 0;
	}
	bytes = malloc(ch.ch_size);
	if (!bytes)
		return -ENOMEM;
	r = zstd_frame_unpack(bytes, ch.ch_size, (const char *)packed->d_buf + head,
			      packed->d_size - head);
	if (r == 0)
		*ret_bytes = TAKE_PTR(bytes);
	return r;
}
