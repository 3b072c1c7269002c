/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --sample puts into the environment of a command.
 */
#ifndef MEMTRACED_SERVICE_SAMPLE_ENVIRONMENT_H
#define MEMTRACED_SERVICE_SAMPLE_ENVIRONMENT_H

#include <stdbool.h>

struct options;

/*
 * The variables to set for the command: the user's (--env), and with --sample the interval unless
 * the user has set it, and the sampling library before what else is preloaded, unless the command
 * carries probes itself or MEMTRACED_SAMPLE_PRELOAD is "no". NULL-terminated, for words_free.
 * *ret_sampled: will it show samples, as far as its file tells? 0 or -ENOMEM.
 */
int sample_environment(const struct options *options, char ***ret_words, bool *ret_sampled);

#endif
