/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_text.h"

#include "analyze/suppression_file.h"
#include "analyze/valgrind_names.h"
#include "config/units.h"
#include "config/words.h"
#include "report/text/error_words.h"
#include "report/text/text.h"
#include "version.h"

#include <inttypes.h>
#include <string.h>

/* How a line begins. */
static void leak_line(struct strbuf *out, pid_t pid)
{
	strbuf_addf(out, "==%d== ", (int)pid);
}

/* A whole line. */
static void leak_say(struct strbuf *out, pid_t pid, const char *text)
{
	leak_line(out, pid);
	strbuf_adds(out, text);
	strbuf_addch(out, '\n');
}

/* How much of a file's path. */
static const char *file_shown(const char *file, const struct leak_options *options)
{
	for (char **prefix = options->fullpath_after; prefix && *prefix; prefix++) {
		const char *at = strstr(file, *prefix);

		if (at)
			return at + strlen(*prefix);
	}
	return options->full_paths ? file : text_base_name(file);
}

uint64_t leak_frame_address(const struct leak_frame *f)
{
	return f->place->addr - (f->place->is_call && f->place->addr > 0);
}

const char *leak_object_shown(const struct leak_frame *f)
{
	/* The C library's free is not where operator delete is. */
	return f->is_called && f->place->alloc ? NULL : f->place->object;
}

static bool is_main(const struct leak_frame *f)
{
	return f->function && strcmp(f->function, "main") == 0;
}

static bool calls_main(const struct leak_frame *f)
{
	return f->function && supp_calls_main(f->function);
}

const char *leak_function_shown(const struct leak_stack *stack, size_t i,
				const struct leak_options *options)
{
	if (calls_main(&stack->frames[i]) && !options->below_main)
		return "(below main)";
	if (options->linkage_names && stack->names[i].linkage)
		return stack->names[i].linkage;
	return stack->frames[i].function;
}

size_t leak_frames_shown(const struct leak_stack *stack, const struct leak_options *options)
{
	for (size_t i = 0; i < stack->n_frames && !options->below_main; i++)
		if (calls_main(&stack->frames[i]) || is_main(&stack->frames[i]))
			return i + 1;
	return stack->n_frames;
}

static void frame(struct strbuf *out, const struct leak_stack *stack, size_t i,
		  const struct leak_options *options)
{
	const struct leak_frame *f = &stack->frames[i];
	const char *function = leak_function_shown(stack, i, options);
	const char *object = leak_object_shown(f);

	strbuf_addf(out, "   %s 0x%" PRIX64 ": ", i == 0 ? "at" : "by", leak_frame_address(f));
	escape_text(out, function ? function : "???");
	if (f->file) {
		strbuf_adds(out, " (");
		escape_text(out, file_shown(f->file, options));
		if (f->line)
			strbuf_addf(out, ":%" PRIu32, f->line);
		strbuf_addch(out, ')');
	} else if (object) {
		strbuf_adds(out, " (in ");
		escape_text(out, object);
		strbuf_addch(out, ')');
	}
	strbuf_addch(out, '\n');
}

/* "   at 0x...: malloc (malloc.c:3281)" and so on, up to main. */
static void leak_stack_lines(struct strbuf *out, pid_t pid, const struct leak_stack *stack,
			     const struct leak_options *options)
{
	size_t n = leak_frames_shown(stack, options);

	for (size_t i = 0; i < n; i++) {
		leak_line(out, pid);
		frame(out, stack, i, options);
	}
	if (stack->n_frames == 0)
		leak_say(out, pid, "   at 0x0: ???");
}

struct writer {
	struct strbuf *out;
	pid_t pid;
	const struct leak_result *result;
	const struct leak_stacks *stacks;
	const struct leak_options *options;
	bool has_delta;
};

static void line(struct writer *w)
{
	leak_line(w->out, w->pid);
}

static void end(struct writer *w)
{
	strbuf_addch(w->out, '\n');
}

static void empty(struct writer *w)
{
	leak_say(w->out, w->pid, "");
}

static void say(struct writer *w, const char *text)
{
	leak_say(w->out, w->pid, text);
}

/* "1,040", and behind it " (+16)" where there was an earlier check. */
static void leak_number(struct strbuf *out, bool has_delta, uint64_t n, uint64_t old)
{
	text_grouped(out, n);
	if (!has_delta)
		return;
	strbuf_adds(out, n >= old ? " (+" : " (-");
	text_grouped(out, n >= old ? n - old : old - n);
	strbuf_addch(out, ')');
}

static void number(struct writer *w, uint64_t n, uint64_t old)
{
	leak_number(w->out, w->has_delta, n, old);
}

static void bytes_in_blocks(struct writer *w, const struct loss_sum *sum)
{
	number(w, sum->bytes, sum->old_bytes);
	strbuf_adds(w->out, " bytes in ");
	number(w, sum->blocks, sum->old_blocks);
	strbuf_adds(w->out, " blocks");
	end(w);
}

/* --- HEAP SUMMARY ---------------------------------------------------------------------------- */

static void heap_summary(struct writer *w, const struct model_process *image)
{
	const struct record_totals *totals = leak_result_totals(w->result, image);

	say(w, "HEAP SUMMARY:");
	line(w);
	strbuf_adds(w->out, "    in use at exit: ");
	text_grouped(w->out, w->result->bytes);
	strbuf_adds(w->out, " bytes in ");
	text_grouped(w->out, w->result->blocks);
	strbuf_adds(w->out, " blocks\n");
	line(w);
	if (totals) {
		strbuf_adds(w->out, "  total heap usage: ");
		text_grouped(w->out, totals->allocs);
		strbuf_adds(w->out, " allocs, ");
		text_grouped(w->out, totals->frees + w->result->freed_blocks);
		strbuf_adds(w->out, " frees, ");
		text_grouped(w->out, totals->bytes);
		strbuf_adds(w->out, " bytes allocated\n");
	} else {
		strbuf_adds(w->out, "  total heap usage: unknown\n");
	}
	empty(w);
}

/* --- loss records ---------------------------------------------------------------------------- */

static const char *verb_of(enum reach_class class)
{
	static const char *const verbs[REACH_CLASSES] = {
		[REACH_DEFINITE] = "definitely lost",
		[REACH_INDIRECT] = "indirectly lost",
		[REACH_POSSIBLE] = "possibly lost",
		[REACH_REACHABLE] = "still reachable",
	};

	return verbs[class];
}

void leak_record_title(struct strbuf *out, const struct loss_records *list, size_t index)
{
	const struct loss_record *r = loss_records_get(list, index);
	bool delta = loss_records_have_delta(list);

	leak_number(out, delta, r->bytes + r->indirect_bytes, r->old_bytes + r->old_indirect_bytes);
	if (r->indirect_bytes > 0) {
		strbuf_adds(out, " (");
		leak_number(out, delta, r->bytes, r->old_bytes);
		strbuf_adds(out, " direct, ");
		leak_number(out, delta, r->indirect_bytes, r->old_indirect_bytes);
		strbuf_adds(out, " indirect)");
	}
	strbuf_adds(out, " bytes in ");
	leak_number(out, delta, r->blocks, r->old_blocks);
	strbuf_addf(out, " blocks are %s in %sloss record ", verb_of(r->class),
		    r->is_new ? "new " : "");
	text_grouped(out, index + 1);
	strbuf_adds(out, " of ");
	text_grouped(out, loss_records_n(list));
}

void leak_record_text(struct strbuf *out, pid_t pid, const struct loss_records *list, size_t index,
		      const struct leak_stacks *stacks, const struct leak_options *options)
{
	const struct loss_record *r = loss_records_get(list, index);
	const struct leak_stack *stack =
		r->stack == LOSS_NO_STACK ? NULL : &stacks->stacks[r->stack];

	leak_line(out, pid);
	leak_record_title(out, list, index);
	strbuf_addch(out, '\n');
	if (stack)
		leak_stack_lines(out, pid, stack, options);
	leak_say(out, pid, "");
	if (stack && options->generate != LEAK_GENERATE_NO)
		suppression_generate(out, SUPPRESSION_LEAK, r->class, stack->names,
				     stack->n_frames);
}

static void records(struct writer *w)
{
	const struct loss_records *list = w->result->records;

	for (size_t i = 0; i < loss_records_n(list); i++)
		if (loss_records_get(list, i)->shown)
			leak_record_text(w->out, w->pid, list, i, w->stacks, w->options);
}

/* --- LEAK SUMMARY ---------------------------------------------------------------------------- */

static void heuristics(struct writer *w, const struct loss_totals *totals)
{
	bool any = false;

	for (int h = REACH_BY_POINTER + 1; h < REACH_HEURISTICS; h++) {
		if (totals->heuristics[h].blocks == 0 && totals->heuristics[h].old_blocks == 0)
			continue;
		if (!any)
			say(w, "                      of which reachable via heuristic:");
		any = true;
		line(w);
		strbuf_addf(w->out, "                        %-19s: ",
			    reach_heuristic_name((enum reach_heuristic)h));
		bytes_in_blocks(w, &totals->heuristics[h]);
	}
}

static void summary(struct writer *w)
{
	static const char *const heads[REACH_CLASSES] = {
		[REACH_DEFINITE] = "   definitely lost: ",
		[REACH_INDIRECT] = "   indirectly lost: ",
		[REACH_POSSIBLE] = "     possibly lost: ",
		[REACH_REACHABLE] = "   still reachable: ",
	};
	const struct loss_totals *totals = loss_records_totals(w->result->records);
	bool any = false;

	say(w, "LEAK SUMMARY:");
	for (int class = 0; class < REACH_CLASSES; class ++) {
		line(w);
		strbuf_adds(w->out, heads[class]);
		bytes_in_blocks(w, &totals->classes[class]);
		any |= totals->classes[class].blocks > 0;
	}
	heuristics(w, totals);
	line(w);
	strbuf_adds(w->out, "        suppressed: ");
	bytes_in_blocks(w, &totals->suppressed);
	if (w->options->mode == LEAK_CHECK_SUMMARY && any) {
		say(w, "Rerun with --leak-check=full to see details of leaked memory");
	} else if (w->options->mode != LEAK_CHECK_SUMMARY &&
		   totals->classes[REACH_REACHABLE].blocks > 0 &&
		   !(w->options->show_kinds & (1U << REACH_REACHABLE))) {
		say(w, "Reachable blocks (those to which a pointer was found) are not shown.");
		say(w, "To see them, rerun with: --leak-check=full --show-leak-kinds=all");
	}
	empty(w);
}

/* --- notes ----------------------------------------------------------------------------------- */

static void note_count(struct writer *w, uint64_t n, const char *text)
{
	line(w);
	strbuf_adds(w->out, "note: ");
	text_grouped(w->out, n);
	strbuf_adds(w->out, text);
	end(w);
}

static void note_time(struct writer *w)
{
	char time[FORMAT_UNIT_LEN];

	line(w);
	strbuf_addf(w->out, "note: the process was stopped for %s\n",
		    format_duration(w->result->seen.stopped_ns, time));
}

static void note_cut(struct writer *w)
{
	if (w->result->seen.stats.end == REACH_CUT_ROOTS)
		say(w, "note: --max-stop expired before all memory was searched: the "
		       "result is partial, and lost blocks may be reachable");
	if (w->result->seen.stats.end == REACH_CUT_CLIQUES)
		say(w, "note: --max-stop expired before lost blocks were divided: the result is "
		       "partial, and definitely lost ones may be indirectly lost");
}

static void note_noted(struct writer *w, const struct leak_noted *noted, const char *how)
{
	if (!noted->by)
		return;
	line(w);
	strbuf_adds(w->out, "note: ");
	text_grouped(w->out, noted->blocks);
	strbuf_addf(w->out, " blocks are %s's, %s: lost blocks may count as reachable\n", noted->by,
		    how);
}

/* Of a process from its start on, with an allocator that is known. */
static bool is_all_seen(const struct writer *w)
{
	return w->result->seen.has_allocator && !w->result->seen.unknown_blocks &&
	       !w->result->seen.older_blocks;
}

/* Whether there is text beside errors: sums, and what does not limit them. */
static bool is_full(const struct leak_options *options)
{
	return options->shape != LEAK_SHAPE_QUIET && !options->xml.on;
}

static void notes(struct writer *w, const struct model_process *image)
{
	const struct leak_result *result = w->result;
	const struct record_totals *totals = leak_result_totals(result, image);
	size_t before = w->out->len;

	if (w->options->shape == LEAK_SHAPE_OWN && is_full(w->options))
		note_time(w);
	note_cut(w);
	if (result->seen.running_threads > 0)
		note_count(w, result->seen.running_threads,
			   " threads could not be stopped: what they changed meanwhile may be "
			   "missing");
	if (result->seen.older_blocks)
		say(w, "note: blocks from before the attach have the sizes that can be used of "
		       "them, and one place");
	if (result->seen.older_blocks && result->seen.unknown_blocks)
		say(w, "note: not all blocks from before the attach could be read: the others are "
		       "not in the sums, and count as roots");
	else if (result->seen.unknown_blocks)
		say(w, "note: blocks from before the attach are not known: they are not in "
		       "the sums, and count as roots");
	note_noted(w, &result->seen.noted_apart, "whose own data may hold their addresses");
	note_noted(w, &result->seen.noted_inside, "which hands them out with addresses of others");
	if (totals && totals->allocs == 0 && !result->seen.older_blocks && !is_all_seen(w))
		say(w, totals->has_before || totals->lost > 0 ?
			       "note: no allocation was counted: nothing is known of what may be "
			       "lost" :
			       "note: no allocation was counted: nothing is known of what may be "
			       "lost; with -p --existing counts what the process holds already");
	if (totals && totals->lost > 0)
		note_count(w, totals->lost, " events were lost: sums are not exact");
	if (totals && totals->missed_frees > 0)
		note_count(w, totals->missed_frees, " frees were missed: sums are not exact");
	if (result->seen.stats.unreadable_bytes > 0)
		note_count(w, result->seen.stats.unreadable_bytes,
			   " bytes could not be read: lost blocks may be reachable");
	/* memcheck has them freed */
	if (result->seen.kept_blocks > 0 && w->options->shape == LEAK_SHAPE_OWN)
		note_count(w, result->seen.kept_blocks,
			   " blocks of the C library's, for threads that have ended, are not in "
			   "the sums");
	if (result->seen.pool_blocks > 0 && w->options->shape == LEAK_SHAPE_OWN)
		note_count(w, result->seen.pool_blocks,
			   " blocks hold blocks of a pool; they are not in the sums themselves");
	if (w->out->len > before)
		empty(w);
}

static void occasion(struct writer *w)
{
	switch (w->result->occasion) {
	case LEAK_AT_EXIT:
		return;
	case LEAK_AT_EXEC:
		say(w, "note: it is about to execute another program");
		return;
	case LEAK_AT_FUNCTION:
		say(w, w->result->asked ?
			       "note: the process asks for it; it runs on" :
			       "note: the process has called a function of --leak-check-at; it "
			       "runs on");
		return;
	case LEAK_ASKED:
		say(w, "note: asked for; the process runs on");
		return;
	case LEAK_AT_END:
		say(w, "note: the trace ends; the process runs on");
		return;
	}
}

/* memcheck sees each allocator call; who does not may not say that nothing can leak. */
static void nothing_in_use(struct writer *w, const struct model_process *image)
{
	const struct record_totals *totals = leak_result_totals(w->result, image);

	if (!totals || totals->lost > 0)
		say(w, "note: no block in use is known, but not all was seen: there may be leaks");
	else if (totals->allocs == 0 && !is_all_seen(w))
		say(w, "note: no allocation was seen: if there are any, its allocator is unknown");
	else
		say(w, "All heap blocks were freed -- no leaks are possible");
}

static void sums(struct writer *w, const struct model_process *image)
{
	if (w->result->blocks == 0 && !w->has_delta) {
		nothing_in_use(w, image);
		empty(w);
	} else if (w->options->mode == LEAK_CHECK_ERRORS) {
		say(w, "For a detailed leak analysis, rerun with: --leak-check=full");
		empty(w);
	} else {
		summary(w);
	}
}

void leak_text(struct strbuf *out, const struct leak_result *result,
	       const struct leak_stacks *stacks, const struct model_process *image,
	       const struct leak_options *options)
{
	struct writer w = {
		.out = out,
		.pid = result->seen.pid,
		.result = result,
		.stacks = stacks,
		.options = options,
		.has_delta = loss_records_have_delta(result->records),
	};

	/* of a check that a program asks for, memcheck prints the leaks alone */
	if (is_full(options) &&
	    (options->shape == LEAK_SHAPE_OWN || result->occasion != LEAK_AT_FUNCTION)) {
		empty(&w);
		occasion(&w);
		heap_summary(&w, image);
	}
	if (!options->xml.on && !options->xtree)
		records(&w);
	if (is_full(options))
		sums(&w, image);
	notes(&w, image);
}

void leak_text_begin(struct strbuf *out, const struct leak_text_head *head)
{
	_cleanup_strbuf_ struct strbuf command = { 0 };

	for (char *const *word = head->command; *word; word++) {
		strbuf_addch(&command, ' ');
		words_quote(&command, *word);
	}
	if (strbuf_error(&command) < 0)
		out->error = strbuf_error(&command);
	leak_say(out, head->pid, head->title);
	leak_say(out, head->pid, "Using memtraced-" MEMTRACED_VERSION);
	leak_line(out, head->pid);
	strbuf_adds(out, "Command:");
	escape_text(out, strbuf_str(&command));
	strbuf_addch(out, '\n');
	if (head->ppid) {
		leak_line(out, head->pid);
		strbuf_addf(out, "Parent PID: %d\n", (int)head->ppid);
	}
	leak_say(out, head->pid, "");
}

void leak_text_missed(struct strbuf *out, pid_t pid, const struct model_process *image)
{
	struct writer w = { .out = out, .pid = pid };

	empty(&w);
	line(&w);
	strbuf_adds(out, image->ended ? "note: it ended before it could be checked" :
					"note: it could not be checked");
	strbuf_adds(out, ", so there is no leak check: ");
	text_grouped(out, (uint64_t)image->totals.live_bytes);
	strbuf_adds(out, " bytes in ");
	text_grouped(out, (uint64_t)image->totals.live_blocks);
	strbuf_adds(out, image->ended ? " blocks were in use\n" : " blocks are in use\n");
	empty(&w);
}

/* --- the end --------------------------------------------------------------------------------- */

/* A line of what memcheck has as a message of its own, "--PID-- ". */
static void message_line(struct writer *w)
{
	if (w->options->shape == LEAK_SHAPE_OWN)
		line(w);
	else
		strbuf_addf(w->out, "--%d-- ", (int)w->pid);
}

static void used_suppressions(struct writer *w, const struct suppressions *used)
{
	for (size_t i = 0; i < suppressions_n(used); i++) {
		struct suppression_use use = suppressions_use(used, i);

		if (use.records == 0)
			continue;
		message_line(w);
		strbuf_addf(w->out, "used_suppression: %6" PRIu64 " ", use.records);
		escape_text(w->out, use.name);
		strbuf_addch(w->out, ' ');
		escape_text(w->out, use.file);
		strbuf_addf(w->out, ":%u", use.line);
		if (use.kind != SUPPRESSION_LEAK) {
			end(w);
			continue;
		}
		strbuf_adds(w->out, " suppressed: ");
		text_grouped(w->out, use.bytes);
		strbuf_adds(w->out, " bytes in ");
		text_grouped(w->out, use.blocks);
		strbuf_adds(w->out, " blocks\n");
	}
}

static void error_summary(struct writer *w, const struct leak_errors *errors)
{
	line(w);
	strbuf_addf(w->out,
		    "ERROR SUMMARY: %" PRIu64 " errors from %" PRIu64 " contexts (suppressed: "
		    "%" PRIu64 " from %" PRIu64 ")\n",
		    errors->errors, errors->contexts, errors->suppressed,
		    errors->suppressed_contexts);
}

void leak_text_end(struct strbuf *out, pid_t pid, const struct leak_errors *errors,
		   const struct suppressions *used, const char *list,
		   const struct leak_options *options)
{
	struct writer w = { .out = out, .pid = pid, .options = options };
	size_t before;

	if (options->shape == LEAK_SHAPE_OWN && used)
		used_suppressions(&w, used);
	if (errors->further > 0)
		note_count(&w, errors->further, " more heap errors at places beyond the limit");
	if (is_full(options) && options->shape == LEAK_SHAPE_VALGRIND && !options->error_list)
		say(&w, "For lists of detected and suppressed errors, rerun with: -s");
	if (is_full(options))
		error_summary(&w, errors);
	before = out->len;
	strbuf_adds(out, list);
	if (options->shape != LEAK_SHAPE_OWN && used)
		used_suppressions(&w, used);
	if (is_full(options) && out->len > before)
		error_summary(&w, errors);
}

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

static void address(struct strbuf *out, pid_t pid, const struct leak_error *error,
		    const struct leak_options *options)
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
		leak_stack_lines(out, pid, error->freed, options);
	else if (freed)
		leak_say(out, pid, "  note: --heap-errors remembers where blocks were free'd");
	if (freed && error->allocated)
		leak_say(out, pid, " Block was alloc'd at");
	if (error->allocated)
		leak_stack_lines(out, pid, error->allocated, options);
}

void leak_error_text(struct strbuf *out, pid_t pid, const struct leak_error *error, bool certain,
		     const struct leak_options *options)
{
	const struct leak_stack *stack = error->stack;
	const struct view_stack *places = &stack->stack;
	enum suppression_kind kind;

	leak_line(out, pid);
	error_words_title(out, error->values,
			  places->n_places ? view_stack_place(places, 0)->alloc : NULL);
	strbuf_addch(out, '\n');
	leak_stack_lines(out, pid, stack, options);
	address(out, pid, error, options);
	/* memcheck prints an error when it happens for the first time */
	if (error->count > 1 && options->shape == LEAK_SHAPE_OWN) {
		leak_line(out, pid);
		strbuf_adds(out, "note: ");
		text_grouped(out, error->count);
		strbuf_adds(out, " times so far\n");
	}
	if (!certain)
		leak_say(out, pid,
			 "note: not all of the process was seen: this may not be an error");
	leak_say(out, pid, "");
	if (options->generate != LEAK_GENERATE_NO && leak_error_kind(error->values->kind, &kind))
		suppression_generate(out, kind, REACH_DEFINITE, stack->names, stack->n_frames);
}

static void fault_line(struct strbuf *out, pid_t pid, const char *indent,
		       void (*words)(struct strbuf *out, const struct record_fault *fault),
		       const struct record_fault *fault)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	words(&text, fault);
	strbuf_pass_error(out, &text);
	if (text.len == 0)
		return;
	leak_line(out, pid);
	strbuf_adds(out, indent);
	strbuf_adds(out, strbuf_str(&text));
	strbuf_addch(out, '\n');
}

void leak_fault_text(struct strbuf *out, pid_t pid, const struct leak_fault *fault,
		     const struct leak_options *options)
{
	leak_say(out, pid, "");
	fault_line(out, pid, "", fault_words_title, fault->values);
	fault_line(out, pid, " ", fault_words_cause, fault->values);
	if (fault->stack)
		leak_stack_lines(out, pid, fault->stack, options);
	if (fault->stack && fault->stack->stack.truncated)
		leak_say(out, pid, "  note: its caller is not known");
	fault_line(out, pid, " ", fault_words_address, fault->values);
	if (fault->freed)
		leak_stack_lines(out, pid, fault->freed, options);
	if (fault->freed && fault->allocated)
		leak_say(out, pid, " Block was alloc'd at");
	if (fault->allocated)
		leak_stack_lines(out, pid, fault->allocated, options);
}
