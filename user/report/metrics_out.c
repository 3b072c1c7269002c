/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/metrics_out.h"

#include "report/text/text.h"

#include <errno.h>
#include <inttypes.h>

static const char *type_name(enum metrics_type type)
{
	switch (type) {
	case METRICS_COUNTER:
		return "counter";
	case METRICS_GAUGE:
		return "gauge";
	case METRICS_HISTOGRAM:
		return "histogram";
	}
	return "unknown";
}

/* OpenMetrics names a family of counters without the suffix that its samples have. */
static const char *family_suffix(const struct metrics_out *out)
{
	return out->family.type == METRICS_COUNTER && !out->is_openmetrics ? "_total" : "";
}

void metrics_out_family(struct metrics_out *out, const struct metrics_family *family)
{
	const char *suffix;

	out->family = *family;
	suffix = family_suffix(out);
	fprintf(out->file, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(out->file, "# TYPE %s%s %s\n", family->name, suffix, type_name(family->type));
	if (out->is_openmetrics && *family->unit)
		fprintf(out->file, "# UNIT %s %s\n", family->name, family->unit);
}

void metrics_out_counter(struct metrics_out *out, const char *name, const char *unit,
			 const char *help)
{
	metrics_out_family(out, &(struct metrics_family){ name, METRICS_COUNTER, unit, help });
}

void metrics_out_gauge(struct metrics_out *out, const char *name, const char *unit,
		       const char *help)
{
	metrics_out_family(out, &(struct metrics_family){ name, METRICS_GAUGE, unit, help });
}

void metrics_out_label(struct metrics_out *out, const char *name, const char *value)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (!*value)
		return;
	escape_text(&text, value);
	strbuf_addf(&out->labels, "%s%s=\"", out->labels.len > 0 ? "," : "", name);
	for (const char *at = strbuf_str(&text); *at; at++) {
		if (*at == '\\' || *at == '"')
			strbuf_addch(&out->labels, '\\');
		strbuf_addch(&out->labels, *at);
	}
	strbuf_addch(&out->labels, '"');
	if (strbuf_error(&text) < 0)
		metrics_out_fail(out, strbuf_error(&text));
}

static void put_name(struct metrics_out *out, const char *suffix)
{
	if (out->family.type == METRICS_COUNTER)
		suffix = "_total";
	fprintf(out->file, "%s%s", out->family.name, suffix);
	if (out->labels.len > 0)
		fprintf(out->file, "{%s}", strbuf_str(&out->labels));
	if (strbuf_error(&out->labels) < 0)
		metrics_out_fail(out, strbuf_error(&out->labels));
	strbuf_reset(&out->labels);
}

void metrics_out_u64(struct metrics_out *out, const char *suffix, uint64_t value)
{
	put_name(out, suffix);
	fprintf(out->file, " %" PRIu64 "\n", value);
}

void metrics_out_i64(struct metrics_out *out, const char *suffix, int64_t value)
{
	put_name(out, suffix);
	fprintf(out->file, " %" PRId64 "\n", value);
}

void metrics_out_ns(struct metrics_out *out, const char *suffix, uint64_t value)
{
	put_name(out, suffix);
	fprintf(out->file, " %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000, value % 1000000000);
}

void metrics_out_labelled(struct metrics_out *out, const char *label, const char *text,
			  uint64_t value)
{
	metrics_out_label(out, label, text);
	metrics_out_u64(out, "", value);
}

void metrics_out_fail(struct metrics_out *out, int error)
{
	if (out->error == 0)
		out->error = error;
}

int metrics_out_end(struct metrics_out *out)
{
	if (out->is_openmetrics)
		fputs("# EOF\n", out->file);
	strbuf_done(&out->labels);
	if (out->error < 0)
		return out->error;
	return ferror(out->file) ? -EIO : 0;
}
