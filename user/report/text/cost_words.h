/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting calls has cost the traced processes, in words. Pure functions.
 */
#ifndef MEMTRACED_REPORT_TEXT_COST_WORDS_H
#define MEMTRACED_REPORT_TEXT_COST_WORDS_H

#include "base/strbuf.h"
#include "trace/record/record.h"

#include <stdbool.h>
#include <stdint.h>

/* "389.1 k calls/s; counting took ~338 % of the processes' own ...", without its end. */
void cost_words(const struct record_cost *cost, struct strbuf *out);
/* "389.1 k calls/s, counting them adds ~338 % CPU time" */
void cost_short_words(const struct record_cost *cost, struct strbuf *out);

/* The time that a rate of calls is of. */
uint64_t cost_counted_ns(const struct record_cost *cost);
/* What it was between two looks, of which `before` came first. */
struct record_cost cost_since(const struct record_cost *before, const struct record_cost *now);
/* Of less CPU time nothing but the rate is said. */
bool cost_is_known(const struct record_cost *cost);
/* So much that a production process should not bear it. */
bool cost_is_high(const struct record_cost *cost);
/* "; the limit is 20 %", or what sets one. */
void cost_bound_words(const struct record_cost *cost, struct strbuf *out);

#endif
