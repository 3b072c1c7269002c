/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of the leak check, which are memcheck's where it has the same: what rows of the
 * option table apply, and what is said of those of memcheck's that have no meaning here.
 */
#ifndef MEMTRACED_CONFIG_LEAK_OPTIONS_H
#define MEMTRACED_CONFIG_LEAK_OPTIONS_H

#include "config/option_parser.h"

/* As struct option_def's apply. */
int leak_apply_kinds(struct option_parser *p, const struct option_def *def, const char *value);
int leak_apply_heuristics(struct option_parser *p, const struct option_def *def, const char *value);
int leak_apply_num_callers(struct option_parser *p, const struct option_def *def,
			   const char *value);
int leak_apply_exitcode(struct option_parser *p, const struct option_def *def, const char *value);
int leak_apply_log_file(struct option_parser *p, const struct option_def *def, const char *value);
int leak_apply_suppressions(struct option_parser *p, const struct option_def *def,
			    const char *value);
int leak_apply_at(struct option_parser *p, const struct option_def *def, const char *value);
int leak_apply_max_stop(struct option_parser *p, const struct option_def *def, const char *value);

/* Is the long option memcheck's, and not ours? Then why it is not, and what to do; else NULL. */
const char *leak_option_refused(const char *name, size_t len);

#endif
