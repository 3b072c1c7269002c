/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols as records, and back. */
#include "report/view/symbols_state.h"
#include "symbol/jit/jit_codes.h"

#include <errno.h>
#include <string.h>

static const struct model_object *find_object(struct symbols *symbols,
					      const struct record_symbol *record)
{
	size_t n = symbols->objects.len;

	for (size_t i = 0; i < n; i++) {
		size_t at = (symbols->last_object + i) % n;
		const struct model_object *object = model_objects(symbols->model)->list.data[at];

		if (object->dev == record->dev && object->ino == record->ino &&
		    strcmp(object->path, record->object) == 0) {
			symbols->last_object = at;
			return object;
		}
	}
	return NULL;
}

static enum symbol_seen seen_of(const struct record_symbol *record, size_t frame)
{
	uint32_t seen = frame < record->n_valgrind ? record->valgrind[frame].seen : SYMBOL_SEEN;

	return seen <= SYMBOL_UNSEEN ? (enum symbol_seen)seen : SYMBOL_SEEN;
}

/* Tells the symbolizer what a record says, and gets its own copy of that. */
static int import_symbol(struct symbols *symbols, struct symbol_object *object,
			 const struct record_symbol *record, const struct symbol **ret_symbol)
{
	_cleanup_free_ struct symbol_frame *frames = calloc(record->n_frames + 1, sizeof(*frames));
	struct symbol symbol = { .n_frames = record->n_frames, .frames = frames };
	int r;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < record->n_frames; i++)
		frames[i] = (struct symbol_frame){
			.function = record->frames[i].function,
			.offset = record->frames[i].offset,
			.file = record->frames[i].file,
			.line = record->frames[i].line,
			.is_inline = record->frames[i].is_inline,
			.linkage = i < record->n_linkages ? record->linkages[i].name : NULL,
			.valgrind = i < record->n_valgrind ? record->valgrind[i].name : NULL,
			.seen = seen_of(record, i),
		};
	symbol.callee = (struct symbol_callee){ record->callee, record->callee_linkage };
	if (symbol.n_frames == 0)
		symbol.n_frames = 1;
	r = symbolizer_add(symbols->symbolizer, object, record->file_offset, &symbol);
	if (r < 0)
		return r;
	return symbolizer_resolve(symbols->symbolizer, object, record->file_offset, record->is_call,
				  ret_symbol);
}

/* Recordings before RECORD_JIT_CODE say what each place was: up to there it is one function. */
static int import_jit(struct symbols *symbols, const struct record_symbol *symbol)
{
	const struct record_symbol_frame *frame = symbol->frames;
	struct record_jit_line line = {};
	struct record_jit_code code = {
		.image = symbol->image,
		.source = symbol->object,
		.lines = &line,
	};

	if (symbol->n_frames == 0 || frame->offset > symbol->file_offset)
		return 0;
	code.start = symbol->file_offset - frame->offset;
	code.size_bytes = frame->offset + !symbol->is_call;
	code.name = frame->function;
	line.line = frame->line;
	line.file = frame->file;
	code.n_lines = frame->line > 0;
	return jit_codes_add(symbols->jit, &code);
}

int symbols_apply(const struct record *record, void *userdata)
{
	struct symbols *symbols = userdata;
	const struct record_symbol *symbol = &record->symbol;
	const struct model_object *object;
	const struct symbol *known;
	struct entry entry, *kept;
	int r;

	if (record->type == RECORD_JIT_CODE)
		return jit_codes_add(symbols->jit, &record->jit_code);
	if (record->type == RECORD_SYMBOLS_UNREAD)
		symbols->recorded_unread = record->symbols_unread.count;
	if (record->type != RECORD_SYMBOL || !symbol->object)
		return 0;
	if (!image_is_none(symbol->image))
		return import_jit(symbols, symbol);
	r = symbols_update(symbols);
	if (r < 0)
		return r;
	object = find_object(symbols, symbol);
	if (!object)
		return 0;
	entry = (struct entry){
		.object = object,
		.offset = symbol->file_offset,
		.is_call = symbol->is_call,
		.resolved = { .object = object->path, .vaddr = symbol->vaddr },
	};
	entry.opened = symbols->objects.data[object->index];
	r = import_symbol(symbols, entry.opened, symbol, &known);
	if (r < 0)
		return r;
	entry.symbol = *known;
	return symbols_remember(symbols, &entry, &kept);
}

/* Where it is not the function's name itself. */
static const char *linkage_of(const struct symbol_frame *frame)
{
	if (frame->linkage && frame->function && strcmp(frame->linkage, frame->function) == 0)
		return NULL;
	return frame->linkage;
}

/* Those that only suppressions have. */
static void hand_over_valgrind(const struct symbol *symbol, struct record_symbol_valgrind *names,
			       struct record_symbol *record)
{
	for (size_t i = 0; i < symbol->n_frames; i++) {
		names[i].name = symbol->frames[i].valgrind;
		names[i].seen = symbol->frames[i].seen;
		if (names[i].name || names[i].seen)
			record->n_valgrind = symbol->n_frames;
	}
	record->valgrind = names;
}

static int hand_over(const struct entry *entry, record_fn fn, void *userdata)
{
	const struct symbol *symbol = entry->resolved.symbol;
	_cleanup_free_ struct record_symbol_frame *frames =
		calloc(symbol->n_frames, sizeof(*frames));
	_cleanup_free_ struct record_symbol_linkage *linkages =
		calloc(symbol->n_frames, sizeof(*linkages));
	_cleanup_free_ struct record_symbol_valgrind *valgrind =
		calloc(symbol->n_frames, sizeof(*valgrind));
	struct record record = {
		.type = RECORD_SYMBOL,
		.symbol = { .object = entry->resolved.object,
			    .dev = entry->object->dev,
			    .ino = entry->object->ino,
			    .image = RECORD_NO_IMAGE,
			    .file_offset = entry->offset,
			    .is_call = entry->is_call,
			    .vaddr = entry->resolved.vaddr,
			    .n_frames = symbol->n_frames,
			    .frames = frames,
			    .linkages = linkages,
			    .callee = symbol->callee.function,
			    .callee_linkage = symbol->callee.linkage },
	};

	if (!frames || !linkages || !valgrind)
		return -ENOMEM;
	hand_over_valgrind(symbol, valgrind, &record.symbol);
	for (size_t i = 0; i < symbol->n_frames; i++)
		frames[i] = (struct record_symbol_frame){
			.function = symbol->frames[i].function,
			.offset = symbol->frames[i].offset,
			.file = symbol->frames[i].file,
			.line = symbol->frames[i].line,
			.is_inline = symbol->frames[i].is_inline,
		};
	for (size_t i = 0; i < symbol->n_frames; i++) {
		linkages[i].name = linkage_of(&symbol->frames[i]);
		if (linkages[i].name)
			record.symbol.n_linkages = symbol->n_frames;
	}
	return fn(&record, userdata);
}

typedef VEC(struct entry *) entry_list;

/* Those that can be recorded and were not handed over, object by object. 0 or -ENOMEM. */
static int list_new_entries(const struct symbols *symbols, entry_list *list)
{
	struct entry *entry;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (entry = hashmap_next(&symbols->entries, &pos)))
		/* of JIT code the recording has RECORD_JIT_CODE */
		if (entry->object && !entry->handed_over && !entry->is_pending)
			r = vec_push(list, entry);
	if (r == 0)
		vec_sort(list, symbols_compare);
	return r;
}

void symbols_miss_codes(struct symbols *symbols, uint64_t n)
{
	symbols->unread_codes = n;
}

uint64_t symbols_unread(const struct symbols *symbols)
{
	uint64_t unread = symbolizer_count(symbols->symbolizer).unread + symbols->unread_codes;

	return unread > symbols->recorded_unread ? unread : symbols->recorded_unread;
}

static int hand_over_unread(struct symbols *symbols, record_fn fn, void *userdata)
{
	const struct record record = {
		.type = RECORD_SYMBOLS_UNREAD,
		.symbols_unread = { symbols_unread(symbols) },
	};

	if (record.symbols_unread.count == symbols->recorded_unread)
		return 0;
	symbols->recorded_unread = record.symbols_unread.count;
	return fn(&record, userdata);
}

int symbols_each_new(struct symbols *symbols, record_fn fn, void *userdata)
{
	entry_list list = { 0 };
	int r = list_new_entries(symbols, &list);

	for (size_t i = 0; r == 0 && i < list.len; i++) {
		list.data[i]->handed_over = true;
		r = hand_over(list.data[i], fn, userdata);
	}
	vec_done(&list);
	return r ? r : hand_over_unread(symbols, fn, userdata);
}
