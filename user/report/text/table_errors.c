/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap, in the words of memcheck, which its users know.
 */
#include "report/text/error_words.h"
#include "report/text/table.h"

#include <inttypes.h>

static void add_title(struct strbuf *line, const struct view_heap_error *error)
{
	const struct view_stack *stack = &error->stack;

	error_words_title(line, error->values,
			  stack->n_places > 0 ? stack->places[0]->alloc : NULL);
	if (error->count > 1)
		strbuf_addf(line, ", %" PRIu64 " times", error->count);
}

static void detail(struct table *t, const char *text, const struct view_stack *stack)
{
	table_wrap(t, 6, text);
	if (stack)
		table_stack(t, stack);
}

/* Of a block that was freed, its free comes first, as memcheck has it. */
static void block_lines(struct table *t, const struct view_heap_error *error)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	bool freed = error->values->kind == RECORD_DOUBLE_FREE;

	strbuf_adds(&line, "    ");
	error_words_address(&line, error->values, error->has_block);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
	if (!freed) {
		detail(t, strbuf_str(&line), error->has_allocated ? &error->allocated : NULL);
		return;
	}
	detail(t, strbuf_str(&line), error->has_freed ? &error->freed : NULL);
	if (!error->has_freed)
		detail(t, "    (where it was free'd is not known: --heap-errors remembers it)",
		       NULL);
	if (error->has_allocated)
		detail(t, "    Block was alloc'd at", &error->allocated);
}

static void error_section(struct table *t, const struct view_heap_error *error, bool certain)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_adds(&line, certain ? "  " : "  Possibly: ");
	add_title(&line, error);
	strbuf_addch(&t->out, '\n');
	table_bold(t, true);
	table_wrap(t, 8, strbuf_str(&line));
	table_bold(t, false);
	table_stack(t, &error->stack);
	if (error_words_has_address(error->values, error->has_block))
		block_lines(t, error);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

void table_errors(struct table *t, const struct view_process *process)
{
	const struct view_errors *errors = &process->errors;
	size_t n_shown = table_shown(t, errors->n);
	uint64_t faults = errors->further, failed = 0;

	for (size_t i = 0; i < errors->n; i++)
		*(view_error_is_fault(&errors->errors[i]) ? &faults : &failed) +=
			errors->errors[i].count;
	if (errors->n == 0 && errors->further == 0)
		return;
	strbuf_adds(&t->out, "  ");
	if (faults > 0) {
		table_warn(t, true);
		strbuf_addf(&t->out, "HEAP ERRORS: %" PRIu64, faults);
		table_warn(t, false);
	}
	if (failed > 0)
		strbuf_addf(&t->out, "%s%" PRIu64 " failed allocation%s",
			    faults > 0 ? ", and " : "", failed, table_plural(failed));
	strbuf_addf(&t->out, ", from %zu place%s\n", errors->n, table_plural(errors->n));
	for (size_t i = 0; i < n_shown; i++)
		error_section(t, &errors->errors[i], view_errors_certain(process));
	if (errors->n > n_shown)
		strbuf_addf(&t->out, "  … from %zu more place%s; --top 0 shows all\n",
			    errors->n - n_shown, table_plural(errors->n - n_shown));
	if (errors->further > 0)
		strbuf_addf(&t->out, "  … %" PRIu64 " more error%s, of places that were too many\n",
			    errors->further, table_plural(errors->further));
}
