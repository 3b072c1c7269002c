/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of massif's format, which are massif's: what rows of the option table apply, and what
 * is said of those of massif's that have no meaning here.
 */
#ifndef MEMTRACED_CONFIG_MASSIF_OPTIONS_H
#define MEMTRACED_CONFIG_MASSIF_OPTIONS_H

#include "config/option_parser.h"

/* Defaults, which are massif's. */
#define MASSIF_THRESHOLD 100
#define MASSIF_SNAPSHOTS 100

/* As struct option_def's apply. */
int massif_apply_threshold(struct option_parser *p, const struct option_def *def,
			   const char *value);
int massif_apply_max_snapshots(struct option_parser *p, const struct option_def *def,
			       const char *value);
int massif_apply_time_unit(struct option_parser *p, const struct option_def *def,
			   const char *value);

/* Is the long option massif's, and not ours? Then why it is not, and what to do; else NULL. */
const char *massif_option_refused(const char *name, size_t len);

#endif
