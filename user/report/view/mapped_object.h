/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens what a process maps for its symbols. Part of report/view/symbols.h.
 */
#ifndef MEMTRACED_REPORT_VIEW_MAPPED_OBJECT_H
#define MEMTRACED_REPORT_VIEW_MAPPED_OBJECT_H

#include "model/model.h"
#include "symbol/symbolizer.h"

/* `open_file`: the files of this host are those of the run. 0 or -ENOMEM. */
int mapped_object_open(const struct model *model, const struct model_object *object,
		       struct symbolizer *symbolizer, bool open_file,
		       struct symbol_object **ret_object);

#endif
