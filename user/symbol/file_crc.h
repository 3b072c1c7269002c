/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CRC of a whole file, by which .gnu_debuglink knows its debug file. In the worker: any size of
 * any owner's file is read.
 */
#ifndef MEMTRACED_SYMBOL_FILE_CRC_H
#define MEMTRACED_SYMBOL_FILE_CRC_H

#include <stdint.h>

/* 0 or negative errno; -EFBIG: more than 2 GiB; -EIO: it became shorter meanwhile. */
int file_crc(int fd, uint32_t *ret_crc);

#endif
