/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_writers.h"

#include "config/near_name.h"
#include "report/report.h"
#include "report/text/text.h"

#include <string.h>

static const struct diff_format formats[] = {
	{ .name = "table", .write = diff_table_write },
	{ .name = "json", .write = diff_json_write },
	{ .name = "folded", .one_job = true, .write = diff_folded_write },
	{ .name = "flamegraph", .one_job = true, .write = diff_flamegraph_write },
	{ .name = "pprof", .binary = true, .allocations = true, .write = diff_pprof_write },
};

const struct diff_format *diff_formats(size_t *ret_n)
{
	*ret_n = sizeof(formats) / sizeof(formats[0]);
	return formats;
}

const struct diff_format *diff_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

void diff_format_unknown(const char *name, struct strbuf *error)
{
	struct near_name near;
	const char *best;

	near_name_init(&near, name);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		near_name_offer(&near, formats[i].name);
	best = near_name_get(&near);
	strbuf_addch(error, '\'');
	escape_text(error, name);
	strbuf_adds(error, report_format_find(name) || strcmp(name, "record") == 0 ?
				   "' is no format of 'diff'; " :
				   "' is no format; ");
	if (best)
		strbuf_addf(error, "did you mean '%s'? ", best);
	strbuf_adds(error, "formats of 'diff' are:");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		strbuf_addf(error, " %s", formats[i].name);
}
