/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens what a process maps for its symbols. Part of report/view/symbols.h.
 */
#ifndef MEMTRACED_REPORT_VIEW_MAPPED_OBJECT_H
#define MEMTRACED_REPORT_VIEW_MAPPED_OBJECT_H

#include "model/model.h"
#include "symbol/symbolizer.h"

/*
 * local_path: where this host can open it; NULL: it cannot, or its files are not those of the run.
 * slot: a process that maps it. 0 or -ENOMEM.
 */
int mapped_object_open(const struct model *model, const struct model_object *object,
		       struct symbolizer *symbolizer, const char *local_path, uint32_t slot,
		       struct symbol_object **ret_object);

#endif
