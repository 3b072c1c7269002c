/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced diff BEFORE AFTER`: what has changed from one recorded run to another.
 */
#ifndef MEMTRACED_SERVICE_DIFF_H
#define MEMTRACED_SERVICE_DIFF_H

struct options;

/*
 * 0; -EINVAL: usage; -EPIPE: stdout is closed; other negative errno: a file cannot be read, has
 * nothing to compare, or an output could not be written. What is wrong was logged.
 */
int diff_recordings(const struct options *options);

#endif
