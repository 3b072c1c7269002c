/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/options.h"

#include <errno.h>
#include <stdlib.h>
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
	return options->n_pids + options->n_pid_names == 0 && !options->command;
}

size_t options_keep_ended(const struct options *options)
{
	if (options->keep_ended != UINT64_MAX)
		return options->keep_ended;
	return options_trace_widely(options) ? OPTIONS_KEEP_ENDED : SIZE_MAX;
}

bool options_has_format(const struct options *options, const char *format)
{
	for (size_t i = 0; i < options->n_outputs; i++)
		if (strcmp(options->outputs[i].format, format) == 0)
			return true;
	return false;
}

int options_add_pid(struct options *options, pid_t pid)
{
	pid_t *pids;

	for (size_t i = 0; i < options->n_pids; i++)
		if (options->pids[i] == pid)
			return 0;
	pids = reallocarray(options->pids, options->n_pids + 1, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	options->pids = pids;
	options->pids[options->n_pids++] = pid;
	return 0;
}
