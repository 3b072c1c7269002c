/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/table_out.h"

#include "config/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

size_t table_rest(const struct table *t, size_t used)
{
	size_t width = view_opts(t->view)->width;

	return width > used + 10 ? width - used : 10;
}

void table_wrap(struct table *t, size_t indent, const struct strbuf *text)
{
	size_t width = view_opts(t->view)->width;

	text_wrap(&t->out, strbuf_str(text), width > indent + 20 ? width : indent + 20, indent);
	strbuf_pass_error(&t->out, text);
}

void table_title(struct table *t, size_t indent, const struct strbuf *text)
{
	table_bold(t, true);
	table_wrap(t, indent, text);
	table_bold(t, false);
}

void table_line(struct table *t, size_t indent, const char *format, ...)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	va_list ap;

	va_start(ap, format);
	strbuf_vaddf(&line, format, ap);
	va_end(ap);
	table_wrap(t, indent, &line);
}

size_t table_fit(const struct table *t, const struct table_column *columns, size_t n, size_t least,
		 size_t *ret_used)
{
	size_t fit, used = 2;

	for (fit = 0; fit < n; fit++) {
		if (used + columns[fit].columns + least > view_opts(t->view)->width)
			break;
		used += columns[fit].columns;
	}
	*ret_used = used;
	return fit;
}

void table_heads(struct table *t, const struct table_column *columns, size_t n, const char *name)
{
	table_bold(t, true);
	for (size_t i = 0; i < n; i++)
		table_cell(&t->out, "", columns[i].head, columns[i].columns);
	strbuf_addf(&t->out, "  %s\n", name);
	table_bold(t, false);
}

const char *table_size(int64_t bytes, bool exact, char buf[TABLE_NUMBER_LEN])
{
	char number[FORMAT_UNIT_LEN];

	snprintf(buf, TABLE_NUMBER_LEN, "%s%s", exact ? "" : "~", format_size(bytes, number));
	return buf;
}

const char *table_count(uint64_t n, bool exact, char buf[TABLE_NUMBER_LEN])
{
	snprintf(buf, TABLE_NUMBER_LEN, "%s%" PRIu64, exact ? "" : "≥", n);
	return buf;
}

const char *table_rate(double bytes_per_s, char buf[TABLE_NUMBER_LEN])
{
	static const struct {
		const char *per;
		double seconds;
	} units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "day", 86400 } };
	char number[FORMAT_UNIT_LEN];
	size_t i = 0;

	/* what takes longer than a day for a KiB is no rate to speak of */
	while (i < 3 && bytes_per_s * units[i].seconds < 1024)
		i++;
	snprintf(buf, TABLE_NUMBER_LEN, "~%s/%s",
		 format_size((int64_t)(bytes_per_s * units[i].seconds), number), units[i].per);
	return buf;
}

size_t table_shown(const struct table *t, size_t n)
{
	uint64_t top = view_opts(t->view)->top;

	return top > 0 && top < n ? top : n;
}

void table_more(struct table *t, size_t indent, size_t n, size_t n_shown, const char *what)
{
	const char *plural = text_ends_in(what, "s") ? "es" : *what ? "s" : "";

	if (n > n_shown)
		table_line(t, indent + 2, "%*s… %zu more%s%s; --top 0 shows all", (int)indent, "",
			   n - n_shown, what, n - n_shown == 1 ? "" : plural);
}

void table_cell(struct strbuf *line, const char *mark, const char *number, size_t columns)
{
	size_t have = text_columns(mark) + text_columns(number);

	strbuf_addf(line, "%*s%s%s", have < columns ? (int)(columns - have) : 0, "", mark, number);
}

void table_pid(const struct model_process *image, char buf[TABLE_PID_LEN])
{
	if (image->known)
		snprintf(buf, TABLE_PID_LEN, "%" PRIu32, image->pid);
	else
		snprintf(buf, TABLE_PID_LEN, "?");
}

void table_process(struct strbuf *out, const struct model_process *image)
{
	char pid[TABLE_PID_LEN];

	table_pid(image, pid);
	escape_text(out, *image->comm ? image->comm : "?");
	strbuf_addf(out, " (pid %s)", pid);
}

void table_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95)
{
	char size[FORMAT_UNIT_LEN];

	if (estimate->interval)
		strbuf_addf(line, " ± %s", format_size((int64_t)ci95, size));
}

void table_count_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95)
{
	if (estimate->interval)
		strbuf_addf(line, " ± %" PRIu64, ci95);
}

void table_margin_cell(struct table *t, uint64_t ci95, bool is_count, size_t columns)
{
	char number[FORMAT_UNIT_LEN];
	size_t have;

	if (is_count)
		format_count((int64_t)ci95, number);
	else
		format_size((int64_t)ci95, number);
	have = text_columns(number) + 1;
	strbuf_addf(&t->out, "%*s±%s", have < columns ? (int)(columns - have) : 0, "", number);
}

static int64_t number_at(const void *row, size_t offset)
{
	int64_t number;

	memcpy(&number, (const char *)row + offset, sizeof(number));
	return number;
}

void table_number_cells(struct table *t, const struct table_column *columns, size_t n,
			const void *row, bool exact)
{
	const char *const marks[] = { [TABLE_NEAR] = exact ? "" : "~",
				      [TABLE_AT_LEAST] = table_at_least(t, exact),
				      [TABLE_EXACT] = "" };
	char number[FORMAT_UNIT_LEN] = "-";

	for (size_t i = 0; i < n; i++) {
		if (row && columns[i].is_count)
			format_count(number_at(row, columns[i].value), number);
		else if (row)
			format_size(number_at(row, columns[i].value), number);
		table_cell(&t->out, row ? marks[columns[i].mark] : "", number, columns[i].columns);
	}
}

void table_margin_cells(struct table *t, const struct table_column *columns, size_t n,
			const void *row)
{
	for (size_t i = 0; i < n; i++)
		if (columns[i].mark != TABLE_EXACT)
			table_margin_cell(t, (uint64_t)number_at(row, columns[i].margin),
					  columns[i].is_count, columns[i].columns);
	strbuf_addch(&t->out, '\n');
}

void table_few_samples(struct strbuf *line, const struct view_estimate *estimate)
{
	if (view_has_few_samples(estimate))
		strbuf_addf(line, ", from %" PRIu64 " sample%s only", estimate->samples,
			    table_plural(estimate->samples));
}

const char *table_at_least(const struct table *t, bool exact)
{
	if (exact)
		return "";
	return view_has_estimates(view_model(t->view)) ? "~" : "≥";
}

void table_estimated_calls(struct table *t, const struct record_totals *totals)
{
	const struct view_estimate estimate = view_estimate_totals(totals);
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char size[FORMAT_UNIT_LEN];

	strbuf_adds(&line, "        ");
	if (!estimate.interval) {
		strbuf_adds(&line, "no samples");
	} else {
		strbuf_addf(&line, "~%" PRIu64, totals->allocs);
		table_count_margin(&line, &estimate, estimate.ci95_allocs);
		strbuf_addf(&line, " allocations of ~%s",
			    format_size((int64_t)totals->bytes, size));
		table_margin(&line, &estimate, estimate.ci95_allocated_bytes);
		strbuf_addf(&line, ", ~%" PRIu64, totals->frees);
		table_count_margin(&line, &estimate, estimate.ci95_frees);
		strbuf_adds(&line, " frees");
		strbuf_addf(&line, "; ESTIMATES: one sample in %s",
			    format_size((int64_t)estimate.interval, size));
		if (estimate.shown_interval < estimate.interval)
			strbuf_addf(&line, " (too many lived at a time for one in %s)",
				    format_size((int64_t)estimate.shown_interval, size));
		strbuf_addf(&line, ", %" PRIu64 " live, ± is 95 %%", estimate.samples);
	}
	if (totals->missed_frees > 0)
		strbuf_addf(&line, "; %" PRIu64 " missed free%s", totals->missed_frees,
			    table_plural(totals->missed_frees));
	if (totals->unknown_frees > 0)
		strbuf_addf(&line, "; %" PRIu64 " free%s of unknown samples", totals->unknown_frees,
			    table_plural(totals->unknown_frees));
	table_wrap(t, 8, &line);
}

void table_frame_name(const struct view_frame *frame, bool full, struct strbuf *out)
{
	const struct view_place *place = frame->place;

	if (frame->function)
		view_frame_short_name(frame, full, out);
	else if (place->object && !(place->mapped && model_object_is_kernel(place->mapped)))
		strbuf_addf(out, "%s+0x%" PRIx64, place->object, place->offset);
	else
		strbuf_addf(out, "0x%" PRIx64, place->addr);
}

void table_frame_where(const struct view_frame *frame, bool with_line, struct strbuf *out)
{
	const char *object = frame->place->object;

	if (frame->file) {
		strbuf_adds(out, text_base_name(frame->file));
		if (frame->line > 0 && with_line)
			strbuf_addf(out, ":%" PRIu32, frame->line);
	} else if (object && frame->function) {
		strbuf_addf(out, "(%s)", text_base_name(object));
	}
}

void table_frame(struct strbuf *out, const struct view_frame *frame, bool full, bool with_line,
		 size_t columns)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, where = { 0 };

	table_frame_name(frame, full, &name);
	table_frame_where(frame, with_line, &where);
	if (frame->is_inline)
		strbuf_adds(&where, " [inlined]");
	text_fit_place(out, strbuf_str(&name), strbuf_str(&where), full || !frame->function,
		       columns);
	if (strbuf_error(&name) < 0 || strbuf_error(&where) < 0)
		out->error = -ENOMEM;
}

static void frame_line(struct table *t, const struct view_frame *frame, bool is_name)
{
	strbuf_adds(&t->out, is_name ? "    > " : "      ");
	table_frame(&t->out, frame, view_opts(t->view)->full_names, !t->no_lines,
		    view_opts(t->view)->width - 6);
	strbuf_addch(&t->out, '\n');
}

static void stack_lines(struct table *t, const struct view_stack *stack, bool has_name)
{
	struct view_frames it = { .stack = stack }, at = it;
	struct view_frame frame;

	if (stack->kernel_lost)
		table_line(t, 7, "      (the kernel's stack was lost)");
	for (; view_frames_next(&it, &frame); at = it)
		frame_line(t, &frame,
			   has_name && at.place == stack->name.place &&
				   at.frame == stack->name.frame);
	if (stack->lost)
		strbuf_adds(&t->out, "      (the stack was lost)\n");
	else if (stack->truncated)
		table_line(t, 7, "      (the stack goes on: it was truncated)");
	else if (stack->n_places == 0 && !stack->kernel_lost)
		strbuf_adds(&t->out, "      (no frames)\n");
}

void table_stack(struct table *t, const struct view_stack *stack)
{
	stack_lines(t, stack, stack->name.place > 0 || stack->name.frame > 0);
}

void table_site_stack(struct table *t, const struct view_stack *stack)
{
	stack_lines(t, stack, true);
}

void table_group_name(struct strbuf *out, const struct record_histogram *asked, const char *key)
{
	strbuf_addch(out, '@');
	if (key) {
		strbuf_addch(out, '[');
		escape_text(out, key);
		strbuf_addch(out, ']');
	}
	strbuf_adds(out, ": ");
	escape_text(out, asked->spec);
	if (asked->unit) {
		strbuf_adds(out, " (");
		escape_text(out, asked->unit);
		strbuf_addch(out, ')');
	}
}

/* Powers of two have a suffix at each power of 1024; linear bounds as far as the step has it. */
static void add_bound(struct strbuf *out, const struct record_histogram *asked, int64_t value)
{
	static const char suffixes[] = "KMGTPE";
	size_t max = asked->linear ? asked->step % 1024 == 0 ? 2 : 0 : sizeof(suffixes) - 1;
	size_t n = 0;

	while (n < max && value != 0 && value % 1024 == 0) {
		value /= 1024;
		n++;
	}
	strbuf_addf(out, "%" PRId64, value);
	if (n > 0)
		strbuf_addch(out, suffixes[n - 1]);
}

void bucket_label(struct strbuf *out, const struct record_histogram *asked, int64_t lo, int64_t hi)
{
	strbuf_addch(out, lo == INT64_MIN ? '(' : '[');
	if (lo == INT64_MIN)
		strbuf_adds(out, "...");
	else
		add_bound(out, asked, lo);
	if (lo != INT64_MIN && lo < INT64_MAX && lo + 1 == hi) {
		strbuf_addch(out, ']');
		return;
	}
	strbuf_adds(out, ", ");
	if (hi == INT64_MAX)
		strbuf_adds(out, "...");
	else
		add_bound(out, asked, hi);
	strbuf_addch(out, ')');
}
