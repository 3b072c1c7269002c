/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/symbols.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "report/view/mapped_object.h"
#include "symbol/jit/jit_codes.h"
#include "symbol/object_symbols.h"
#include "target/proc_file.h"

#include <errno.h>
#include <string.h>

/* Something looked up: a file offset of an object, or an address in a process's JIT code. */
struct entry {
	const struct model_object *object; /* NULL: JIT */
	uint32_t slot, code;		   /* JIT: jit_place.code, 0 for unknown code; else 0 */
	uint64_t offset;
	bool is_call;
	const void *kept;	      /* by symbols_keep: the latest */
	bool handed_over;	      /* by symbols_each_new */
	bool is_missed;		      /* its object was closed when it was to be looked up */
	struct symbol_object *opened; /* NULL: JIT */
	struct resolved resolved;
	struct symbol symbol; /* what `resolved` points to: unknown until symbols_settle */
	struct symbol_frame frame;
};

struct symbols {
	const struct model *model;
	struct symbolizer *symbolizer;
	bool open_files;
	size_t n_closed;		     /* objects, by symbols_close_file */
	size_t n_missed;		     /* entries of such that could not be looked up */
	bool has_kernel;		     /* /proc/kallsyms was read */
	VEC(struct symbol_object *) objects; /* by the index of the model's */
	struct jit_codes *jit;
	struct hashmap *entries;
	VEC(struct entry *) pending; /* not looked up so far */
	VEC(void *) kept;	     /* as long as the entries */
	uint64_t kept_bytes;
	uint64_t unread_codes;
	uint64_t recorded_unread; /* what a recording says of it; of what was handed over */
	size_t last_object;	  /* where the last RECORD_SYMBOL belonged: they come grouped */
};

/*
 * A place takes some 400 bytes, with its names, here and in the symbolizer: 100,000 places, and
 * what the last report needed if that is more.
 */
#define MAX_CACHED_BYTES (32ULL << 20)
/* The kernel's has 15 MB at most so far. */
#define KALLSYMS_MAX (256u << 20)

static const struct symbol_frame nothing_frame = { 0 };
static const struct symbol nothing = { .n_frames = 1, .frames = &nothing_frame };

static uint64_t entry_hash(const void *item)
{
	const struct entry *e = item;
	uint64_t where = e->object ? e->object->index : (uint64_t)e->slot << 32 | e->code;

	return hash_u64(e->offset ^ hash_u64(where * 2 + e->is_call));
}

static bool entry_equal(const void *item_a, const void *item_b)
{
	const struct entry *a = item_a, *b = item_b;

	return a->object == b->object && a->slot == b->slot && a->code == b->code &&
	       a->offset == b->offset && a->is_call == b->is_call;
}

static const struct hashmap_ops entry_ops = {
	.hash = entry_hash,
	.equal = entry_equal,
	.free_item = free,
};

int symbols_new(const struct model *model, struct symbolizer *symbolizer, bool open_files,
		struct symbols **ret_symbols)
{
	_cleanup_(symbols_free_p) struct symbols *symbols = calloc(1, sizeof(*symbols));
	int r;

	if (!symbols)
		return -ENOMEM;
	symbols->model = model;
	symbols->symbolizer = symbolizer;
	symbols->open_files = open_files;
	r = jit_codes_new(&symbols->jit);
	if (r == 0)
		r = hashmap_new(&entry_ops, &symbols->entries);
	if (r < 0)
		return r;
	*ret_symbols = TAKE_PTR(symbols);
	return 0;
}

static void drop_kept(struct symbols *symbols)
{
	vec_foreach(&symbols->kept, kept)
		free(*kept);
	symbols->kept.len = 0;
	symbols->kept_bytes = 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	vec_done(&symbols->objects);
	vec_done(&symbols->pending);
	drop_kept(symbols);
	vec_done(&symbols->kept);
	hashmap_free(symbols->entries);
	jit_codes_free(symbols->jit);
	free(symbols);
}

int symbols_update(struct symbols *symbols)
{
	size_t n = model_n_objects(symbols->model);
	int r = vec_reserve(&symbols->objects, n);

	while (r == 0 && symbols->objects.len < n) {
		const struct model_object *object =
			model_object(symbols->model, symbols->objects.len);

		r = mapped_object_open(symbols->model, object, symbols->symbolizer,
				       symbols->open_files ? object->local_path : NULL,
				       object->slot, &symbols->objects.data[symbols->objects.len]);
		if (r == 0)
			symbols->objects.len++;
	}
	return r;
}

/*
 * The kernel's symbols, when its first frame is looked up: it takes a tenth of a second. Where they
 * cannot be read its frames stay unknown.
 */
static int read_kernel(struct symbols *symbols, const struct model_object *object)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (!symbols->open_files || symbols->has_kernel)
		return 0;
	symbols->has_kernel = true;
	if (proc_kallsyms_read(KALLSYMS_MAX, &text) < 0)
		return strbuf_error(&text);
	return symbolizer_kallsyms(symbols->symbolizer, object->path, strbuf_str(&text), text.len,
				   &symbols->objects.data[object->index]);
}

/* Keeps a result; the entry that is there already, if there is one. */
static int remember(struct symbols *symbols, const struct entry *found, struct entry **ret_entry)
{
	struct entry *entry = hashmap_find(symbols->entries, found);
	int r;

	if (!entry) {
		entry = malloc(sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		*entry = *found;
		entry->resolved.symbol = &entry->symbol;
		if (entry->code)
			entry->symbol = (struct symbol){ 1, &entry->frame };
		r = hashmap_insert(symbols->entries, entry);
		if (r < 0) {
			free(entry);
			return r;
		}
	}
	*ret_entry = entry;
	return 0;
}

/*
 * The code of a process, or what it inherited from the one that it was forked from: the run-time
 * said that once. 0 or -ENOMEM; not found: code 0.
 */
static int find_jit(struct symbols *symbols, const struct symbols_at *at,
		    struct jit_place *ret_place)
{
	uint32_t slot = at->slot;
	int r = -ENOENT;

	*ret_place = (struct jit_place){ 0 };
	while (slot != RECORD_NO_SLOT && r == -ENOENT) {
		const struct model_process *process = model_find_process(symbols->model, slot);

		r = jit_codes_find(symbols->jit, slot, at->addr, at->is_call, at->time_ns,
				   ret_place);
		slot = process ? process->parent_slot : RECORD_NO_SLOT;
	}
	return r == -ENOENT ? 0 : r;
}

static int resolve_jit(struct symbols *symbols, const struct model_place *place,
		       const struct symbols_at *at, const struct resolved **ret_resolved)
{
	struct entry entry = {
		.slot = at->slot,
		.offset = at->addr,
		.is_call = at->is_call,
		.symbol = nothing,
	};
	struct jit_place found;
	struct entry *kept;
	int r = find_jit(symbols, at, &found);

	if (r < 0)
		return r;
	entry.code = found.code;
	entry.frame = found.frame;
	entry.resolved = (struct resolved){
		.object = found.code && found.source ? found.source : place->object->path,
		.vaddr = at->addr,
	};
	r = remember(symbols, &entry, &kept);
	if (r == 0)
		*ret_resolved = &kept->resolved;
	return r;
}

int symbols_resolve(struct symbols *symbols, const struct model_place *place,
		    const struct symbols_at *at, const struct resolved **ret_resolved)
{
	struct entry entry = {
		.object = place->object,
		.offset = place->file_offset,
		.is_call = at->is_call,
		.symbol = nothing,
	};
	struct entry *kept;
	int r;

	if (place->object->is_anonymous)
		return resolve_jit(symbols, place, at, ret_resolved);
	kept = hashmap_find(symbols->entries, &entry);
	if (kept) {
		*ret_resolved = &kept->resolved;
		return 0;
	}
	r = symbols_update(symbols);
	if (r == 0 && model_object_is_kernel(place->object))
		r = read_kernel(symbols, place->object);
	if (r == 0)
		r = vec_reserve(&symbols->pending, symbols->pending.len + 1);
	if (r < 0)
		return r;
	entry.opened = symbols->objects.data[place->object->index];
	entry.resolved.object = place->object->path;
	entry.resolved.vaddr = symbol_object_vaddr(entry.opened, entry.offset);
	r = remember(symbols, &entry, &kept);
	if (r < 0)
		return r;
	symbols->pending.data[symbols->pending.len++] = kept;
	*ret_resolved = &kept->resolved;
	return 0;
}

int symbols_keep(struct symbols *symbols, const struct resolved *resolved, const void *data,
		 size_t len, const void **ret_kept)
{
	struct entry *entry = NULL;
	void *copy;
	int r;

	/* All that symbols_resolve gives is in an entry of ours. */
	if (resolved)
		entry = (struct entry *)((char *)resolved - offsetof(struct entry, resolved));
	if (entry && entry->kept && memcmp(entry->kept, data, len) == 0) {
		*ret_kept = entry->kept;
		return 0;
	}
	r = vec_reserve(&symbols->kept, symbols->kept.len + 1);
	copy = r == 0 ? malloc(len) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	symbols->kept.data[symbols->kept.len++] = copy;
	symbols->kept_bytes += len + sizeof(copy);
	if (entry)
		entry->kept = copy;
	*ret_kept = copy;
	return 0;
}

static const struct model_object *find_object(struct symbols *symbols,
					      const struct record_symbol *record)
{
	size_t n = symbols->objects.len;

	for (size_t i = 0; i < n; i++) {
		size_t at = (symbols->last_object + i) % n;
		const struct model_object *object = model_object(symbols->model, at);

		if (object->dev == record->dev && object->ino == record->ino &&
		    strcmp(object->path, record->object) == 0) {
			symbols->last_object = at;
			return object;
		}
	}
	return NULL;
}

/* Tells the symbolizer what a record says, and gets its own copy of that. */
static int know(struct symbols *symbols, struct symbol_object *object,
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
		};
	if (symbol.n_frames == 0)
		symbol.n_frames = 1;
	r = symbolizer_know(symbols->symbolizer, object, record->file_offset, &symbol);
	if (r < 0)
		return r;
	return symbolizer_resolve(symbols->symbolizer, object, record->file_offset, record->is_call,
				  ret_symbol);
}

/* Recordings before RECORD_JIT_CODE say what each place was: up to there it is one function. */
static int know_jit(struct symbols *symbols, const struct record_symbol *symbol)
{
	const struct record_symbol_frame *frame = symbol->frames;
	struct record_jit_line line = {};
	struct record_jit_code code = {
		.slot = symbol->slot,
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
	if (symbol->slot != RECORD_NO_SLOT)
		return know_jit(symbols, symbol);
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
	r = know(symbols, entry.opened, symbol, &known);
	if (r < 0)
		return r;
	entry.symbol = *known;
	return remember(symbols, &entry, &kept);
}

static int entry_compare(const void *item_a, const void *item_b)
{
	const struct entry *a = *(const struct entry *const *)item_a;
	const struct entry *b = *(const struct entry *const *)item_b;

	if (a->object->index != b->object->index)
		return a->object->index < b->object->index ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (int)a->is_call - (int)b->is_call;
}

static int settle_entry(struct symbols *symbols, struct entry *entry)
{
	const struct object_place place = { entry->offset, entry->is_call };
	const struct symbol *symbol;
	int r;

	if (!symbol_object_is_closed(entry->opened))
		r = symbolizer_resolve(symbols->symbolizer, entry->opened, entry->offset,
				       entry->is_call, &symbol);
	else
		r = symbolizer_find(symbols->symbolizer, entry->opened, &place, &symbol);
	if (r == 0)
		entry->symbol = *symbol;
	if (r != -ENOENT)
		return r;
	entry->is_missed = true;
	symbols->n_missed++;
	return 0;
}

/* The next pending places that belong to one object; `places` has room for all. */
static int settle_object(struct symbols *symbols, size_t first, struct object_place *places,
			 size_t *ret_end)
{
	struct symbol_object *opened = symbols->pending.data[first]->opened;
	size_t i;
	int r;

	for (i = first; i < symbols->pending.len; i++) {
		const struct entry *entry = symbols->pending.data[i];

		if (entry->opened != opened)
			break;
		places[i - first] = (struct object_place){ entry->offset, entry->is_call };
	}
	*ret_end = i;
	r = symbol_object_is_closed(opened) ?
		    0 :
		    symbolizer_look_up(symbols->symbolizer, opened, places, i - first);
	for (i = first; r == 0 && i < *ret_end; i++)
		r = settle_entry(symbols, symbols->pending.data[i]);
	return r;
}

/* By object, since not all can be held in memory at once. */
int symbols_settle(struct symbols *symbols)
{
	_cleanup_free_ struct object_place *places =
		calloc(symbols->pending.len + 1, sizeof(*places));
	int r = places ? 0 : -ENOMEM;

	if (symbols->pending.len > 1)
		qsort(symbols->pending.data, symbols->pending.len, sizeof(symbols->pending.data[0]),
		      entry_compare);
	for (size_t i = 0; r == 0 && i < symbols->pending.len;)
		r = settle_object(symbols, i, places, &i);
	if (r == 0)
		symbols->pending.len = 0;
	return r;
}

/* The entries point into what the symbolizer has found. */
static int forget_entries(struct symbols *symbols)
{
	struct hashmap *entries;
	int r = hashmap_new(&entry_ops, &entries);

	if (r < 0)
		return r;
	hashmap_free(symbols->entries);
	symbols->entries = entries;
	symbols->pending.len = 0;
	symbols->n_missed = 0;
	drop_kept(symbols);
	return 0;
}

int symbols_age(struct symbols *symbols)
{
	uint64_t own = hashmap_size(symbols->entries) * sizeof(struct entry) + symbols->kept_bytes;
	int r;

	/* What a recording said is said once. */
	if (!symbols->open_files)
		return 0;
	r = symbolizer_age(symbols->symbolizer,
			   own < MAX_CACHED_BYTES ? MAX_CACHED_BYTES - own : 0);
	return r > 0 || (r == 0 && own > MAX_CACHED_BYTES) ? forget_entries(symbols) : r;
}

int symbols_fetch_from(struct symbols *symbols, struct debuginfod *debuginfod)
{
	int r = forget_entries(symbols);

	return r < 0 ? r : symbolizer_fetch_from(symbols->symbolizer, debuginfod);
}

/* Not while it has places that are not looked up. */
static void close_object(struct symbols *symbols, size_t index)
{
	struct symbol_object *opened = symbols->objects.data[index];

	if (symbol_object_is_closed(opened))
		return;
	symbolizer_close(symbols->symbolizer, opened);
	symbols->n_closed += symbol_object_is_closed(opened);
}

/* A frame of a stack, if it is in one of these; as views resolve it. */
static int resolve_frame(struct symbols *symbols, const bool *closing,
			 const struct model_stack *stack, size_t frame)
{
	const struct symbols_at at = { stack->slot, stack->frames[frame], stack->time_ns,
				       model_stack_is_call(stack, frame) };
	const struct resolved *resolved;
	struct model_place place;

	if (at.addr < at.is_call ||
	    !model_resolve(symbols->model, at.slot, at.addr - at.is_call, at.time_ns, &place))
		return 0;
	if (place.object->index >= symbols->objects.len || !closing[place.object->index])
		return 0;
	place.file_offset += at.is_call;
	return symbols_resolve(symbols, &place, &at, &resolved);
}

static int resolve_closing(struct symbols *symbols, const bool *closing)
{
	const struct model_stack *stack = NULL;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (stack = model_next_stack(symbols->model, &pos, stack)))
		for (size_t i = 0; r == 0 && i < stack->n_frames; i++)
			r = resolve_frame(symbols, closing, stack, i);
	return r < 0 ? r : symbols_settle(symbols);
}

int symbols_close_files(struct symbols *symbols, const struct symbols_file *files, size_t n)
{
	_cleanup_free_ bool *closing = calloc(symbols->objects.len + 1, sizeof(*closing));
	size_t n_objects = symbols->objects.len;
	int r;

	if (!closing)
		return -ENOMEM;
	for (size_t i = 0; i < n_objects; i++) {
		const struct model_object *object = model_object(symbols->model, i);

		for (size_t k = 0; k < n; k++)
			closing[i] |= object->dev == files[k].dev && object->ino == files[k].ino;
	}
	r = resolve_closing(symbols, closing);
	for (size_t i = 0; r == 0 && i < n_objects; i++)
		if (closing[i])
			close_object(symbols, i);
	return r;
}

/* What was not found meanwhile is looked up again. */
static int retry_missed(struct symbols *symbols, const struct symbol_object *opened)
{
	struct entry *entry;
	size_t pos = 0;
	int r = 0;

	while (symbols->n_missed && r == 0 && (entry = hashmap_next(symbols->entries, &pos))) {
		if (!entry->is_missed || entry->opened != opened)
			continue;
		entry->resolved.vaddr = symbol_object_vaddr(opened, entry->offset);
		entry->is_missed = false;
		symbols->n_missed--;
		r = vec_push(&symbols->pending, entry);
	}
	return r;
}

int symbols_open_again(struct symbols *symbols, const struct record_mapping *mapping)
{
	int r = 0;

	for (size_t i = 0; r == 0 && symbols->n_closed && i < symbols->objects.len; i++) {
		const struct model_object *object = model_object(symbols->model, i);
		struct symbol_object *opened = symbols->objects.data[i];

		if (object->dev != mapping->dev || object->ino != mapping->ino ||
		    !symbol_object_is_closed(opened) || !mapping->local_path)
			continue;
		r = mapped_object_open(symbols->model, object, symbols->symbolizer,
				       mapping->local_path, mapping->slot, &opened);
		opened = symbols->objects.data[i];
		if (r < 0 || symbol_object_is_closed(opened))
			continue;
		symbols->n_closed--;
		r = retry_missed(symbols, opened);
	}
	return r;
}

/* Where it is not the function's name itself. */
static const char *linkage_of(const struct symbol_frame *frame)
{
	if (frame->linkage && frame->function && strcmp(frame->linkage, frame->function) == 0)
		return NULL;
	return frame->linkage;
}

static int hand_over(const struct entry *entry, record_fn fn, void *userdata)
{
	const struct symbol *symbol = entry->resolved.symbol;
	_cleanup_free_ struct record_symbol_frame *frames =
		calloc(symbol->n_frames, sizeof(*frames));
	_cleanup_free_ struct record_symbol_linkage *linkages =
		calloc(symbol->n_frames, sizeof(*linkages));
	struct record record = {
		.type = RECORD_SYMBOL,
		.symbol = { .object = entry->resolved.object,
			    .dev = entry->object->dev,
			    .ino = entry->object->ino,
			    .slot = RECORD_NO_SLOT,
			    .file_offset = entry->offset,
			    .is_call = entry->is_call,
			    .vaddr = entry->resolved.vaddr,
			    .n_frames = symbol->n_frames,
			    .frames = frames,
			    .linkages = linkages },
	};

	if (!frames || !linkages)
		return -ENOMEM;
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

/* Those that can be recorded, object by object; `all`: also what was handed over. 0 or -ENOMEM. */
static int list_entries(const struct symbols *symbols, bool all, entry_list *list)
{
	struct entry *entry;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (entry = hashmap_next(symbols->entries, &pos)))
		/* of JIT code the recording has RECORD_JIT_CODE */
		if (entry->object && (all || !entry->handed_over))
			r = vec_push(list, entry);
	if (r == 0 && list->len > 1)
		qsort(list->data, list->len, sizeof(list->data[0]), entry_compare);
	return r;
}

int symbols_each(const struct symbols *symbols, record_fn fn, void *userdata)
{
	entry_list list = { 0 };
	int r = list_entries(symbols, true, &list);

	for (size_t i = 0; r == 0 && i < list.len; i++)
		r = hand_over(list.data[i], fn, userdata);
	vec_done(&list);
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
	int r = list_entries(symbols, false, &list);

	for (size_t i = 0; r == 0 && i < list.len; i++) {
		list.data[i]->handed_over = true;
		r = hand_over(list.data[i], fn, userdata);
	}
	vec_done(&list);
	return r ? r : hand_over_unread(symbols, fn, userdata);
}
