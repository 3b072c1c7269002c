/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap, in the words of memcheck, which its users know.
 */
#include "config/units.h"
#include "report/table.h"

#include <inttypes.h>

static const char *function_of(const struct view_heap_error *error)
{
	const struct view_stack *stack = &error->stack;

	return stack->n_places > 0 && stack->places[0].alloc ? stack->places[0].alloc :
							       "an allocator function";
}

static void add_title(struct strbuf *line, const struct view_heap_error *error)
{
	const struct record_heap_error *v = error->values;
	char size[FORMAT_UNIT_LEN];

	switch (v->kind) {
	case RECORD_MISMATCHED_FREE:
		strbuf_adds(line, "Mismatched free() / delete / delete []");
		break;
	case RECORD_FOREIGN_FREE:
		strbuf_adds(line, "Free of a block that another allocator has made");
		break;
	case RECORD_FAILED_ALLOCATION:
		strbuf_addf(line, "Failed allocation: %s for %s", function_of(error),
			    format_size((int64_t)v->size, size));
		break;
	case RECORD_SUSPICIOUS_SIZE:
		strbuf_addf(line,
			    "Argument 'size' of function %s has a fishy (possibly negative) "
			    "value: %" PRId64,
			    function_of(error), (int64_t)v->size);
		break;
	case RECORD_REALLOC_ZERO:
		strbuf_adds(line, "realloc() with size 0");
		break;
	default:
		strbuf_adds(line, "Invalid free() / delete / delete[] / realloc()");
	}
	if (error->count > 1)
		strbuf_addf(line, ", %" PRIu64 " times", error->count);
}

/* What is known of the address that was passed. */
static void add_address(struct strbuf *line, const struct view_heap_error *error)
{
	const struct record_heap_error *v = error->values;
	bool freed = v->kind == RECORD_DOUBLE_FREE;

	strbuf_addf(line, "    Address 0x%" PRIx64, v->addr);
	if (error->has_block && v->addr - v->block < v->block_size + (v->block_size == 0))
		strbuf_addf(line, " is %" PRIu64 " bytes inside a block of size %" PRIu64 " %s",
			    v->addr - v->block, v->block_size, freed ? "free'd" : "alloc'd");
	else if (freed)
		strbuf_adds(line, " is a block that was free'd before");
	else
		strbuf_adds(line, " is not a live block: freed before or never allocated");
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

	add_address(&line, error);
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

static bool is_free(enum record_heap_error_kind kind)
{
	return kind == RECORD_INVALID_FREE || kind == RECORD_DOUBLE_FREE;
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
	if (error->values->addr && (error->has_block || is_free(error->values->kind)))
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
