/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table behind config/options.h: a row an option. Parser, help and tests read it; nobody else
 * includes this. Adding an option is a row here and a field of struct options.
 */
#ifndef MEMTRACED_CONFIG_OPTION_TABLE_H
#define MEMTRACED_CONFIG_OPTION_TABLE_H

#include "config/option_parser.h"

extern const struct option_def option_table[];
extern const size_t n_options;

#endif
