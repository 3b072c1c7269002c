/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_crc.h"

#include "base/cleanup.h"

#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

/* Reading takes about a second per 2 GiB. */
#define MAX_CRC_FILE_BYTES (2LL << 30)

int file_crc(int fd, uint32_t *ret_crc)
{
	static const size_t chunk = 64 << 10;
	_cleanup_free_ uint8_t *buf = malloc(chunk);
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	if (fstat(fd, &st) < 0 || st.st_size > MAX_CRC_FILE_BYTES)
		return -EFBIG;
	while (at < st.st_size) {
		n = pread(fd, buf, chunk, at);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	*ret_crc = (uint32_t)crc;
	return 0;
}
