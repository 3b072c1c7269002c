/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that say what is traced, and how a command is started: what rows of the option table
 * apply.
 */
#ifndef MEMTRACED_CONFIG_TARGET_OPTIONS_H
#define MEMTRACED_CONFIG_TARGET_OPTIONS_H

#include "config/option_parser.h"

/* As struct option_def's apply. */
int target_apply_pids(struct option_parser *p, const struct option_def *def, const char *value);
int target_apply_command(struct option_parser *p, const struct option_def *def, const char *value);
int target_apply_run_as(struct option_parser *p, const struct option_def *def, const char *value);
int target_apply_cgroup(struct option_parser *p, const struct option_def *def, const char *value);
int target_apply_uid(struct option_parser *p, const struct option_def *def, const char *value);
int target_apply_comm(struct option_parser *p, const struct option_def *def, const char *value);
int target_apply_env(struct option_parser *p, const struct option_def *def, const char *value);

#endif
