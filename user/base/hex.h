/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes as hexadecimal digits, such as build IDs and tokens. Header only. */
#ifndef MEMTRACED_BASE_HEX_H
#define MEMTRACED_BASE_HEX_H

#include <stddef.h>

/* out: room for 2 * n + 1 characters, which end with NUL. */
static inline void hex_text(char *out, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 0xf];
	}
	*out = '\0';
}

#endif
