/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced sample ...`: which service is to sample itself from its next start on. A language of
 * its own behind the word, as that of ctl.
 */
#ifndef MEMTRACED_CONFIG_SAMPLE_OPTIONS_H
#define MEMTRACED_CONFIG_SAMPLE_OPTIONS_H

#include "config/option_parser.h"

/* Takes all words from the parser's next one on. 0, or option_error's result. */
int sample_options_parse(struct option_parser *p);

#endif
