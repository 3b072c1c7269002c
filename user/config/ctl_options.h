/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced ctl ...`: what is asked of a running service. A language of its own behind the word.
 */
#ifndef MEMTRACED_CONFIG_CTL_OPTIONS_H
#define MEMTRACED_CONFIG_CTL_OPTIONS_H

#include "config/option_parser.h"

/* Takes all words from the parser's next one on. 0, or option_error's result. */
int ctl_options_parse(struct option_parser *p);

#endif
