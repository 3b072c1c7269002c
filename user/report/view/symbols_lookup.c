/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places are looked up, object by object, and remembered as long as there is room. */
#include "base/cleanup.h"
#include "base/file_system.h"
#include "base/hex.h"
#include "report/view/symbols_state.h"
#include "symbol/jit/jit_codes.h"
#include "symbol/object_symbols.h"
#include "target/file_helper.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A place takes some 400 bytes, with its names, here and in the symbolizer: 100,000 places, and
 * what the last report needed if that is more.
 */
#define MAX_CACHED_BYTES (32ULL << 20)
#define DEFAULT_MAX_BYTES (512ULL << 20)
/* What malloc and a table's slot add to an item. */
#define ITEM_BYTES 32
/* Of a function that has no others inlined, with its names, in the symbolizer. */
#define SYMBOL_BYTES 200
/* As of all room (bpf/room.bpf.h): one process may take three times what it leaves. */
#define ROOM_TIMES 3
/* So many places of an object are looked up at a time. */
#define MOST_AT_ONCE 4096
/* The kernel's has 15 MB at most so far. */
#define KALLSYMS_MAX (256u << 20)

static const struct symbol_frame nothing_frame = { 0 };
static const struct symbol nothing = { .n_frames = 1, .frames = &nothing_frame };

static const struct symbol_frame other_frame = { .function = SYMBOLS_OTHER_NAME };
static const struct symbol other_symbol = { .n_frames = 1, .frames = &other_frame };

static uint64_t entry_hash(const void *item)
{
	const struct entry *e = item;
	uint64_t where = e->object ? e->object->index : (uint64_t)e->image.n << 32 | e->code;

	return hash_u64(e->offset ^ hash_u64(where * 2 + e->is_call));
}

static bool entry_equal(const void *item_a, const void *item_b)
{
	const struct entry *a = item_a, *b = item_b;

	return a->object == b->object && image_is(a->image, b->image) && a->code == b->code &&
	       a->offset == b->offset && a->is_call == b->is_call &&
	       a->is_unmapped == b->is_unmapped;
}

static const struct hashmap_ops entry_ops = {
	.hash = entry_hash,
	.equal = entry_equal,
	.free_item = free,
};

DEFINE_HASHMAP_OPS(share_ops, struct place_share, free, process);

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
	symbols->entries.ops = &entry_ops;
	symbols->shares.ops = &share_ops;
	symbols->max_bytes = DEFAULT_MAX_BYTES;
	symbols->image = RECORD_NO_IMAGE;
	r = jit_codes_new(&symbols->jit);
	if (r < 0)
		return r;
	*ret_symbols = TAKE_PTR(symbols);
	return 0;
}

void symbols_limit(struct symbols *symbols, uint64_t max_bytes)
{
	symbols->max_bytes = max_bytes;
}

static uint64_t own_bytes(const struct symbols *symbols)
{
	return symbols->entries.len * (sizeof(struct entry) + ITEM_BYTES) +
	       symbols->shares.len * (sizeof(struct place_share) + ITEM_BYTES) +
	       symbols->kept_bytes;
}

static uint64_t used_bytes(const struct symbols *symbols)
{
	return own_bytes(symbols) + symbols->symbol_bytes;
}

/* For a place more of the process whose places are being looked up. */
static bool has_room(const struct symbols *symbols)
{
	uint64_t used = used_bytes(symbols), own = used - symbols->before_share;

	if (symbols->share)
		own += symbols->share->bytes;
	return used < symbols->max_bytes && own <= (symbols->max_bytes - used) * ROOM_TIMES;
}

/* Pids end far below the second kind. */
static uint64_t process_of(const struct symbols *symbols, image_t image)
{
	const struct model_process *process = model_find_process(symbols->model, image);

	return process && process->known ? process->pid : UINT64_C(1) << 32 | image.n;
}

/* 0 or -ENOMEM. */
static int begin_image(struct symbols *symbols, image_t image)
{
	struct place_share wanted = {}, *share;
	uint64_t used = used_bytes(symbols);

	if (image_is(symbols->image, image))
		return 0;
	wanted.process = process_of(symbols, image);
	share = hashmap_intern(&symbols->shares, &wanted, sizeof(wanted), NULL);
	if (!share)
		return -ENOMEM;
	if (symbols->share)
		symbols->share->bytes += used - symbols->before_share;
	symbols->share = share;
	symbols->image = image;
	symbols->before_share = used;
	return 0;
}

static void forget_shares(struct symbols *symbols)
{
	hashmap_done(&symbols->shares);
	symbols->share = NULL;
	symbols->image = RECORD_NO_IMAGE;
	symbols->before_share = 0;
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
	hashmap_done(&symbols->entries);
	hashmap_done(&symbols->shares);
	jit_codes_free(symbols->jit);
	free(symbols);
}

/*
 * The root directory of the process that mapped the object, where its debug files are looked for;
 * false when it is this host's, or the process is gone: another may have its pid.
 */
static bool foreign_root(const struct model *model, image_t image, char path[32])
{
	const struct model_process *process = model_find_process(model, image);
	_cleanup_close_ int root_fd = -1, our_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat theirs, ours;

	if (!process || !process->known || process->ended)
		return false;
	snprintf(path, 32, "/proc/%d/root", (int)proc_living_thread((pid_t)process->pid));
	root_fd = file_helper_open_proc((pid_t)process->pid, "root", O_PATH | O_DIRECTORY);
	if (root_fd < 0 || our_fd < 0 || file_status(root_fd, &theirs) < 0 ||
	    file_status(our_fd, &ours) < 0)
		return false;
	return theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino;
}

/* The file must be the one that was mapped: a path may hold another one by now. */
static bool build_id_differs(const struct symbol_object *opened, const struct model_object *object)
{
	const char *have = symbol_object_build_id(opened);
	char want[2 * RECORD_BUILD_ID_MAX + 1];

	hex_text(want, object->build_id, object->build_id_len);
	return *want && *have && strcmp(want, have) != 0;
}

/*
 * Opens what a process maps. local_path: where this host can open it; NULL: it cannot, or its files
 * are not those of the run. image: a process that maps it. 0 or -ENOMEM.
 */
static int open_mapped_object(struct symbols *symbols, const struct model_object *object,
			      const char *local_path, image_t image,
			      struct symbol_object **ret_object)
{
	_cleanup_close_ int fd = -1;
	char root[32];
	bool has_root;
	int r;

	if (local_path)
		fd = reopen_own(local_path);
	has_root = fd >= 0 && foreign_root(symbols->model, image, root);
	r = symbolizer_object(symbols->symbolizer, object->path, object->dev, object->ino, fd,
			      has_root ? root : NULL, ret_object);
	if (r < 0 || fd < 0 || !build_id_differs(*ret_object, object))
		return r;
	return symbolizer_object(symbols->symbolizer, object->path, object->dev, object->ino, -1,
				 NULL, ret_object);
}

int symbols_update(struct symbols *symbols)
{
	size_t n = model_objects(symbols->model)->list.len;
	int r = vec_reserve(&symbols->objects, n);

	while (r == 0 && symbols->objects.len < n) {
		const struct model_object *object =
			model_objects(symbols->model)->list.data[symbols->objects.len];

		r = open_mapped_object(symbols, object,
				       symbols->open_files ? object->local_path : NULL,
				       object->image, &symbols->objects.data[symbols->objects.len]);
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

int symbols_remember(struct symbols *symbols, const struct entry *found, struct entry **ret_entry)
{
	bool is_new;
	struct entry *entry = hashmap_intern(&symbols->entries, found, sizeof(*found), &is_new);

	if (!entry)
		return -ENOMEM;
	if (is_new) {
		entry->resolved.symbol = &entry->symbol;
		if (entry->code)
			entry->symbol = (struct symbol){ .n_frames = 1, .frames = &entry->frame };
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
	image_t image = at->image;
	int r = -ENOENT;

	*ret_place = (struct jit_place){ 0 };
	while (!image_is_none(image) && r == -ENOENT) {
		const struct model_process *process = model_find_process(symbols->model, image);

		r = jit_codes_find(symbols->jit, image, at->addr, at->is_call, at->time_ns,
				   ret_place);
		image = process ? process->parent_id : RECORD_NO_IMAGE;
	}
	return r == -ENOENT ? 0 : r;
}

static int resolve_jit(struct symbols *symbols, const struct model_place *place,
		       const struct symbols_at *at, const struct resolved **ret_resolved)
{
	struct entry entry = {
		.image = at->image,
		.offset = at->addr,
		.is_call = at->is_call,
		.is_unmapped = !place->object,
		.symbol = nothing,
	};
	struct jit_place found = { 0 };
	struct entry *kept;
	int r = place->object ? find_jit(symbols, at, &found) : 0;

	if (r < 0)
		return r;
	entry.code = found.code;
	entry.frame = found.frame;
	entry.resolved.vaddr = at->addr;
	if (place->object)
		entry.resolved.object =
			found.code && found.source ? found.source : place->object->path;
	kept = hashmap_find(&symbols->entries, &entry);
	r = kept ? 0 : has_room(symbols) ? symbols_remember(symbols, &entry, &kept) : -ENOSPC;
	if (r == 0)
		*ret_resolved = &kept->resolved;
	return r;
}

int symbols_other(struct symbols *symbols, const struct model_object *object,
		  const struct resolved **ret_resolved)
{
	/* No file is as large. */
	const struct entry entry = {
		.object = object,
		.image = RECORD_NO_IMAGE,
		.offset = UINT64_MAX,
		.resolved = { .object = object ? object->path : NULL, .is_other = true },
		.symbol = other_symbol,
		.handed_over = true,
	};
	struct entry *kept;
	int r = symbols_remember(symbols, &entry, &kept);

	if (r < 0)
		return r;
	symbols->others++;
	*ret_resolved = &kept->resolved;
	return 0;
}

uint64_t symbols_others(const struct symbols *symbols)
{
	return symbols->others;
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
	int r = begin_image(symbols, at->image);

	if (r < 0)
		return r;
	if (!place->object || place->object->is_anonymous)
		return resolve_jit(symbols, place, at, ret_resolved);
	kept = hashmap_find(&symbols->entries, &entry);
	if (kept) {
		*ret_resolved = &kept->resolved;
		return 0;
	}
	r = has_room(symbols) ? symbols_update(symbols) : -ENOSPC;
	if (r == 0 && model_object_is_kernel(place->object))
		r = read_kernel(symbols, place->object);
	if (r == 0)
		r = vec_reserve(&symbols->pending, symbols->pending.len + 1);
	if (r < 0)
		return r;
	entry.opened = symbols->objects.data[place->object->index];
	entry.resolved.object = place->object->path;
	entry.resolved.vaddr = symbol_object_vaddr(entry.opened, entry.offset);
	r = symbols_remember(symbols, &entry, &kept);
	if (r < 0)
		return r;
	symbols->pending.data[symbols->pending.len++] = kept;
	kept->is_pending = true;
	symbols->symbol_bytes += SYMBOL_BYTES;
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
	if (entry && !entry->resolved.is_other && !has_room(symbols))
		return -ENOSPC;
	r = vec_reserve(&symbols->kept, symbols->kept.len + 1);
	copy = r == 0 ? malloc(len) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	symbols->kept.data[symbols->kept.len++] = copy;
	symbols->kept_bytes += len + ITEM_BYTES;
	if (entry)
		entry->kept = copy;
	*ret_kept = copy;
	return 0;
}

int symbols_compare(const void *item_a, const void *item_b)
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

	entry->is_pending = false;
	if (!symbol_object_is_closed(entry->opened))
		r = symbolizer_resolve(symbols->symbolizer, entry->opened, entry->offset,
				       entry->is_call, &symbol);
	else
		r = symbolizer_find(symbols->symbolizer, entry->opened, &place, &symbol);
	if (r == 0) {
		const uint64_t inlined = (symbol->n_frames - 1) * sizeof(*symbol->frames);

		entry->symbol = *symbol;
		symbols->symbol_bytes += inlined;
		/* Of no process: of whose place it is is not known any more. */
		symbols->before_share += inlined;
	}
	if (r != -ENOENT)
		return r;
	entry->is_missed = true;
	symbols->n_missed++;
	return 0;
}

/* The next pending places that belong to one object; `places` has room for MOST_AT_ONCE. */
static int settle_object(struct symbols *symbols, size_t first, struct object_place *places,
			 size_t *ret_end)
{
	struct symbol_object *opened = symbols->pending.data[first]->opened;
	size_t i;
	int r;

	for (i = first; i < symbols->pending.len && i - first < MOST_AT_ONCE; i++) {
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
	_cleanup_free_ struct object_place *places = calloc(MOST_AT_ONCE, sizeof(*places));
	/* Functions that are inlined into others have not been counted so far. */
	uint64_t most = symbols->max_bytes + symbols->max_bytes / 4;
	int r = places ? 0 : -ENOMEM;
	size_t i = 0;

	vec_sort(&symbols->pending, symbols_compare);
	while (r == 0 && i < symbols->pending.len && used_bytes(symbols) <= most)
		r = settle_object(symbols, i, places, &i);
	if (r < 0)
		return r;
	/* The others are still to be looked up, and lost for who asks now. */
	symbols->pending.len -= i;
	if (symbols->pending.len > 0)
		memmove(symbols->pending.data, symbols->pending.data + i,
			symbols->pending.len * sizeof(*symbols->pending.data));
	symbols->others += symbols->pending.len;
	return 0;
}

/* The entries point into what the symbolizer has found. */
static void forget_entries(struct symbols *symbols)
{
	hashmap_done(&symbols->entries);
	symbols->pending.len = 0;
	symbols->n_missed = 0;
	symbols->symbol_bytes = 0;
	drop_kept(symbols);
	forget_shares(symbols);
}

/* Places that no report has yet have most of the room. */
static uint64_t most_cached(const struct symbols *symbols)
{
	uint64_t share = symbols->max_bytes / 3;

	return share < MAX_CACHED_BYTES ? share : MAX_CACHED_BYTES;
}

/* Or functions that are inlined have. */
static bool is_full(const struct symbols *symbols)
{
	return own_bytes(symbols) > most_cached(symbols) ||
	       used_bytes(symbols) > symbols->max_bytes / 2;
}

bool symbols_has_many(const struct symbols *symbols)
{
	return symbols->open_files && is_full(symbols);
}

int symbols_age(struct symbols *symbols)
{
	uint64_t own = own_bytes(symbols), most = most_cached(symbols);
	int r;

	/* What a recording said is said once. */
	if (!symbols->open_files)
		return 0;
	r = symbolizer_age(symbols->symbolizer, own < most ? most - own : 0);
	if (r > 0 || (r == 0 && is_full(symbols)))
		forget_entries(symbols);
	return r < 0 ? r : 0;
}

int symbols_fetch_from(struct symbols *symbols, struct debuginfod *debuginfod)
{
	forget_entries(symbols);
	return symbolizer_fetch_from(symbols->symbolizer, debuginfod);
}

/* --- files that nothing maps any more are closed, and opened again when something does -------- */

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
	const struct symbols_at at = { stack->image, model_stack_frame(stack, frame),
				       stack->time_ns, model_stack_is_call(stack, frame) };
	const struct resolved *resolved;
	struct model_place place;
	int r;

	if (at.addr < at.is_call ||
	    !model_resolve(symbols->model, at.image, at.addr - at.is_call, at.time_ns, &place))
		return 0;
	if (place.object->index >= symbols->objects.len || !closing[place.object->index])
		return 0;
	place.file_offset += at.is_call;
	r = symbols_resolve(symbols, &place, &at, &resolved);
	return r == -ENOSPC ? symbols_other(symbols, place.object, &resolved) : r;
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
		const struct model_object *object = model_objects(symbols->model)->list.data[i];

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

	while (symbols->n_missed && r == 0 && (entry = hashmap_next(&symbols->entries, &pos))) {
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
		const struct model_object *object = model_objects(symbols->model)->list.data[i];
		struct symbol_object *opened = symbols->objects.data[i];

		if (object->dev != mapping->dev || object->ino != mapping->ino ||
		    !symbol_object_is_closed(opened) || !mapping->local_path)
			continue;
		r = open_mapped_object(symbols, object, mapping->local_path, mapping->image,
				       &opened);
		opened = symbols->objects.data[i];
		if (r < 0 || symbol_object_is_closed(opened))
			continue;
		symbols->n_closed--;
		r = retry_missed(symbols, opened);
	}
	return r;
}
