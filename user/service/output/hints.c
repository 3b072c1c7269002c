/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/hints.h"

#include "base/log.h"
#include "config/options.h"
#include "report/report.h"
#include "report/text/next_words.h"
#include "report/view/view_estimate.h"

bool hints_are_written(const struct options *options)
{
	bool any = options->n_outputs == 0; /* then a table is */

	for (size_t i = 0; i < options->n_outputs; i++) {
		const struct report_format *format = report_format_find(options->outputs[i].format);

		any |= format && format->has_hints;
	}
	return any;
}

void hints_log_sort(const struct options *options, const struct model *model, const char *path)
{
	if (options->sort == SORT_TEMPORARY && !view_knows_temporary(model))
		log_warning("%s has samples, which do not tell what was temporary: sites are "
			    "sorted by bytes",
			    path);
}

void hints_log(const struct options *options, const struct model *model)
{
	const char *hint = hints_are_written(options) ? NULL : next_words(model);

	if (hint)
		log_warning("%s", hint);
}
