/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbolizer.h"

#include "base/hashmap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "symbol/debug_search.h"
#include "symbol/dwarf_index.h"
#include "symbol/elf_image.h"
#include "symbol/kallsyms.h"
#include "symbol/names.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct symbol_object {
	char *path;
	uint64_t dev, ino; /* of a text: its length and hash */
	char build_id[2 * ELF_IMAGE_MAX_BUILD_ID + 1];
	bool is_open; /* part of the key, so that a file that could not be opened may be later */
	struct elf_image *image, *debug, *alt; /* each may be NULL */
	struct kallsyms *kallsyms;	       /* NULL unless it is the kernel */
	struct symbol_table *table;	       /* NULL until the first address */
	struct dwarf_index *dwarf;
	bool is_indexed;
	bool was_fetched; /* or no server has it */
	uint64_t open_bytes;
};

/*
 * A process of a desktop has some hundred objects. Debug information of one can be larger than all
 * that may be held, and is then held alone.
 */
#define MAX_OPEN 64
#define MAX_OPEN_BYTES (256ULL << 20)

struct symbolizer {
	struct hashmap *objects;
	struct symbol_cache *cache;
	struct debuginfod *debuginfod;	  /* NULL: nothing is fetched */
	VEC(struct symbol_object *) open; /* whose files were read, used last at the end */
	struct symbolizer_limits limits;  /* of what is open */
	struct symbolizer_counts counts;
};

static uint64_t hash_object(const void *item)
{
	const struct symbol_object *object = item;

	return hash_bytes(object->path, strlen(object->path),
			  hash_u64(object->dev ^ hash_u64(object->ino)));
}

static bool equal_objects(const void *a, const void *b)
{
	const struct symbol_object *x = a, *y = b;

	return x->dev == y->dev && x->ino == y->ino && x->is_open == y->is_open &&
	       !x->kallsyms == !y->kallsyms && strcmp(x->build_id, y->build_id) == 0 &&
	       strcmp(x->path, y->path) == 0;
}

static void object_free(struct symbol_object *object)
{
	if (!object)
		return;
	symbol_table_free(object->table);
	dwarf_index_free(object->dwarf);
	kallsyms_free(object->kallsyms);
	elf_image_free(object->alt);
	elf_image_free(object->debug);
	elf_image_free(object->image);
	free(object->path);
	free(object);
}
DEFINE_CLEANUP(struct symbol_object, object_free)

static void free_object_item(void *item)
{
	object_free(item);
}

static const struct hashmap_ops object_ops = { hash_object, equal_objects, free_object_item };

int symbolizer_new(struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_free_p) struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	int r;

	if (!symbolizer)
		return -ENOMEM;
	r = hashmap_new(&object_ops, &symbolizer->objects);
	if (r == 0)
		r = symbol_cache_new(&symbolizer->cache);
	if (r < 0)
		return r;
	symbolizer->limits = (struct symbolizer_limits){ MAX_OPEN, MAX_OPEN_BYTES };
	*ret_symbolizer = TAKE_PTR(symbolizer);
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	symbol_cache_free(symbolizer->cache);
	hashmap_free(symbolizer->objects);
	vec_done(&symbolizer->open);
	free(symbolizer);
}

/* The object there already, or this one, which then belongs to the symbolizer. */
static int find_or_insert(struct symbolizer *symbolizer, struct symbol_object **object,
			  struct symbol_object **ret_object)
{
	struct symbol_object *found = hashmap_find(symbolizer->objects, *object);
	int r;

	if (!found) {
		r = hashmap_insert(symbolizer->objects, *object);
		if (r < 0)
			return r;
		found = TAKE_PTR(*object);
	}
	*ret_object = found;
	return 0;
}

static void set_build_id(struct symbol_object *object)
{
	const uint8_t *bytes;
	size_t n = elf_image_build_id(object->image, &bytes), i;

	for (i = 0; i < n; i++)
		sprintf(object->build_id + 2 * i, "%02x", bytes[i]);
}

static void shut_images(struct symbol_object *object)
{
	elf_image_shut(object->image);
	elf_image_shut(object->debug);
	elf_image_shut(object->alt);
}

int symbolizer_object(struct symbolizer *symbolizer, const char *path, uint64_t dev, uint64_t ino,
		      int fd, const char *root, struct symbol_object **ret_object)
{
	_cleanup_(object_free_p) struct symbol_object *object = calloc(1, sizeof(*object));
	int r;

	if (!object)
		return -ENOMEM;
	object->dev = dev;
	object->ino = ino;
	object->path = strdup(path);
	if (!object->path)
		return -ENOMEM;
	/* What is no ELF file is an object of which nothing is known. */
	if (fd >= 0 && elf_image_open(fd, &object->image) == -ENOMEM)
		return -ENOMEM;
	if (object->image) {
		object->is_open = true;
		set_build_id(object);
	}
	if (object->image && !hashmap_find(symbolizer->objects, object)) {
		r = debug_search(object->image, path, root, &object->debug, &object->alt);
		if (r < 0)
			return r;
		shut_images(object);
	}
	return find_or_insert(symbolizer, &object, ret_object);
}

static int text_object_new(const char *path, const char *text, size_t len,
			   struct symbol_object **ret_object)
{
	_cleanup_(object_free_p) struct symbol_object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->dev = len;
	object->ino = hash_bytes(text, len, 0);
	object->path = strdup(path);
	if (!object->path)
		return -ENOMEM;
	*ret_object = TAKE_PTR(object);
	return 0;
}

int symbolizer_kallsyms(struct symbolizer *symbolizer, const char *path, const char *text,
			size_t len, struct symbol_object **ret_object)
{
	_cleanup_(object_free_p) struct symbol_object *object = NULL;
	int r = text_object_new(path, text, len, &object);

	if (r == 0)
		r = kallsyms_new(text, len, &object->kallsyms);
	return r < 0 ? r : find_or_insert(symbolizer, &object, ret_object);
}

static void forget_index(struct symbol_object *object)
{
	symbol_table_free(object->table);
	dwarf_index_free(object->dwarf);
	object->table = NULL;
	object->dwarf = NULL;
	object->is_indexed = false;
	object->open_bytes = 0;
}

static bool same_build_id(const struct elf_image *a, const struct elf_image *b)
{
	const uint8_t *id_a, *id_b;
	size_t len_a = elf_image_build_id(a, &id_a), len_b = elf_image_build_id(b, &id_b);

	return len_a > 0 && len_a == len_b && memcmp(id_a, id_b, len_a) == 0;
}

/*
 * A file that was written to is another's by its build ID, even where size and time are as before;
 * without one, only size and time can tell. Opened anew, or none.
 */
static int open_again(struct elf_image **image)
{
	_cleanup_(elf_image_free_p) struct elf_image *now = NULL;
	bool by_times;
	const uint8_t *id;
	int r;

	if (!*image || elf_image_fd(*image) < 0)
		return 0;
	by_times = elf_image_build_id(*image, &id) == 0 && elf_image_is_unchanged(*image);
	if (by_times && !elf_image_is_shut(*image))
		return 0;
	r = elf_image_open(elf_image_fd(*image), &now);
	if (r == -ENOMEM)
		return r;
	if (now && !by_times && !same_build_id(now, *image)) {
		elf_image_free(now);
		now = NULL;
	}
	elf_image_free(*image);
	*image = TAKE_PTR(now);
	return 0;
}

/* Files are read here, long after they were opened. */
static int open_all_again(struct symbol_object *object)
{
	int r = open_again(&object->image);

	if (r == 0)
		r = open_again(&object->debug);
	return r < 0 ? r : open_again(&object->alt);
}

static bool is_unchanged(const struct symbol_object *object)
{
	return (!object->image || elf_image_is_unchanged(object->image)) &&
	       (!object->debug || elf_image_is_unchanged(object->debug)) &&
	       (!object->alt || elf_image_is_unchanged(object->alt));
}

static int read_index(struct symbol_object *object)
{
	int r;

	if (!object->image)
		return 0;
	if (!object->table) {
		r = symbol_table_new(object->image, object->debug, &object->table);
		if (r < 0)
			return r;
	}
	r = dwarf_index_new(object->image, object->debug ? object->debug : object->image,
			    object->alt, &object->dwarf);
	return r == -ENOMEM ? r : 0;
}

static uint64_t count_bytes(const struct symbol_object *object)
{
	uint64_t bytes = object->table ? symbol_table_bytes(object->table) : 0;

	if (!object->dwarf)
		return bytes;
	bytes += elf_image_debug_bytes(object->debug ? object->debug : object->image);
	return bytes + (object->alt ? elf_image_debug_bytes(object->alt) : 0);
}

/* What was read for the object is freed; its files stay at hand. */
static void shut_object(struct symbolizer *symbolizer, size_t index)
{
	struct symbol_object *object = symbolizer->open.data[index];

	memmove(symbolizer->open.data + index, symbolizer->open.data + index + 1,
		(symbolizer->open.len - index - 1) * sizeof(symbolizer->open.data[0]));
	symbolizer->open.len--;
	symbolizer->counts.open_bytes -= object->open_bytes;
	forget_index(object);
	shut_images(object);
}

static void set_used(struct symbolizer *symbolizer, struct symbol_object *object)
{
	size_t last = symbolizer->open.len - 1, i = last;

	while (i > 0 && symbolizer->open.data[i] != object)
		i--;
	memmove(symbolizer->open.data + i, symbolizer->open.data + i + 1,
		(last - i) * sizeof(symbolizer->open.data[0]));
	symbolizer->open.data[last] = object;
}

static int add_open(struct symbolizer *symbolizer, struct symbol_object *object)
{
	int r = vec_push(&symbolizer->open, object);

	if (r < 0) {
		forget_index(object);
		return r;
	}
	object->is_indexed = true;
	object->open_bytes = count_bytes(object);
	symbolizer->counts.open_bytes += object->open_bytes;
	symbolizer->counts.reads++;
	while (symbolizer->open.len > 1 &&
	       (symbolizer->open.len > symbolizer->limits.open ||
		symbolizer->counts.open_bytes > symbolizer->limits.open_bytes))
		shut_object(symbolizer, 0);
	return 0;
}

static int fetch(struct symbolizer *symbolizer, struct symbol_object *object)
{
	if (!symbolizer->debuginfod || !object->image || object->was_fetched)
		return 0;
	object->was_fetched = true;
	return debug_fetch(object->image, symbolizer->debuginfod, &object->debug, &object->alt);
}

/* All that is ever read of the files is read now; a file that is written to meanwhile is none. */
static int index_object(struct symbolizer *symbolizer, struct symbol_object *object)
{
	int r;

	if (!object->image)
		return 0;
	if (object->is_indexed) {
		set_used(symbolizer, object);
		return 0;
	}
	r = open_all_again(object);
	if (r == 0)
		r = fetch(symbolizer, object);
	if (r == 0)
		r = read_index(object);
	if (r < 0)
		return r;
	if (object->image && is_unchanged(object))
		return add_open(symbolizer, object);
	forget_index(object);
	elf_image_free(object->image);
	object->image = NULL;
	shut_images(object);
	return 0;
}

static int place_add(struct symbolizer *symbolizer, const struct place_key *key,
		     const struct symbol_frame *frames, size_t n_frames,
		     const struct symbol **ret_symbol)
{
	const struct symbol symbol = { n_frames, frames };

	return symbol_cache_add(symbolizer->cache, key, &symbol, ret_symbol);
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

/*
 * The physical function goes by its symbol, as without debug information, but for mere labels where
 * DWARF knows a function.
 */
static int name_physical(struct names *names, const struct table_symbol *symbol,
			 const struct dwarf_frame *from, uint64_t vaddr, struct symbol_frame *frame)
{
	uint64_t start = 0;
	int r;

	if (symbol && !(symbol->is_label && from->name)) {
		r = names_demangle(names, symbol->name, symbol->name_len, &frame->linkage,
				   &frame->function);
		start = symbol->start;
	} else {
		r = name_from_dwarf(names, from, frame);
		start = from->entry;
	}
	if (frame->function)
		frame->offset = start > 0 ? vaddr - start : 0;
	return r;
}

static int resolve_elf(struct symbolizer *symbolizer, struct symbol_object *object,
		       const struct place_key *key, const struct symbol **ret_symbol)
{
	struct symbol_frame frames[DWARF_INDEX_MAX_FRAMES] = { { .offset = key->file_offset } };
	struct dwarf_frame from[DWARF_INDEX_MAX_FRAMES] = {};
	uint64_t before = key->kind == PLACE_BEFORE && key->file_offset > 0 ? 1 : 0;
	struct names *names = symbol_cache_names(symbolizer->cache);
	const struct table_symbol *symbol;
	uint64_t vaddr;
	size_t n = 0, i;
	int r;

	r = index_object(symbolizer, object);
	if (r < 0)
		return r;
	if (!object->image || !elf_image_vaddr(object->image, key->file_offset - before, &vaddr))
		return place_add(symbolizer, key, frames, 1, ret_symbol);
	if (object->dwarf) {
		r = dwarf_index_find(object->dwarf, vaddr, from, &n);
		if (r < 0)
			return r;
	}
	n = n ? n : 1;
	for (i = 0; i < n; i++) {
		r = add_string(names, from[i].file, &frames[i].file);
		if (r < 0)
			return r;
		frames[i].line = from[i].line;
		frames[i].is_inline = i + 1 < n;
		if (!frames[i].is_inline)
			break;
		frames[i].offset = 0;
		r = name_from_dwarf(names, &from[i], &frames[i]);
		if (r < 0)
			return r;
	}
	frames[n - 1].offset = key->file_offset;
	symbol = symbol_table_find(object->table, vaddr);
	r = name_physical(names, symbol, &from[n - 1], vaddr + before, &frames[n - 1]);
	return r < 0 ? r : place_add(symbolizer, key, frames, n, ret_symbol);
}

static int resolve_kernel(struct symbolizer *symbolizer, const struct symbol_object *object,
			  uint64_t addr, struct symbol_frame *frame)
{
	struct names *names = symbol_cache_names(symbolizer->cache);
	_cleanup_strbuf_ struct strbuf text = {};
	struct kallsyms_symbol symbol;
	int r;

	if (!kallsyms_find(object->kallsyms, addr, &symbol))
		return 0;
	frame->offset -= symbol.start;
	r = names_demangle(names, symbol.name, strlen(symbol.name), &frame->linkage,
			   &frame->function);
	if (r < 0 || !symbol.module)
		return r;
	strbuf_addf(&text, "%s [%s]", frame->function, symbol.module);
	if (strbuf_error(&text) < 0)
		return -ENOMEM;
	return names_add(names, strbuf_str(&text), text.len, &frame->function);
}

/* Of an object that is a text: its file offsets are addresses. */
static int resolve_text(struct symbolizer *symbolizer, const struct symbol_object *object,
			const struct place_key *key, const struct symbol **ret_symbol)
{
	uint64_t before = key->kind == PLACE_BEFORE && key->file_offset > 0 ? 1 : 0;
	struct symbol_frame frame = { .offset = key->file_offset };
	int r;

	r = resolve_kernel(symbolizer, object, key->file_offset - before, &frame);
	return r < 0 ? r : place_add(symbolizer, key, &frame, 1, ret_symbol);
}

int symbolizer_resolve(struct symbolizer *symbolizer, struct symbol_object *object,
		       uint64_t file_offset, bool is_call, const struct symbol **ret_symbol)
{
	struct place_key key = { .object = object, .file_offset = file_offset };
	int r;

	key.kind = PLACE_KNOWN;
	r = symbol_cache_find(symbolizer->cache, &key, ret_symbol);
	if (r != -ENOENT)
		return r;
	key.kind = is_call ? PLACE_BEFORE : PLACE_AT;
	r = symbol_cache_find(symbolizer->cache, &key, ret_symbol);
	if (r != -ENOENT)
		return r;
	return object->kallsyms ? resolve_text(symbolizer, object, &key, ret_symbol) :
				  resolve_elf(symbolizer, object, &key, ret_symbol);
}

int symbolizer_fetch_from(struct symbolizer *symbolizer, struct debuginfod *debuginfod)
{
	struct symbol_cache *cache;
	int r = symbol_cache_new(&cache);

	if (r < 0)
		return r;
	symbol_cache_free(symbolizer->cache);
	symbolizer->cache = cache;
	while (symbolizer->open.len > 0)
		shut_object(symbolizer, symbolizer->open.len - 1);
	symbolizer->debuginfod = debuginfod;
	return 0;
}

int symbolizer_know(struct symbolizer *symbolizer, struct symbol_object *object,
		    uint64_t file_offset, const struct symbol *symbol)
{
	struct place_key key = { .object = object, .file_offset = file_offset };
	/* A symbol has a frame even where nothing is known. */
	const struct symbol_frame unknown = { .offset = file_offset };
	const struct symbol nothing = { 1, &unknown };
	const struct symbol *copy;
	int r;

	key.kind = PLACE_KNOWN;
	r = symbol_cache_copy(symbolizer->cache, &key, symbol->n_frames ? symbol : &nothing, &copy);
	return r == -EEXIST ? 0 : r;
}

int symbolizer_age(struct symbolizer *symbolizer, uint64_t max_bytes)
{
	return symbol_cache_age(symbolizer->cache, max_bytes);
}

void symbolizer_limit(struct symbolizer *symbolizer, const struct symbolizer_limits *limits)
{
	symbolizer->limits = *limits;
}

struct symbolizer_counts symbolizer_count(const struct symbolizer *symbolizer)
{
	struct symbolizer_counts counts = symbolizer->counts;

	counts.open = symbolizer->open.len;
	counts.cached_bytes = symbol_cache_bytes(symbolizer->cache);
	return counts;
}

uint64_t symbol_object_vaddr(const struct symbol_object *object, uint64_t file_offset)
{
	uint64_t vaddr;

	if (object->image && elf_image_vaddr(object->image, file_offset, &vaddr))
		return vaddr;
	return file_offset;
}

const char *symbol_object_path(const struct symbol_object *object)
{
	return object->path;
}

const char *symbol_object_build_id(const struct symbol_object *object)
{
	return object->build_id;
}

uint64_t symbol_object_malformed(const struct symbol_object *object)
{
	return object->kallsyms ? kallsyms_malformed(object->kallsyms) : 0;
}
