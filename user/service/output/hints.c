/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/hints.h"

#include "base/log.h"
#include "config/options.h"
#include "report/text/next_words.h"

#include <string.h>

bool hints_are_written(const struct options *options)
{
	static const char *const formats[] = { "table", "json", "html" };
	bool any = options->n_outputs == 0;

	for (size_t i = 0; i < options->n_outputs; i++)
		for (size_t j = 0; j < sizeof(formats) / sizeof(formats[0]); j++)
			any |= strcmp(options->outputs[i].format, formats[j]) == 0;
	return any;
}

void hints_log(const struct options *options, const struct model *model)
{
	const char *hint = hints_are_written(options) ? NULL : next_words(model);

	if (hint)
		log_warning("%s", hint);
}
