/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/object_symbols.h"

#include "base/vec.h"
#include "elf/elf_file.h"
#include "probe/allocators.h"
#include "probe/callee.h"
#include "probe/insn.h"
#include "symbol/elf_image.h"
#include "symbol/names.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <string.h>

/* Longer than any allocator's. */
#define MAX_NAME 128

/* Which allocator functions the object's code calls, by return address (probe/callee.h). */
struct callees {
	bool was_opened;
	struct elf_file *file;	      /* NULL: not needed yet, or of no use */
	struct insn_decoder *decoder; /* NULL: likewise */
	char name[MAX_NAME];	      /* of the latest function */
};

struct object_symbols {
	struct elf_image *images[OBJECT_FILES]; /* NULL: there is none, or another file by now */
	struct symbol_table *table;
	struct dwarf_index *dwarf; /* NULL: there is none */
	struct callees callees;
};

static void object_symbols_free(struct object_symbols *object)
{
	if (!object)
		return;
	insn_decoder_free(object->callees.decoder);
	elf_file_free(object->callees.file);
	symbol_table_free(object->table);
	dwarf_index_free(object->dwarf);
	for (size_t i = 0; i < OBJECT_FILES; i++)
		elf_image_free(object->images[i]);
	free(object);
}
DEFINE_CLEANUP(struct object_symbols, object_symbols_free)

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return elf_file_read_text(((struct object_symbols *)ctx)->callees.file, addr, buf, len);
}

static const char *code_slot_name(void *ctx, uint64_t slot)
{
	return elf_file_slot_symbol(((struct object_symbols *)ctx)->callees.file, slot);
}

static const char *code_function(void *ctx, uint64_t addr, uint64_t *ret_end)
{
	struct object_symbols *object = ctx;
	const struct table_symbol *symbol = symbol_table_find(object->table, addr);
	char *name = object->callees.name;
	size_t len;

	if (!symbol || symbol->is_label || symbol->start != addr)
		return NULL;
	len = symbol->name_len < MAX_NAME ? symbol->name_len : MAX_NAME - 1;
	memcpy(name, symbol->name, len);
	name[len] = '\0';
	*ret_end = symbol->end;
	return name;
}

/* What cannot be opened has no calls that are known. */
static bool open_code(struct callees *callees, const struct elf_image *image)
{
	int fd = elf_image_fd(image);

	if (!callees->was_opened && fd >= 0 &&
	    elf_file_new_without_symbols(fd, &callees->file) == 0)
		(void)insn_decoder_new(elf_file_machine(callees->file), &callees->decoder);
	callees->was_opened = true;
	return callees->file && callees->decoder;
}

/* The name that the call before the address calls by. Static; NULL: none, or not known. */
static const char *callee_name(struct object_symbols *object, uint64_t return_vaddr)
{
	const struct callee_code code = { object, code_read, code_slot_name, code_function };
	const struct elf_image *image = object->images[OBJECT_IMAGE];
	const struct allocator_function *function;

	if (!open_code(&object->callees, image))
		return NULL;
	function = callee_find(object->callees.decoder, &code, return_vaddr);
	/* It may have been written to since it was opened. */
	return function && elf_image_is_unchanged(image) ? function->name : NULL;
}

/*
 * A file that was written to is another's by its build ID, even where size and time are as before;
 * without one, only size and time can tell.
 */
static int open_image(int fd, const struct elf_stamp *stamp, struct elf_image **ret_image)
{
	_cleanup_(elf_image_free_p) struct elf_image *image = NULL;

	if (fd < 0)
		return 0;
	if (elf_image_open(fd, &image) == -ENOMEM)
		return -ENOMEM;
	if (image && elf_stamp_matches(stamp, elf_image_stamp(image)))
		*ret_image = TAKE_PTR(image);
	return 0;
}

/* Where the DWARF is that the image does not hold itself. */
static struct elf_image *debug_image(const struct object_symbols *object)
{
	return object->images[OBJECT_DEBUG] ? object->images[OBJECT_DEBUG] :
					      object->images[OBJECT_IMAGE];
}

static int read_index(struct object_symbols *object)
{
	const struct elf_image *image = object->images[OBJECT_IMAGE];
	int r = symbol_table_new(image, object->images[OBJECT_DEBUG], &object->table);

	if (r < 0)
		return r;
	r = dwarf_index_new(image, debug_image(object), object->images[OBJECT_ALT], &object->dwarf);
	return r == -ENOMEM ? r : 0;
}

static bool is_unchanged(const struct object_symbols *object)
{
	for (size_t i = 0; i < OBJECT_FILES; i++)
		if (object->images[i] && !elf_image_is_unchanged(object->images[i]))
			return false;
	return true;
}

/*
 * All that is ever read of the files is read now. The descriptors are duplicated. 0; -ESTALE: the
 * image is another file by now, or was written to meanwhile; or -ENOMEM.
 */
static int object_symbols_new(const struct object_files *files, struct object_symbols **ret_object)
{
	_cleanup_(object_symbols_free_p) struct object_symbols *object = NULL;
	int r = 0;

	object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < OBJECT_FILES; i++)
		r = open_image(files->fds[i], &files->stamps[i], &object->images[i]);
	if (r == 0 && !object->images[OBJECT_IMAGE])
		r = -ESTALE;
	if (r == 0)
		r = read_index(object);
	if (r == 0 && !is_unchanged(object))
		r = -ESTALE;
	if (r == 0)
		*ret_object = TAKE_PTR(object);
	return r;
}

/* Sections that were read, and what was made of symbols. */
static uint64_t object_symbols_bytes(const struct object_symbols *object)
{
	uint64_t bytes = symbol_table_bytes(object->table);

	if (!object->dwarf)
		return bytes;
	bytes += elf_image_debug_bytes(debug_image(object));
	if (object->images[OBJECT_ALT])
		bytes += elf_image_debug_bytes(object->images[OBJECT_ALT]);
	return bytes;
}

/* NULL stays NULL. */
static int add_string(struct names *names, const char *text, const char **ret_copy)
{
	return text ? names_add(names, text, strlen(text), ret_copy) : 0;
}

static int name_from_dwarf(struct names *names, const struct dwarf_frame *from,
			   struct symbol_frame *frame)
{
	const char *name = from->linkage ? from->linkage : from->name;

	if (!name)
		return 0;
	return names_demangle(names, name, strlen(name), &frame->linkage, &frame->function);
}

struct code_address {
	uint64_t vaddr;	 /* that is looked up */
	uint64_t before; /* 1: a return address is that much further on */
};

/*
 * The physical function goes by its symbol, as without debug information, but for mere labels where
 * DWARF knows a function.
 */
static int name_physical(struct names *names, const struct symbol_table *table,
			 const struct dwarf_frame *from, const struct code_address *at,
			 struct symbol_frame *frame)
{
	const struct table_symbol *symbol = symbol_table_find(table, at->vaddr);
	uint64_t start = 0;
	int r;

	if (symbol && !(symbol->is_label && (from->name || from->linkage))) {
		r = names_demangle(names, symbol->name, symbol->name_len, &frame->linkage,
				   &frame->function);
		if (r == 0)
			r = add_string(names, symbol_table_valgrind_name(table, symbol),
				       &frame->valgrind);
		start = symbol->start;
	} else {
		r = name_from_dwarf(names, from, frame);
		start = from->entry;
	}
	if (frame->function)
		frame->offset = start > 0 ? at->vaddr + at->before - start : 0;
	return r;
}

/* All but the last, which is the physical function. */
static int name_inlined(struct names *names, const struct dwarf_frame *from, size_t n,
			struct symbol_frame *frames)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + 1 < n; i++) {
		frames[i].is_inline = true;
		frames[i].seen = from[n - 1].is_hidden ? SYMBOL_UNSEEN :
				 from[i].is_elsewhere  ? SYMBOL_UNNAMED :
							 SYMBOL_SEEN;
		r = name_from_dwarf(names, &from[i], &frames[i]);
		if (r == 0)
			r = add_string(names, from[i].base, &frames[i].valgrind);
	}
	return r;
}

static int find_frames(struct object_symbols *object, const struct code_address *at,
		       struct names *names, struct symbol_found *found)
{
	struct dwarf_frame from[OBJECT_MAX_FRAMES] = {};
	struct symbol_frame *frames = found->frames;
	uint64_t file_offset = frames[0].offset;
	size_t n = 0;
	int r = 0;

	if (object->dwarf)
		r = dwarf_index_find(object->dwarf, at->vaddr, from, &n);
	n = n ? n : 1;
	memset(frames, 0, n * sizeof(*frames));
	for (size_t i = 0; r == 0 && i < n; i++) {
		frames[i].line = from[i].line;
		r = add_string(names, from[i].file, &frames[i].file);
	}
	if (r == 0)
		r = name_inlined(names, from, n, frames);
	frames[n - 1].offset = file_offset;
	if (r == 0)
		r = name_physical(names, object->table, &from[n - 1], at, &frames[n - 1]);
	found->n_frames = n;
	return r;
}

static int find_callee(struct object_symbols *object, uint64_t return_vaddr, struct names *names,
		       struct symbol_callee *callee)
{
	const char *name = callee_name(object, return_vaddr);

	return name ? names_demangle(names, name, strlen(name), &callee->linkage,
				     &callee->function) :
		      0;
}

int object_symbols_find(struct object_symbols *object, const struct object_place *place,
			struct names *names, struct symbol_found *ret_found)
{
	struct code_address at = { .before = place->is_call && place->file_offset > 0 };
	const struct elf_load *loads;
	size_t n_loads;
	int r;

	ret_found->n_frames = 1;
	ret_found->frames[0] = (struct symbol_frame){ .offset = place->file_offset };
	ret_found->callee = (struct symbol_callee){ 0 };
	loads = elf_image_loads(object->images[OBJECT_IMAGE], &n_loads);
	if (!elf_loads_vaddr(loads, n_loads, place->file_offset - at.before, &at.vaddr))
		return 0;
	r = find_frames(object, &at, names, ret_found);
	if (r == 0 && at.before)
		r = find_callee(object, at.vaddr + 1, names, &ret_found->callee);
	return r;
}

struct stored {
	uint64_t id, bytes;
	struct object_symbols *object;
};

struct object_store {
	VEC(struct stored) list; /* used last at the end */
	struct object_counts counts;
};

int object_store_new(struct object_store **ret_store)
{
	struct object_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	*ret_store = store;
	return 0;
}

void object_store_free(struct object_store *store)
{
	if (!store)
		return;
	vec_foreach(&store->list, stored)
		object_symbols_free(stored->object);
	vec_done(&store->list);
	free(store);
}

/* It is the caller's from now on. */
static struct stored remove_at(struct object_store *store, size_t index)
{
	struct stored stored = store->list.data[index];

	memmove(store->list.data + index, store->list.data + index + 1,
		(store->list.len - index - 1) * sizeof(store->list.data[0]));
	store->list.len--;
	return stored;
}

static void drop_stored(struct object_store *store, size_t index)
{
	struct stored stored = remove_at(store, index);

	store->counts.open_bytes -= stored.bytes;
	object_symbols_free(stored.object);
}

void object_store_forget(struct object_store *store, uint64_t id)
{
	for (size_t i = store->list.len; i-- > 0;)
		if (store->list.data[i].id == id)
			drop_stored(store, i);
	store->counts.open = store->list.len;
}

static bool is_full(const struct object_store *store, const struct object_limits *limits)
{
	return store->list.len > 1 &&
	       (store->list.len > limits->open || store->counts.open_bytes > limits->open_bytes);
}

static int add(struct object_store *store, uint64_t id, const struct object_files *files,
	       struct object_symbols **ret_object)
{
	struct stored stored = { .id = id };
	int r = vec_reserve(&store->list, store->list.len + 1);

	if (r == 0)
		r = object_symbols_new(files, &stored.object);
	if (r < 0)
		return r;
	stored.bytes = object_symbols_bytes(stored.object);
	store->list.data[store->list.len++] = stored;
	store->counts.open_bytes += stored.bytes;
	store->counts.reads++;
	*ret_object = stored.object;
	return 0;
}

int object_store_find(struct object_store *store, uint64_t id, const struct object_files *files,
		      const struct object_limits *limits, struct object_symbols **ret_object)
{
	int r;

	for (size_t i = store->list.len; i-- > 0;) {
		struct stored found;

		if (store->list.data[i].id != id)
			continue;
		found = remove_at(store, i);
		store->list.data[store->list.len++] = found;
		*ret_object = found.object;
		return 0;
	}
	r = add(store, id, files, ret_object);
	while (r == 0 && is_full(store, limits))
		drop_stored(store, 0);
	store->counts.open = store->list.len;
	return r;
}

const struct object_counts *object_store_counts(const struct object_store *store)
{
	return &store->counts;
}
