/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams that compress what is written to them as the name of their file says: readers that go by
 * the name take nothing else.
 */
#ifndef MEMTRACED_REPORT_PACKED_OUT_H
#define MEMTRACED_REPORT_PACKED_OUT_H

#include <stdio.h>

/*
 * A stream onto `file`, for a path that ends in .gz or .zst; *ret_stream is NULL for others, which
 * are written as they are. To be closed before the file, which keeps the errors of writing. 0 or
 * -ENOMEM.
 */
int packed_out_open(const char *path, FILE *file, FILE **ret_stream);

#endif
