/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/zstd_frame.h"

#include <errno.h>
#include <zstd.h>
#include <zstd_errors.h>

int zstd_frame_unpack(void *bytes, size_t size, const void *packed, size_t n)
{
	size_t got = ZSTD_decompress(bytes, size, packed, n);

	if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	return got == size ? 0 : -EBADMSG;
}
