/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that say where reports go: -f and -o, and what paths may have in them.
 */
#ifndef MEMTRACED_CONFIG_OUTPUT_OPTIONS_H
#define MEMTRACED_CONFIG_OUTPUT_OPTIONS_H

#include "config/option_parser.h"

/* As struct option_def's apply. */
int output_apply_format(struct option_parser *p, const struct option_def *def, const char *value);
int output_apply_file(struct option_parser *p, const struct option_def *def, const char *value);

/*
 * Is each percent sign of `path` one of %%, or % and a character of `known`? 0, or option_error's
 * result, which names `option`. What would be taken for itself today could mean something later.
 */
int output_check_path(struct option_parser *p, const char *option, const char *path,
		      const char *known);

bool output_has_format(const struct options *o, const char *format);

/* Of samples, unless it is asked for: less where a format draws the run of a short program. */
uint64_t output_sample_interval_ns(const struct options *o);

#endif
