/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced report` and `memtraced diff` read recordings that others may have made, often as root:
 * when these are open, the process gives up what reading them and writing reports does not take.
 */
#ifndef MEMTRACED_SERVICE_REPORT_CONFINE_H
#define MEMTRACED_SERVICE_REPORT_CONFINE_H

#include <stdio.h>

struct options;

/*
 * Under sudo the process becomes the invoking user, whose files the outputs are. It has no
 * capabilities, but for two by which root replaces files of others if an output is one; neither
 * executes nor opens sockets, and touches no files but its outputs (sandbox/confine.h). Its memory
 * and its CPU time are limited by the sizes of the n recordings: then reading ends with -ENOMEM, or
 * the process with a message and status 2. 0, or negative errno and the reason in the log.
 */
int report_confine(const struct options *options, FILE *const *files, size_t n);

#endif
