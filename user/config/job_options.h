/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that say what is counted: what rows of the option table apply.
 */
#ifndef MEMTRACED_CONFIG_JOB_OPTIONS_H
#define MEMTRACED_CONFIG_JOB_OPTIONS_H

#include "config/option_parser.h"

/* As struct option_def's apply. */
int job_apply_hist(struct option_parser *p, const struct option_def *def, const char *value);
int job_apply_event(struct option_parser *p, const struct option_def *def, const char *value);
int job_apply_cpu(struct option_parser *p, const struct option_def *def, const char *value);
int job_apply_off_cpu(struct option_parser *p, const struct option_def *def, const char *value);
int job_apply_page_faults(struct option_parser *p, const struct option_def *def, const char *value);
int job_apply_allocator(struct option_parser *p, const struct option_def *def, const char *value);

#endif
