/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/report.h"

#include "config/near_name.h"
#include "report/one_process.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <string.h>

static const struct report_format formats[] = {
	{
		.name = "table",
		.description = "for people: what was counted and how much of it is certain",
		.has_hints = true,
		.write = table_write,
		.write_diff = diff_table_write,
	},
	{
		.name = "json",
		.description = "one object with all that is known; the stable interface",
		.has_hints = true,
		.write = json_write,
		.write_diff = diff_json_write,
	},
	{
		.name = "html",
		.description = "a page to look around in: totals, timeline, flame graph, sites",
		.at_end_only = true,
		.has_hints = true,
		.write = html_write,
	},
	{
		.name = "folded",
		.description = "collapsed stacks, root first, for flame graphs",
		.at_end_only = true,
		.one_job = true,
		.one_quantity = true,
		.write = folded_write,
		.write_diff = diff_folded_write,
	},
	{
		.name = "flamegraph",
		.description = "a picture of the stacks to zoom and search in: SVG",
		.at_end_only = true,
		.one_job = true,
		.one_quantity = true,
		.write = flamegraph_write,
		.write_diff = diff_flamegraph_write,
	},
	{
		.name = "perf-script",
		.description = "text like that of perf script",
		.at_end_only = true,
		.one_job = true,
		.one_quantity = true,
		.write = perf_script_write,
	},
	{
		.name = "perf-data",
		.description = "a file for perf report and perf script, by build IDs",
		.at_end_only = true,
		.one_job = true,
		.binary = true,
		.write = perf_data_write,
	},
	{
		.name = "gprof2dot",
		.description = "stacks and their costs for gprof2dot --format=json",
		.at_end_only = true,
		.one_job = true,
		.one_quantity = true,
		.write = gprof2dot_write,
	},
	{
		.name = "pprof",
		.description = "a heap profile for pprof: gzipped protobuf",
		.at_end_only = true,
		.one_job = true,
		.binary = true,
		.packed = true,
		.write = pprof_write,
		.write_diff = diff_pprof_write,
		.diff_of_allocations = true,
	},
	{
		.name = "speedscope",
		.description = "stacks for speedscope, a profile for each quantity",
		.at_end_only = true,
		.one_job = true,
		.write = speedscope_write,
	},
	{
		.name = "callgrind",
		.description = "functions, lines and calls for kcachegrind",
		.at_end_only = true,
		.one_job = true,
		.write = callgrind_write,
	},
	{
		.name = "massif",
		.description = "the heap over time for ms_print and massif-visualizer",
		.at_end_only = true,
		.write_process = massif_write_process,
	},
	{
		.name = "heaptrack",
		.description = "a heap's course for heaptrack_print and heaptrack_gui",
		.at_end_only = true,
		.write_process = heaptrack_write_process,
	},
	{
		.name = "dhat",
		.description = "lifetimes and sizes by stack, for DHAT's viewer",
		.at_end_only = true,
		.write_process = dhat_write_process,
	},
	{
		.name = "prometheus",
		.description = "metrics in Prometheus' text format",
		.at_end_only = true,
		.write = prometheus_write,
	},
	{
		.name = "openmetrics",
		.description = "the same in OpenMetrics' format",
		.at_end_only = true,
		.write = openmetrics_write,
	},
};

const struct report_format *report_formats(size_t *ret_n)
{
	*ret_n = sizeof(formats) / sizeof(formats[0]);
	return formats;
}

const struct report_format *report_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

const struct report_format *report_format_find_diff(const char *name)
{
	const struct report_format *found = report_format_find(name);

	return found && found->write_diff ? found : NULL;
}

/* `begin` says what is wrong with the name, `of` what formats of; `is_diff`: those of diff. */
static void add_unknown(struct strbuf *error, const char *begin, const char *name, const char *of,
			bool is_diff)
{
	size_t n = sizeof(formats) / sizeof(formats[0]);
	struct near_name near;
	const char *best;

	near_name_init(&near, name);
	for (size_t i = 0; i < n; i++)
		if (!is_diff || formats[i].write_diff)
			near_name_offer(&near, formats[i].name);
	if (!is_diff)
		near_name_offer(&near, "record"); /* no report, but a name that -o takes */
	best = near_name_get(&near);
	strbuf_adds(error, begin);
	escape_text(error, name);
	strbuf_adds(error, "'; ");
	if (best)
		strbuf_addf(error, "did you mean '%s'? ", best);
	strbuf_addf(error, "formats%s are:", of);
	for (size_t i = 0; i < n; i++)
		if (!is_diff || formats[i].write_diff)
			strbuf_addf(error, " %s", formats[i].name);
}

void report_format_unknown(const char *name, struct strbuf *error)
{
	add_unknown(error, "unknown format '", name, "", false);
	strbuf_adds(error, ", and record (-o only)");
}

void report_format_unknown_diff(const char *name, struct strbuf *error)
{
	bool is_known = report_format_find(name) || strcmp(name, "record") == 0;

	add_unknown(error, is_known ? "'diff' does not write '" : "unknown format '", name,
		    " of 'diff'", true);
}

bool report_format_diff_one_job(const struct report_format *format)
{
	return format->one_job && !format->diff_of_allocations;
}

int report_format_write(const struct report_format *format, const struct view *view,
			const struct view_process *process, FILE *file)
{
	size_t i, n;

	if (format->write)
		return format->write(view, file);
	if (process)
		return format->write_process(view, process, file);
	n = view_n_processes(view);
	if (!view_has_allocations(view) || n == 0)
		return 0;
	i = one_process_from(view, 0);
	/* Of a run that allocated nothing, the first process says so. */
	return format->write_process(view, view_process(view, i < n ? i : 0), file);
}

int report_write(const char *format, const struct view *view, FILE *file)
{
	const struct report_format *found = report_format_find(format);

	return found ? report_format_write(found, view, NULL, file) : -ENOENT;
}
