/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a run was seen, and how well: losses and cut stacks at the latest cut, functions that
 * could not be probed, what came of --check-stacks. Part of the model, which alone changes it.
 */
#ifndef MEMTRACED_MODEL_COVERAGE_H
#define MEMTRACED_MODEL_COVERAGE_H

#include "base/cleanup.h"
#include "model/strings.h"
#include "trace/record/record.h"

struct coverage;

/* `strings` must outlive it. */
int coverage_new(struct strings *strings, struct coverage **ret_coverage);
/* NULL is legal. */
void coverage_free(struct coverage *coverage);
DEFINE_CLEANUP(struct coverage, coverage_free)

/* What a cut says counts from its end on; an unfinished one leaves it as it was. 0 or -ENOMEM. */
void coverage_cut_begin(struct coverage *coverage);
int coverage_cut(struct coverage *coverage, const struct record_coverage *record);
void coverage_cut_end(struct coverage *coverage);
/* What holds is the state of the latest cut, which is not that of the run's end: a loss. */
int coverage_cut_off(struct coverage *coverage);

/* Each takes in the record of its name; a function is listed once. 0 or -ENOMEM. */
int coverage_add_unprobed(struct coverage *coverage, const struct record_unprobed *record);
int coverage_stack_check(struct coverage *coverage, const struct record_stack_check *record);
int coverage_add_differs(struct coverage *coverage, const struct record_stack_differs *record);

/* NULL before the first cut. */
const struct record_coverage *coverage_at_cut(const struct coverage *coverage);
/* NULL: nobody asked. */
const struct record_stack_check *coverage_of_stacks(const struct coverage *coverage);

size_t coverage_n_unprobed(const struct coverage *coverage);
const struct record_unprobed *coverage_unprobed(const struct coverage *coverage, size_t index);
size_t coverage_n_differs(const struct coverage *coverage);
const struct record_stack_differs *coverage_differs(const struct coverage *coverage, size_t index);

#endif
