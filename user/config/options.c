/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/options.h"

#include "config/where.h"
#include "config/words.h"

#include <errno.h>
#include <string.h>

const char *const heap_depth_names[] = {
	[HEAP_EXACT] = "exact",
	[HEAP_SAMPLED] = "sampled",
	NULL,
};

int heap_depth_parse(const char *word, enum heap_depth *ret_depth)
{
	for (int i = 0; heap_depth_names[i]; i++)
		if (strcmp(heap_depth_names[i], word) == 0) {
			*ret_depth = (enum heap_depth)i;
			return 0;
		}
	return -EINVAL;
}

bool options_trace_allocations(const struct options *options)
{
	bool other = options->n_hists > 0 || options->n_events > 0 || options->syscalls ||
		     options->mappings;

	return options->alloc || !other;
}

bool options_trace_memory(const struct options *options)
{
	return options->mappings || options_trace_allocations(options);
}

bool options_trace_growth(const struct options *options)
{
	bool faults = false;

	for (size_t i = 0; i < options->n_events; i++)
		faults |= options->events[i].kind == EVENT_FAULTS;
	return faults || options_trace_memory(options);
}

bool options_trace_widely(const struct options *options)
{
	return options->n_pids == 0 && !options->command;
}

size_t options_keep_ended(const struct options *options)
{
	if (options->keep_ended != UINT64_MAX)
		return options->keep_ended;
	return options_trace_widely(options) ? OPTIONS_KEEP_ENDED : SIZE_MAX;
}

void options_free(struct options *options)
{
	if (!options)
		return;
	for (size_t i = 0; i < options->n_outputs; i++) {
		free(options->outputs[i].format);
		free(options->outputs[i].path);
	}
	free(options->outputs);
	for (size_t i = 0; i < options->n_hists; i++)
		hist_spec_done(&options->hists[i]);
	free(options->hists);
	for (size_t i = 0; i < options->n_events; i++)
		event_spec_done(&options->events[i]);
	free(options->events);
	for (size_t i = 0; i < options->n_allocators; i++)
		allocator_spec_done(&options->allocators[i]);
	free(options->allocators);
	free(options->cgroup);
	free(options->uid);
	free(options->names);
	free(options->pids);
	words_free(options->command);
	words_free(options->env_set);
	free(options->run_as);
	free(options->leak.log_file);
	words_free(options->leak.suppressions);
	words_free(options->leak.at);
	free(options->report_file);
	free(options->diff_files[0]);
	free(options->diff_files[1]);
	free(options->config_file);
	free(options->ctl.format);
	free(options->ctl.name);
	free(options->ctl.socket);
	free(options->sample_unit.unit);
	where_free(options->where);
	free(options);
}
