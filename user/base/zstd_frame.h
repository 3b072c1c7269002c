/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacks what zstd has packed, of a size that is known before. Pure; any thread. */
#ifndef MEMTRACED_BASE_ZSTD_FRAME_H
#define MEMTRACED_BASE_ZSTD_FRAME_H

#include <stddef.h>

/*
 * `packed` has n bytes: frames of `size` bytes in all, which are written to `bytes`. The output is
 * one buffer, so that a frame's window needs no memory of its own. 0, -ENOMEM, or -EBADMSG: these
 * are not such frames.
 */
int zstd_frame_unpack(void *bytes, size_t size, const void *packed, size_t n);

#endif
