/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap, and what ends a process, in the text of a leak check, as memcheck prints
 * them.
 */
#include "analyze/suppression_file.h"
#include "report/leak/leak_lines.h"
#include "report/leak/leak_text.h"
#include "report/text/error_words.h"
#include "report/text/text.h"

bool leak_error_kind(enum record_heap_error_kind kind, enum suppression_kind *ret_kind)
{
	switch (kind) {
	case RECORD_INVALID_FREE:
	case RECORD_DOUBLE_FREE:
	case RECORD_MISMATCHED_FREE:
	case RECORD_FOREIGN_FREE:
		*ret_kind = SUPPRESSION_FREE;
		return true;
	case RECORD_SUSPICIOUS_SIZE:
		*ret_kind = SUPPRESSION_FISHY;
		return true;
	case RECORD_REALLOC_ZERO:
		*ret_kind = SUPPRESSION_REALLOC_ZERO;
		return true;
	default:
		/* A request that there was no memory for is no fault; others are of the future. */
		return false;
	}
}

static void address(struct strbuf *out, pid_t pid, const struct leak_error *error)
{
	const struct record_heap_error *v = error->values;
	bool freed = v->kind == RECORD_DOUBLE_FREE;

	if (!error_words_has_address(v, v->block))
		return;
	leak_line(out, pid);
	strbuf_addch(out, ' ');
	error_words_address(out, v, v->block);
	strbuf_addch(out, '\n');
	if (freed && error->freed)
		leak_stack_lines(out, pid, error->freed);
	else if (freed)
		leak_say(out, pid, "  note: --heap-errors remembers where blocks were free'd");
	if (freed && error->allocated)
		leak_say(out, pid, " Block was alloc'd at");
	if (error->allocated)
		leak_stack_lines(out, pid, error->allocated);
}

void leak_error_text(struct strbuf *out, pid_t pid, const struct leak_error *error, bool certain,
		     const struct leak_options *options)
{
	const struct leak_stack *stack = error->stack;
	const struct view_stack *places = &stack->stack;
	enum suppression_kind kind;

	leak_line(out, pid);
	error_words_title(out, error->values, places->n_places ? places->places[0]->alloc : NULL);
	strbuf_addch(out, '\n');
	leak_stack_lines(out, pid, stack);
	address(out, pid, error);
	if (error->count > 1) {
		leak_line(out, pid);
		strbuf_adds(out, "note: ");
		text_grouped(out, error->count);
		strbuf_adds(out, " times so far\n");
	}
	if (!certain)
		leak_say(out, pid, "note: not all of the process was seen: this may be no error");
	leak_say(out, pid, "");
	if (options->generate != LEAK_GENERATE_NO && leak_error_kind(error->values->kind, &kind))
		suppression_generate(out, kind, REACH_DEFINITE, stack->names, stack->n_frames, 0);
}

static void fault_line(struct strbuf *out, pid_t pid, const char *indent,
		       void (*words)(struct strbuf *out, const struct record_fault *fault),
		       const struct record_fault *fault)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	words(&text, fault);
	if (strbuf_error(&text) < 0)
		out->error = strbuf_error(&text);
	if (text.len == 0)
		return;
	leak_line(out, pid);
	strbuf_adds(out, indent);
	strbuf_adds(out, strbuf_str(&text));
	strbuf_addch(out, '\n');
}

void leak_fault_text(struct strbuf *out, pid_t pid, const struct leak_fault *fault)
{
	leak_say(out, pid, "");
	fault_line(out, pid, "", fault_words_title, fault->values);
	fault_line(out, pid, " ", fault_words_cause, fault->values);
	if (fault->stack)
		leak_stack_lines(out, pid, fault->stack);
	if (fault->stack && fault->stack->stack.truncated)
		leak_say(out, pid, "  note: who has called it is not known");
	fault_line(out, pid, " ", fault_words_address, fault->values);
	if (fault->freed)
		leak_stack_lines(out, pid, fault->freed);
	if (fault->freed && fault->allocated)
		leak_say(out, pid, " Block was alloc'd at");
	if (fault->allocated)
		leak_stack_lines(out, pid, fault->allocated);
}
