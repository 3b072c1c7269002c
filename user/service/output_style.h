/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What options say of an output's contents and looks.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_STYLE_H
#define MEMTRACED_SERVICE_OUTPUT_STYLE_H

#include "report/report_opts.h"

/* Borrows from the options; of jobs the first, of leak checks none. */
struct report_opts output_style(const struct options *options, const struct option_output *output);

#endif
