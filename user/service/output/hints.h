/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What helps where little was seen is a part of some reports; where none of these is
 * written, it goes to standard error. Pure.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_HINTS_H
#define MEMTRACED_SERVICE_OUTPUT_HINTS_H

#include <stdbool.h>

struct options;

/* Does a report say it? */
bool hints_are_written(const struct options *options);

#endif
