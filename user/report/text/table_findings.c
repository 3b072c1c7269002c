/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the table says of a process beside its allocations: who killed it, and what it and its
 * cgroup had of memory then; the fault that killed it; wrong uses of the heap, in the words of
 * memcheck, which its users know; its latest leak check, in a line, as its text has the rest.
 */
#include "analyze/reach.h"
#include "report/leak/leak_result.h"
#include "report/text/death_words.h"
#include "report/text/error_words.h"
#include "report/text/table.h"

#include <inttypes.h>

static void add_death_line(struct table *t, const struct model_process *image,
			   void (*words)(struct strbuf *out, const struct model_process *image))
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	size_t none;

	strbuf_adds(&line, "  ");
	none = line.len;
	words(&line, image);
	if (line.len > none)
		table_wrap(t, 6, &line);
	strbuf_pass_error(&t->out, &line);
}

void table_death(struct table *t, const struct view_process *process)
{
	table_bold(t, true);
	add_death_line(t, process->image, death_words_killer);
	table_bold(t, false);
	add_death_line(t, process->image, death_words_memory);
	add_death_line(t, process->image, death_words_cgroup);
}

static void add_fault_line(struct table *t, const char *indent,
			   void (*words)(struct strbuf *out, const struct record_fault *fault),
			   const struct record_fault *fault)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	words(&line, fault);
	if (line.len > 0)
		table_line(t, 8, "%s%s", indent, strbuf_str(&line));
	strbuf_pass_error(&t->out, &line);
}

void table_fault(struct table *t, const struct view_process *process)
{
	const struct view_fault *fault = &process->fault;

	if (!fault->values)
		return;
	strbuf_addch(&t->out, '\n');
	table_bold(t, true);
	add_fault_line(t, "  ", fault_words_title, fault->values);
	table_bold(t, false);
	add_fault_line(t, "    ", fault_words_cause, fault->values);
	table_stack(t, &fault->stack);
	add_fault_line(t, "    ", fault_words_address, fault->values);
	if (fault->has_freed)
		table_stack(t, &fault->freed);
	if (fault->has_freed && fault->has_allocated)
		table_line(t, 6, "    Block was alloc'd at");
	if (fault->has_allocated)
		table_stack(t, &fault->allocated);
}

static void add_title(struct strbuf *line, const struct view_heap_error *error)
{
	const struct view_stack *stack = &error->stack;

	error_words_title(line, error->values,
			  stack->n_places > 0 ? view_stack_place(stack, 0)->alloc : NULL);
	if (error->count > 1)
		strbuf_addf(line, ", %" PRIu64 " times", error->count);
}

/* Of a block that was freed, its free comes first, as memcheck has it. */
static void block_lines(struct table *t, const struct view_heap_error *error)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	bool freed = error->values->kind == RECORD_DOUBLE_FREE;

	strbuf_adds(&line, "    ");
	error_words_address(&line, error->values, error->has_block);
	table_wrap(t, 6, &line);
	if (freed && error->has_freed)
		table_stack(t, &error->freed);
	else if (freed)
		table_line(t, 6,
			   "    (where it was free'd is not known: --heap-errors remembers it)");
	if (freed && error->has_allocated)
		table_line(t, 6, "    Block was alloc'd at");
	if (error->has_allocated)
		table_stack(t, &error->allocated);
}

static void error_section(struct table *t, const struct view_heap_error *error, bool certain)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_adds(&line, certain ? "  " : "  Possibly: ");
	add_title(&line, error);
	strbuf_addch(&t->out, '\n');
	table_title(t, 8, &line);
	table_stack(t, &error->stack);
	if (error_words_has_address(error->values, error->has_block))
		block_lines(t, error);
}

void table_errors(struct table *t, const struct view_process *process)
{
	const struct view_errors *errors = &process->errors;
	size_t n_shown = table_shown(t, errors->n);
	uint64_t faults = errors->further, failed = 0;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	for (size_t i = 0; i < errors->n; i++)
		*(view_error_is_fault(&errors->errors[i]) ? &faults : &failed) +=
			errors->errors[i].count;
	if (errors->n == 0 && errors->further == 0)
		return;
	strbuf_adds(&line, "  ");
	if (faults > 0)
		strbuf_addf(&line, "HEAP ERRORS: %" PRIu64, faults);
	if (failed > 0)
		strbuf_addf(&line, "%s%" PRIu64 " failed allocation%s", faults > 0 ? ", and " : "",
			    failed, table_plural(failed));
	strbuf_addf(&line, ", from %zu place%s", errors->n, table_plural(errors->n));
	table_warn(t, faults > 0);
	table_wrap(t, 4, &line);
	table_warn(t, false);
	for (size_t i = 0; i < n_shown; i++)
		error_section(t, &errors->errors[i], view_errors_certain(process));
	if (errors->n > n_shown)
		table_line(t, 4, "  … from %zu more place%s; --top 0 shows all",
			   errors->n - n_shown, table_plural(errors->n - n_shown));
	if (errors->further > 0)
		table_line(t, 4, "  … %" PRIu64 " more error%s, at places beyond the limit",
			   errors->further, table_plural(errors->further));
}

static void add_sum(struct strbuf *line, const char *name, const struct loss_sum *sum, bool exact)
{
	char size[TABLE_NUMBER_LEN];

	strbuf_addf(line, "%s %s in %s%" PRIu64 " block%s", name,
		    table_size((int64_t)sum->bytes, exact, size), exact ? "" : "~", sum->blocks,
		    table_plural(sum->blocks));
}

void table_leaks(struct table *t, const struct view_process *process)
{
	const struct leak_result *leaks = process->leaks;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	const struct loss_totals *totals;

	if (!leaks)
		return;
	totals = loss_records_totals(leaks->records);
	strbuf_adds(&line, "  leaks: ");
	for (int class = 0; class < REACH_CLASSES; class ++) {
		strbuf_adds(&line, class > 0 ? ", " : "");
		add_sum(&line, reach_class_name((enum reach_class) class), &totals->classes[class],
			process->exact);
	}
	if (totals->suppressed.blocks > 0) {
		strbuf_adds(&line, "; ");
		add_sum(&line, "suppressed", &totals->suppressed, process->exact);
	}
	if (leaks->seen.stats.end != REACH_COMPLETE)
		strbuf_adds(&line, "; partial, since --max-stop expired");
	table_wrap(t, 9, &line);
}
