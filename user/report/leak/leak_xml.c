/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_xml.h"

#include "analyze/suppression_file.h"
#include "config/words.h"
#include "report/text/error_words.h"
#include "report/text/text.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define TOOL "memcheck"

/* "<name>text</name>", a line, after so many blanks; quotes are as they are, as in Valgrind. */
static void element(struct strbuf *out, int indent, const char *name, const char *text)
{
	strbuf_addf(out, "%*s<%s>", indent, "", name);
	text_xml_element(out, text);
	strbuf_addf(out, "</%s>\n", name);
}

static void number(struct strbuf *out, int indent, const char *name, uint64_t value)
{
	strbuf_addf(out, "%*s<%s>%" PRIu64 "</%s>\n", indent, "", name, value, name);
}

void leak_xml_elapsed(struct strbuf *out, uint64_t elapsed_ns)
{
	uint64_t ms = elapsed_ns / 1000000, s = ms / 1000;

	strbuf_addf(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%03" PRIu64 " ",
		    s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, ms % 1000);
}

static void status(struct strbuf *out, const char *state, uint64_t elapsed_ns)
{
	strbuf_addf(out, "<status>\n  <state>%s</state>\n  <time>", state);
	leak_xml_elapsed(out, elapsed_ns);
	strbuf_adds(out, "</time>\n</status>\n\n");
}

/* --- the document ----------------------------------------------------------------------------- */

static void preamble(struct strbuf *out, const struct leak_xml_head *head)
{
	_cleanup_strbuf_ struct strbuf command = { 0 };

	strbuf_adds(&command, "Command:");
	for (char *const *word = head->command; *word; word++) {
		strbuf_addch(&command, ' ');
		words_quote(&command, *word);
	}
	if (strbuf_error(&command) < 0)
		out->error = strbuf_error(&command);
	strbuf_adds(out, "<preamble>\n");
	element(out, 2, "line",
		"memtraced, which checks for lost blocks as Valgrind's memcheck does");
	element(out, 2, "line", "Using memtraced-" MEMTRACED_VERSION);
	element(out, 2, "line", strbuf_str(&command));
	strbuf_adds(out, "</preamble>\n\n");
}

static void arguments(struct strbuf *out, const char *name, const char *program, char *const *words)
{
	strbuf_addf(out, "  <%s>\n", name);
	element(out, 4, "exe", program);
	for (; *words; words++)
		element(out, 4, "arg", *words);
	strbuf_addf(out, "  </%s>\n", name);
}

void leak_xml_begin(struct strbuf *out, const struct leak_xml_head *head,
		    const struct xml_options *options)
{
	strbuf_adds(out, "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n");
	number(out, 0, "protocolversion", options->protocol);
	element(out, 0, "protocoltool", TOOL);
	strbuf_addch(out, '\n');
	preamble(out, head);
	number(out, 0, "pid", (uint64_t)head->pid);
	number(out, 0, "ppid", (uint64_t)head->ppid);
	element(out, 0, "tool", TOOL);
	for (size_t i = 0; i < head->n_variables; i++) {
		strbuf_adds(out, "<logfilequalifier>\n");
		element(out, 2, "var", head->variables[i].name);
		element(out, 2, "value", head->variables[i].value);
		strbuf_adds(out, "</logfilequalifier>\n");
	}
	/* XML of the user's own, by the protocol. */
	if (options->comment)
		strbuf_addf(out, "<usercomment>%s</usercomment>\n", options->comment);
	strbuf_adds(out, "\n<args>\n");
	arguments(out, "vargv", head->program, head->own_words);
	arguments(out, "argv", head->command[0] ? head->command[0] : "",
		  head->command[0] ? head->command + 1 : head->command);
	strbuf_adds(out, "</args>\n\n");
	status(out, "RUNNING", 0);
}

void leak_xml_finished(struct strbuf *out, uint64_t elapsed_ns)
{
	strbuf_addch(out, '\n');
	status(out, "FINISHED", elapsed_ns);
}

void leak_xml_end(struct strbuf *out, const uint64_t *counts, size_t n,
		  const struct suppressions *used)
{
	strbuf_adds(out, "<errorcounts>\n");
	for (size_t i = 0; i < n; i++) {
		if (counts[i] == 0)
			continue;
		strbuf_adds(out, "  <pair>\n");
		number(out, 4, "count", counts[i]);
		strbuf_addf(out, "    <unique>0x%zx</unique>\n  </pair>\n", i);
	}
	strbuf_adds(out, "</errorcounts>\n\n<suppcounts>\n");
	for (size_t i = 0; i < suppressions_n(used); i++) {
		struct suppression_use use = suppressions_use(used, i);

		if (use.records == 0)
			continue;
		strbuf_adds(out, "  <pair>\n");
		number(out, 4, "count", use.records);
		element(out, 4, "name", use.name);
		strbuf_adds(out, "  </pair>\n");
	}
	strbuf_adds(out, "</suppcounts>\n\n</valgrindoutput>\n\n");
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* The folder of a file, unless there is none, and its name. */
static void file_elements(struct strbuf *out, const char *file)
{
	const char *name = text_base_name(file);
	_cleanup_strbuf_ struct strbuf folder = { 0 };

	if (name > file + 1)
		strbuf_add(&folder, file, (size_t)(name - file) - 1);
	if (strbuf_error(&folder) < 0)
		out->error = strbuf_error(&folder);
	if (folder.len > 0)
		element(out, 6, "dir", strbuf_str(&folder));
	element(out, 6, "file", name);
}

static void frame(struct strbuf *out, const struct leak_stack *stack, size_t i,
		  const struct leak_options *options)
{
	const struct leak_frame *f = &stack->frames[i];
	const char *function = leak_function_shown(stack, i, options);
	const char *object = leak_object_shown(f);

	strbuf_addf(out, "    <frame>\n      <ip>0x%" PRIX64 "</ip>\n", leak_frame_address(f));
	if (object)
		element(out, 6, "obj", object);
	if (function)
		element(out, 6, "fn", function);
	if (f->file)
		file_elements(out, f->file);
	if (f->file && f->line)
		number(out, 6, "line", f->line);
	strbuf_adds(out, "    </frame>\n");
}

static void stack_element(struct strbuf *out, const struct leak_stack *stack,
			  const struct leak_options *options)
{
	size_t n = leak_frames_shown(stack, options);

	strbuf_adds(out, "  <stack>\n");
	for (size_t i = 0; i < n; i++)
		frame(out, stack, i, options);
	if (n == 0)
		strbuf_adds(out, "    <frame>\n      <ip>0x0</ip>\n    </frame>\n");
	strbuf_adds(out, "  </stack>\n");
}

/* --- suppressions ----------------------------------------------------------------------------- */

/* A line of the text of a suppression, without its indentation. */
static void suppression_line(struct strbuf *out, size_t number_of_line, char *line)
{
	line += strspn(line, " ");
	if (number_of_line == 1) { /* "<insert_a_suppression_name_here>" */
		line[strcspn(line, ">")] = '\0';
		element(out, 4, "sname", line + (*line == '<'));
	} else if (number_of_line == 2) {
		element(out, 4, "skind", line);
	} else if (strncmp(line, "fun:", 4) == 0 || strncmp(line, "obj:", 4) == 0) {
		bool is_object = *line == 'o';

		strbuf_adds(out, is_object ? "    <sframe> <obj>" : "    <sframe> <fun>");
		text_xml(out, line + 4);
		strbuf_adds(out, is_object ? "</obj> </sframe>\n" : "</fun> </sframe>\n");
	} else if (*line && *line != '}' && strcmp(line, "...") != 0) { /* no frame there */
		element(out, 4, "skaux", line);
	}
}

/* The text itself: what would end the section stands in two of them. */
static void raw_text(struct strbuf *out, const char *text)
{
	const char *at;

	strbuf_adds(out, "    <rawtext>\n<![CDATA[\n");
	for (; (at = strstr(text, "]]>")); text = at + 2) {
		strbuf_add(out, text, (size_t)(at - text) + 2);
		strbuf_adds(out, "]]><![CDATA[");
	}
	strbuf_addf(out, "%s]]>\n    </rawtext>\n", text);
}

static void suppression(struct strbuf *out, enum suppression_kind kind, enum reach_class class,
			const struct leak_stack *stack)
{
	_cleanup_strbuf_ struct strbuf raw = { 0 }, clean = { 0 };
	_cleanup_free_ char *copy = NULL;
	char *at, *line;

	suppression_generate(&raw, kind, class, stack->names, stack->n_frames);
	escape_bytes(&clean, strbuf_str(&raw), raw.len, "\n");
	copy = strbuf_error(&raw) || strbuf_error(&clean) ? NULL : strdup(strbuf_str(&clean));
	if (!copy) {
		out->error = -ENOMEM;
		return;
	}
	strbuf_adds(out, "  <suppression>\n");
	at = copy;
	for (size_t i = 0; (line = strsep(&at, "\n")); i++)
		if (i > 0)
			suppression_line(out, i, line);
	raw_text(out, strbuf_str(&clean));
	strbuf_adds(out, "  </suppression>\n");
}

/* --- errors ----------------------------------------------------------------------------------- */

/* `tid`: the kernel's, in place of a number that is not known. */
static void thread(struct strbuf *out, uint32_t thread_number, uint32_t tid)
{
	number(out, 2, "tid", thread_number ? thread_number : tid ? tid : 1);
}

static void error_begin(struct strbuf *out, const struct leak_xml_id *id, uint32_t thread_number,
			uint32_t tid, const char *kind)
{
	strbuf_addf(out, "<error>\n  <unique>0x%" PRIx64 "</unique>\n", id->unique);
	thread(out, thread_number, tid);
	element(out, 2, "kind", kind);
}

/* Whose it is, where a document has several processes. */
static void process_note(struct strbuf *out, const struct leak_xml_id *id)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (!id->is_other)
		return;
	strbuf_addf(&text, "in process %" PRIu32 " (%s)", id->image->pid, id->image->comm);
	if (strbuf_error(&text) < 0)
		out->error = strbuf_error(&text);
	element(out, 2, "auxwhat", strbuf_str(&text));
}

static const char *kind_of(const struct record_heap_error *error, uint32_t protocol)
{
	switch (error->kind) {
	case RECORD_MISMATCHED_FREE:
	case RECORD_FOREIGN_FREE:
		return "MismatchedFree";
	case RECORD_SUSPICIOUS_SIZE:
		return "FishyValue";
	case RECORD_REALLOC_ZERO:
		/* Protocol 4 has no kind of its own for it; tools refuse what they do not know. */
		return protocol > 4 ? "ReallocSizeZero" : "FishyValue";
	default:
		return "InvalidFree";
	}
}

static void address(struct strbuf *out, const struct leak_error *error,
		    const struct leak_options *options)
{
	const struct record_heap_error *v = error->values;
	bool freed = v->kind == RECORD_DOUBLE_FREE;
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (!error_words_has_address(v, v->block))
		return;
	error_words_address(&text, v, v->block);
	if (strbuf_error(&text) < 0)
		out->error = strbuf_error(&text);
	element(out, 2, "auxwhat", strbuf_str(&text));
	if (freed && error->freed)
		stack_element(out, error->freed, options);
	if (freed && error->allocated)
		element(out, 2, "auxwhat", "Block was alloc'd at");
	if (error->allocated)
		stack_element(out, error->allocated, options);
}

void leak_xml_error(struct strbuf *out, const struct leak_xml_id *id,
		    const struct leak_error *error, bool certain,
		    const struct leak_options *options)
{
	const struct leak_stack *stack = error->stack;
	const struct view_stack *places = &stack->stack;
	_cleanup_strbuf_ struct strbuf title = { 0 };
	enum suppression_kind kind;

	error_words_title(&title, error->values,
			  places->n_places ? view_stack_place(places, 0)->alloc : NULL);
	if (strbuf_error(&title) < 0)
		out->error = strbuf_error(&title);
	error_begin(out, id, error->thread, error->values->tid,
		    kind_of(error->values, options->xml.protocol));
	element(out, 2, "what", strbuf_str(&title));
	stack_element(out, stack, options);
	address(out, error, options);
	process_note(out, id);
	if (!certain)
		element(out, 2, "auxwhat",
			"note: not all of the process was seen: this may not be an error");
	if (options->generate != LEAK_GENERATE_NO && leak_error_kind(error->values->kind, &kind))
		suppression(out, kind, REACH_DEFINITE, stack);
	strbuf_adds(out, "</error>\n\n");
}

void leak_xml_record(struct strbuf *out, const struct leak_xml_id *id,
		     const struct loss_records *list, size_t index,
		     const struct leak_stacks *stacks, const struct leak_options *options)
{
	static const char *const kinds[REACH_CLASSES] = {
		[REACH_DEFINITE] = "Leak_DefinitelyLost",
		[REACH_INDIRECT] = "Leak_IndirectlyLost",
		[REACH_POSSIBLE] = "Leak_PossiblyLost",
		[REACH_REACHABLE] = "Leak_StillReachable",
	};
	const struct loss_record *r = loss_records_get(list, index);
	const struct leak_stack *stack =
		r->stack == LOSS_NO_STACK ? NULL : &stacks->stacks[r->stack];
	const struct leak_stack none = { .n_frames = 0 };
	_cleanup_strbuf_ struct strbuf title = { 0 };

	leak_record_title(&title, list, index);
	if (strbuf_error(&title) < 0)
		out->error = strbuf_error(&title);
	error_begin(out, id, 1, 0, kinds[r->class]);
	strbuf_adds(out, "  <xwhat>\n");
	element(out, 4, "text", strbuf_str(&title));
	number(out, 4, "leakedbytes", r->bytes + r->indirect_bytes);
	number(out, 4, "leakedblocks", r->blocks);
	strbuf_adds(out, "  </xwhat>\n");
	stack_element(out, stack ? stack : &none, options);
	process_note(out, id);
	if (stack && options->generate != LEAK_GENERATE_NO)
		suppression(out, SUPPRESSION_LEAK, r->class, stack);
	strbuf_adds(out, "</error>\n\n");
}

/* A number of the protocol's, which is signed. */
static void signed_number(struct strbuf *out, const char *name, int value)
{
	strbuf_addf(out, "  <%s>%d</%s>\n", name, value, name);
}

void leak_xml_fault(struct strbuf *out, const struct leak_fault *fault,
		    const struct leak_options *options)
{
	const struct record_fault *v = fault->values;
	const char *name = fault_signal_name(v->signal);
	const struct leak_stack none = { .n_frames = 0 };
	_cleanup_strbuf_ struct strbuf cause = { 0 };
	char *address;

	fault_words_cause(&cause, v);
	if (strbuf_error(&cause) < 0)
		out->error = strbuf_error(&cause);
	strbuf_adds(out, "<fatal_signal>\n");
	thread(out, fault->thread, v->tid);
	signed_number(out, "signo", v->signal);
	element(out, 2, "signame", name ? name : "unknown");
	signed_number(out, "sicode", v->code);
	if (cause.len > 0 && (address = strstr(cause.data, " at address ")))
		*address = '\0'; /* an element of its own */
	if (cause.len > 0)
		element(out, 2, "event", cause.data);
	if (v->has_addr)
		strbuf_addf(out, "  <siaddr>0x%" PRIX64 "</siaddr>\n", v->addr);
	stack_element(out, fault->stack ? fault->stack : &none, options);
	strbuf_adds(out, "</fatal_signal>\n\n");
}
