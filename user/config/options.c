/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/options.h"

#include "config/words.h"

void options_free(struct options *options)
{
	if (!options)
		return;
	for (size_t i = 0; i < options->n_outputs; i++) {
		free(options->outputs[i].format);
		free(options->outputs[i].path);
	}
	free(options->outputs);
	free(options->pids);
	words_free(options->command);
	words_free(options->env_set);
	free(options->run_as);
	free(options->report_file);
	free(options);
}
