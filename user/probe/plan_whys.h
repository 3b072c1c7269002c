/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a function of an object is not probed, or not at its returns, in the words of reports. A
 * table, so that who plans in another process can say it by number.
 */
#ifndef MEMTRACED_PROBE_PLAN_WHYS_H
#define MEMTRACED_PROBE_PLAN_WHYS_H

#include <stdint.h>

extern const char why_ifunc[], why_no_code[], why_forwards[], why_indirect[], why_leaves[];
extern const char why_unreadable[], why_refused[], why_large[], why_arguments[];
extern const char why_variable[];

/* From 1 on; 0 for NULL. `why` is one of those above. */
uint8_t plan_why_number(const char *why);
/* NULL for 0, and for what is no such number. */
const char *plan_why(uint8_t number);

#endif
