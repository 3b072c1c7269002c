/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines, as users, scripts and the service make them: words with newlines between. */
#include "base/cleanup.h"
#include "config/options.h"

#include <string.h>

#define MOST_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Whatever was taken has all that a run needs, within the bounds of the manual. */
static void check_options(const struct options *o)
{
	if (o->action == ACTION_TRACE) {
		check(o->n_pids + o->n_pid_names > 0 || o->command || o->cgroup || o->all ||
		      o->uid || o->names);
		check(!o->command || (o->command[0] && o->command[0][0]));
		check(o->block_filter.min_size <= o->block_filter.max_size);
		check(o->max_stack <= OPTIONS_MAX_STACK && o->max_blocks <= UINT32_MAX);
		check(!o->memory_limit || o->memory_limit >= OPTIONS_MEMORY_LEAST);
		check(o->sample_bytes <= OPTIONS_SAMPLE_MOST && o->max_overhead <= 10000);
		check(o->sample_interval_ns > 0);
	}
	check(o->massif.threshold <= 10000 && o->massif.max_snapshots >= 10);
	check(o->leak.num_callers > 0 && o->leak.max_stop_ns > 0);
	check(o->action != ACTION_REPORT || o->report_file);
	check(o->action != ACTION_DIFF || (o->diff_files[0] && o->diff_files[1]));
	check(o->action != ACTION_CTL || o->ctl.verb != CTL_NONE);
	check(o->action != ACTION_SAMPLE_UNIT || o->sample_unit.unit);
	for (size_t i = 0; i < o->n_outputs; i++)
		check(o->outputs[i].format && *o->outputs[i].format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	_cleanup_free_ char *text = strndup((const char *)data, size);
	_cleanup_strbuf_ struct strbuf error = { 0 };
	char *words[MOST_WORDS + 1] = { "memtraced" }, *at = text;
	int n = 1;

	if (!text)
		return 0;
	while (n < MOST_WORDS && (words[n] = strsep(&at, "\n")))
		n++;
	words[n] = NULL;
	if (options_parse(n, words, &options, &error) == 0)
		check_options(options);
	else
		check(!options && (error.len > 0));
	return 0;
}
