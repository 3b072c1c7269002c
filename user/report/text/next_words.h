/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to try where a run, or a part of it, has seen nothing. Pure functions.
 */
#ifndef MEMTRACED_REPORT_TEXT_NEXT_WORDS_H
#define MEMTRACED_REPORT_TEXT_NEXT_WORDS_H

#include "model/model.h"

/* NULL where the latest state has anything: events, mappings, blocks from before. */
const char *next_words(const struct model *model);

/* Of an event, or (NULL) a histogram or system calls, that did not happen. */
const char *next_words_event(const struct record_event *event);

#endif
