/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbolizer.h"

#include "base/hashmap.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "sandbox/worker.h"
#include "symbol/debug_search.h"
#include "symbol/kallsyms.h"
#include "symbol/names.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_server.h"
#include "symbol/symbol_wire.h"

#include <errno.h>
#include <string.h>

struct symbol_object {
	char *path;
	uint64_t dev, ino; /* of a text: its length and hash */
	char build_id[2 * ELF_MAX_BUILD_ID + 1];
	bool is_open;	 /* part of the key, so that a file that could not be opened may be later */
	bool is_closed;	 /* symbolizer_close */
	bool is_unread;	 /* no worker could say what it is */
	uint64_t number; /* by which a worker knows it, with the files it has now */
	struct symbol_file image;  /* none, too, when it is another file by now */
	struct debug_files others; /* where it keeps its debug information */
	struct kallsyms *kallsyms; /* NULL unless it is the kernel */
	bool was_fetched;	   /* or no server has it */
};

/*
 * A process of a desktop has some hundred objects. Debug information of one can be larger than all
 * that may be held, and is then held alone.
 */
#define MAX_OPEN 64
#define MAX_OPEN_BYTES (256ULL << 20)

struct symbolizer {
	struct hashmap objects;
	struct symbol_cache *cache;
	struct file_reader reader;
	struct debuginfod *debuginfod;	/* NULL: nothing is fetched */
	struct worker *worker, *inside; /* inside: our own, where none was given; else NULL */
	struct symbol_look_up look_up;	/* of what is asked for at the moment */
	struct object_counts counts;	/* as of the last answer */
	uint64_t unread;
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

static void close_files(struct symbol_object *object)
{
	symbol_file_done(&object->others.alt);
	symbol_file_done(&object->others.debug);
	symbol_file_done(&object->image);
}

static void object_free(struct symbol_object *object)
{
	if (!object)
		return;
	kallsyms_free(object->kallsyms);
	close_files(object);
	free(object->path);
	free(object);
}
DEFINE_CLEANUP(struct symbol_object, object_free)

static void free_object_item(void *item)
{
	object_free(item);
}

static const struct hashmap_ops object_ops = { hash_object, equal_objects, free_object_item };

int symbolizer_new(struct worker *worker, struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_free_p) struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	int r;

	if (!symbolizer)
		return -ENOMEM;
	r = worker ? 0 : worker_new_inside(&symbol_server, &symbolizer->inside);
	symbolizer->objects.ops = &object_ops;
	if (r == 0)
		r = symbol_cache_new(&symbolizer->cache);
	if (r < 0)
		return r;
	symbolizer->worker = worker ? worker : symbolizer->inside;
	symbolizer->look_up.limits = (struct object_limits){ MAX_OPEN, MAX_OPEN_BYTES };
	*ret_symbolizer = TAKE_PTR(symbolizer);
	return 0;
}

void symbolizer_show_to(struct symbolizer *symbolizer, uid_t uid, gid_t gid)
{
	symbolizer->reader = (struct file_reader){ true, uid, gid };
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	symbol_cache_free(symbolizer->cache);
	hashmap_done(&symbolizer->objects);
	worker_free(symbolizer->inside);
	free(symbolizer);
}

/* The object there already, or this one, which then belongs to the symbolizer. */
static int find_or_insert(struct symbolizer *symbolizer, struct symbol_object **object,
			  struct symbol_object **ret_object)
{
	struct symbol_object *found = hashmap_find(&symbolizer->objects, *object);
	int r;

	if (!found) {
		r = hashmap_insert(&symbolizer->objects, *object);
		if (r < 0)
			return r;
		found = TAKE_PTR(*object);
	}
	*ret_object = found;
	return 0;
}

static int object_new(const char *path, uint64_t dev, uint64_t ino,
		      struct symbol_object **ret_object)
{
	_cleanup_(object_free_p) struct symbol_object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->image.fd = object->others.debug.fd = object->others.alt.fd = -1;
	object->dev = dev;
	object->ino = ino;
	object->path = strdup(path);
	if (!object->path)
		return -ENOMEM;
	*ret_object = TAKE_PTR(object);
	return 0;
}

/* What is no ELF file is an object of which nothing is known. */
static int open_image(struct symbolizer *symbolizer, struct symbol_object *object, int fd)
{
	const struct elf_build_id *id = &object->image.facts.stamp.build_id;
	int r = fd < 0 ? -ENOEXEC : symbol_file_open(symbolizer->worker, fd, &object->image);

	if (r == 0) {
		object->is_open = true;
		hex_text(object->build_id, id->bytes, id->len);
	}
	object->is_unread = r == -EPIPE || r == -EAGAIN;
	return r == -ENOMEM ? r : 0;
}

static void set_number(struct symbolizer *symbolizer, struct symbol_object *object)
{
	object->number = worker_next_number(symbolizer->worker);
	symbolizer->unread += object->others.unread;
	object->others.unread = 0;
}

/* A worker holds the files of what it was last asked about. */
static void forget_number(struct symbolizer *symbolizer, uint64_t number)
{
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};

	if (!symbolizer->inside && worker_pid(symbolizer->worker) == 0)
		return;
	strbuf_addch(&request, SYMBOL_FORGET);
	codec_write(&request, &codec_u64, &number, NULL);
	/* Without an answer there is no worker any more, which held them. */
	(void)worker_call(symbolizer->worker, &request, NULL, 0, &answer);
}

void symbolizer_close(struct symbolizer *symbolizer, struct symbol_object *object)
{
	if (object->image.fd < 0)
		return;
	close_files(object);
	object->is_closed = true;
	forget_number(symbolizer, object->number);
}

bool symbol_object_is_closed(const struct symbol_object *object)
{
	return object->is_closed;
}

/* It has the files of the other one, which is the same. */
static void open_again(struct symbol_object *object, struct symbol_object *other)
{
	object->image = other->image;
	object->others = other->others;
	object->number = other->number;
	object->is_closed = object->was_fetched = false;
	other->image.fd = other->others.debug.fd = other->others.alt.fd = -1;
}

int symbolizer_object(struct symbolizer *symbolizer, const char *path, uint64_t dev, uint64_t ino,
		      int fd, const char *root, struct symbol_object **ret_object)
{
	_cleanup_(object_free_p) struct symbol_object *object = NULL;
	struct symbol_object *known = NULL;
	bool is_unread;
	int r = object_new(path, dev, ino, &object);

	if (r == 0)
		r = open_image(symbolizer, object, fd);
	if (r == 0)
		known = hashmap_find(&symbolizer->objects, object);
	if (r == 0 && object->is_open && (!known || known->is_closed)) {
		r = debug_search(symbolizer->worker, &object->image, path, root,
				 &symbolizer->reader, &object->others);
		set_number(symbolizer, object);
	}
	if (r < 0)
		return r;
	if (known && known->is_closed)
		open_again(known, object);
	is_unread = object->is_unread;
	r = find_or_insert(symbolizer, &object, ret_object);
	if (r == 0 && is_unread)
		(*ret_object)->is_unread = true;
	return r;
}

int symbolizer_kallsyms(struct symbolizer *symbolizer, const char *path, const char *text,
			size_t len, struct symbol_object **ret_object)
{
	_cleanup_(object_free_p) struct symbol_object *object = NULL;
	int r = object_new(path, len, hash_bytes(text, len, 0), &object);

	if (r == 0)
		r = kallsyms_new(text, len, &object->kallsyms);
	return r < 0 ? r : find_or_insert(symbolizer, &object, ret_object);
}

/* --- ELF files ------------------------------------------------------------------------------- */

static struct place_key place_key(const struct symbol_object *object,
				  const struct object_place *place)
{
	return (struct place_key){ .object = object,
				   .file_offset = place->file_offset,
				   .kind = place->is_call ? PLACE_BEFORE : PLACE_AT };
}

int symbolizer_find(struct symbolizer *symbolizer, const struct symbol_object *object,
		    const struct object_place *place, const struct symbol **ret_symbol)
{
	struct place_key key = place_key(object, place);
	enum place_kind kind = key.kind;
	int r;

	key.kind = PLACE_KNOWN;
	r = symbol_cache_find(symbolizer->cache, &key, ret_symbol);
	if (r != -ENOENT)
		return r;
	key.kind = kind;
	return symbol_cache_find(symbolizer->cache, &key, ret_symbol);
}

/* The first so many places of the look-up have their answers. */
static void drop_places(struct symbol_look_up *look_up, size_t n)
{
	look_up->n_places -= n;
	memmove(look_up->places, look_up->places + n,
		look_up->n_places * sizeof(look_up->places[0]));
}

/* What was kept first stays. */
static int cache_place(struct symbolizer *symbolizer, const struct symbol_object *object,
		       const struct object_place *place, const struct symbol *found)
{
	struct place_key key = place_key(object, place);
	const struct symbol *symbol;
	int r = symbol_cache_add(symbolizer->cache, &key, found, &symbol);

	return r == -EEXIST ? 0 : r;
}

static int cache_unknown(struct symbolizer *symbolizer, const struct symbol_object *object)
{
	struct symbol_look_up *look_up = &symbolizer->look_up;
	int r = 0;

	for (size_t i = 0; r == 0 && i < look_up->n_places; i++) {
		const struct symbol_frame frame = { .offset = look_up->places[i].file_offset };
		const struct symbol unknown = { .n_frames = 1, .frames = &frame };

		r = cache_place(symbolizer, object, &look_up->places[i], &unknown);
	}
	drop_places(look_up, look_up->n_places);
	return r;
}

/* They are the message's. */
static int copy_strings(struct names *names, const char **const *strings, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (*strings[i])
			r = names_add(names, *strings[i], strlen(*strings[i]), strings[i]);
	return r;
}

static int copy_found(struct names *names, struct symbol_found *found)
{
	const char **const callee[] = { &found->callee.function, &found->callee.linkage };
	int r = copy_strings(names, callee, sizeof(callee) / sizeof(callee[0]));

	for (size_t i = 0; r == 0 && i < found->n_frames; i++) {
		struct symbol_frame *frame = &found->frames[i];
		const char **const strings[] = { &frame->file, &frame->function, &frame->linkage,
						 &frame->valgrind };

		r = copy_strings(names, strings, sizeof(strings) / sizeof(strings[0]));
	}
	return r;
}

/* 0, -ESTALE, -EBADMSG or -ENOMEM. Each place is sound by itself, whatever comes behind. */
static int read_answer(struct symbolizer *symbolizer, const struct symbol_object *object,
		       const struct strbuf *answer)
{
	struct names *names = symbol_cache_names(symbolizer->cache);
	struct symbol_look_up *look_up = &symbolizer->look_up;
	struct decoder decoder = decoder_of(answer);
	struct symbol_head head = symbol_get_head(&decoder, look_up->n_places);
	int r = 0;

	for (size_t i = 0; decoder.error == 0 && r == 0 && i < head.n_places; i++) {
		struct symbol_found found;

		codec_read(&decoder, &symbol_found_layout, &found);
		r = copy_found(names, &found);
		if (r == 0 && found.n_frames > 0) {
			const struct symbol symbol = { found.n_frames, found.frames, found.callee };

			r = cache_place(symbolizer, object, &look_up->places[i], &symbol);
		}
	}
	if (r == 0)
		r = decoder_end(&decoder);
	if (r < 0)
		return r;
	symbolizer->counts = head.counts;
	drop_places(look_up, head.n_places);
	return head.is_stale ? -ESTALE : 0;
}

static int request_symbols(struct symbolizer *symbolizer, struct symbol_object *object)
{
	const struct symbol_file *files[OBJECT_FILES] = { &object->image, &object->others.debug,
							  &object->others.alt };
	struct symbol_look_up *look_up = &symbolizer->look_up;
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	int fds[OBJECT_FILES], r;
	size_t n_fds = 0;

	look_up->object = object->number;
	for (size_t i = 0; i < OBJECT_FILES; i++) {
		look_up->files.fds[i] = files[i]->fd;
		look_up->files.stamps[i] = files[i]->facts.stamp;
		if (files[i]->fd >= 0)
			fds[n_fds++] = files[i]->fd;
	}
	strbuf_addch(&request, SYMBOL_LOOK_UP);
	codec_write(&request, &symbol_look_up_layout, look_up, NULL);
	r = worker_call(symbolizer->worker, &request, fds, n_fds, &answer);
	if (r == 0)
		r = read_answer(symbolizer, object, &answer);
	return r == -EBADMSG ? worker_distrust(symbolizer->worker) : r;
}

static int fetch(struct symbolizer *symbolizer, struct symbol_object *object)
{
	struct debug_files *others = &object->others;
	int debug = others->debug.fd, alt = others->alt.fd, r;

	if (!symbolizer->debuginfod || object->image.fd < 0 || object->was_fetched)
		return 0;
	object->was_fetched = true;
	r = debug_fetch(symbolizer->worker, &object->image, symbolizer->debuginfod, others);
	if (others->debug.fd != debug || others->alt.fd != alt || others->unread > 0)
		set_number(symbolizer, object);
	return r;
}

/* Answers all places of the look-up: what cannot be read is unknown. */
static int look_up_all(struct symbolizer *symbolizer, struct symbol_object *object)
{
	struct symbol_look_up *look_up = &symbolizer->look_up;
	int r = fetch(symbolizer, object);

	while (r == 0 && look_up->n_places > 0 && object->image.fd >= 0)
		r = request_symbols(symbolizer, object);
	if (r == -ESTALE)
		symbol_file_done(&object->image);
	if (r == -EPIPE || r == -EAGAIN || object->is_unread)
		symbolizer->unread += look_up->n_places;
	if (r == -ENOMEM) {
		look_up->n_places = 0;
		return r;
	}
	return cache_unknown(symbolizer, object);
}

int symbolizer_look_up(struct symbolizer *symbolizer, struct symbol_object *object,
		       const struct object_place *places, size_t n)
{
	struct symbol_look_up *look_up = &symbolizer->look_up;
	const struct symbol *symbol;
	int r = 0;

	if (object->kallsyms)
		return 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = symbolizer_find(symbolizer, object, &places[i], &symbol);
		if (r == -ENOENT) {
			look_up->places[look_up->n_places++] = places[i];
			r = look_up->n_places == SYMBOL_MAX_PLACES ?
				    look_up_all(symbolizer, object) :
				    0;
		}
	}
	return r == 0 && look_up->n_places > 0 ? look_up_all(symbolizer, object) : r;
}

/* --- the kernel ------------------------------------------------------------------------------ */

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
			const struct object_place *place, const struct symbol **ret_symbol)
{
	uint64_t before = place->is_call && place->file_offset > 0 ? 1 : 0;
	struct symbol_frame frame = { .offset = place->file_offset };
	const struct symbol symbol = { .n_frames = 1, .frames = &frame };
	struct place_key key = place_key(object, place);
	int r;

	r = resolve_kernel(symbolizer, object, place->file_offset - before, &frame);
	return r < 0 ? r : symbol_cache_add(symbolizer->cache, &key, &symbol, ret_symbol);
}

int symbolizer_resolve(struct symbolizer *symbolizer, struct symbol_object *object,
		       uint64_t file_offset, bool is_call, const struct symbol **ret_symbol)
{
	const struct object_place place = { file_offset, is_call };
	int r = symbolizer_find(symbolizer, object, &place, ret_symbol);

	if (r != -ENOENT)
		return r;
	if (object->kallsyms)
		return resolve_text(symbolizer, object, &place, ret_symbol);
	r = symbolizer_look_up(symbolizer, object, &place, 1);
	return r < 0 ? r : symbolizer_find(symbolizer, object, &place, ret_symbol);
}

/* --- what is kept ---------------------------------------------------------------------------- */

int symbolizer_fetch_from(struct symbolizer *symbolizer, struct debuginfod *debuginfod)
{
	struct symbol_cache *cache;
	int r = symbol_cache_new(&cache);

	if (r < 0)
		return r;
	symbol_cache_free(symbolizer->cache);
	symbolizer->cache = cache;
	symbolizer->debuginfod = debuginfod;
	return 0;
}

int symbolizer_add(struct symbolizer *symbolizer, struct symbol_object *object,
		   uint64_t file_offset, const struct symbol *symbol)
{
	struct place_key key = { .object = object, .file_offset = file_offset };
	/* A symbol has a frame even where nothing is known. */
	const struct symbol_frame unknown = { .offset = file_offset };
	const struct symbol nothing = { .n_frames = 1, .frames = &unknown };
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
	symbolizer->look_up.limits = (struct object_limits){ limits->open, limits->open_bytes };
}

struct symbolizer_counts symbolizer_count(const struct symbolizer *symbolizer)
{
	return (struct symbolizer_counts){
		.open = symbolizer->counts.open,
		.open_bytes = symbolizer->counts.open_bytes,
		.cached_bytes = symbol_cache_bytes(symbolizer->cache),
		.reads = symbolizer->counts.reads,
		.unread = symbolizer->unread,
	};
}

uint64_t symbol_object_vaddr(const struct symbol_object *object, uint64_t file_offset)
{
	const struct elf_facts *facts = &object->image.facts;
	uint64_t vaddr;

	if (object->image.fd >= 0 &&
	    elf_loads_vaddr(facts->loads.data, facts->loads.len, file_offset, &vaddr))
		return vaddr;
	return file_offset;
}

const char *symbol_object_build_id(const struct symbol_object *object)
{
	return object->build_id;
}
