/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leak checks that are no results yet: before the next cut the model may lack some of their stacks,
 * and what a process holds as a whole.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_PENDING_H
#define MEMTRACED_SERVICE_LEAK_LEAK_PENDING_H

#include "analyze/leak_scan.h"
#include "base/vec.h"
#include "model/model.h"
#include "report/leak/leak_result.h"

#include <stdbool.h>
#include <stddef.h>

struct leak_pending {
	struct leak_scan *scan;
	enum leak_occasion occasion;
	enum leak_request request;
	bool has_totals; /* of the cut that the check began */
	struct record_totals totals;
};
/* In their order; each owns its scan. */
typedef VEC(struct leak_pending) leak_pending_list;

void leak_pending_done(leak_pending_list *list);
/* Of all scans together. */
size_t leak_pending_blocks(const leak_pending_list *list);

bool leak_pending_is_of_exec(const struct leak_pending *pending);
/* False before an exec that has not come yet, or that came to nothing: execvp(3) tries many. */
bool leak_pending_exec_came(const leak_pending_list *list, size_t index, const struct model *model);
/* The image tries again to execute a program: of the former attempt nothing came. */
void leak_pending_drop_exec(leak_pending_list *list, image_t image);

/* A cut was taken, which these checks began. */
void leak_pending_set_totals(leak_pending_list *list, const struct model *model);

#endif
