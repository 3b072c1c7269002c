/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/next.h"

#include "sample/elf_symbol.h"
#include "sample/libdl.h"
#include "sample/process.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 16384
#define FIRST_ALIGNMENT 16

struct first_header {
	size_t size;
	size_t padding;
};

/* Zeroed, so that they do for calloc, too. */
static struct {
	char bytes[FIRST_BYTES] __attribute__((aligned(FIRST_ALIGNMENT)));
	size_t used;
} first_blocks;

static __thread bool finding;

static void *first_block(size_t size)
{
	size_t room = (size + FIRST_ALIGNMENT - 1) & ~(size_t)(FIRST_ALIGNMENT - 1);
	struct first_header *header;
	size_t at;

	if (size > FIRST_BYTES)
		return NULL;
	room += sizeof(*header);
	at = __atomic_fetch_add(&first_blocks.used, room, __ATOMIC_RELAXED);
	if (at + room > FIRST_BYTES)
		return NULL;
	header = (struct first_header *)(first_blocks.bytes + at);
	header->size = size ? size : 1;
	sampled_set_mark(&sample_process.blocks, header + 1);
	return header + 1;
}

size_t next_first_block_size(const void *block)
{
	uintptr_t offset = (uintptr_t)block - (uintptr_t)first_blocks.bytes;

	return offset < FIRST_BYTES ? ((const struct first_header *)block)[-1].size : 0;
}

void *next_copy_first_block(const void *block, void *other, size_t size)
{
	size_t was = next_first_block_size(block);

	return other ? memcpy(other, block, was < size ? was : size) : NULL;
}

void *next_own_block(size_t size)
{
	return sample_thread.busy ? first_block(size) : NULL;
}

#ifdef __x86_64__

/* The C library's, as ours stands before it. */
static void *look_up(void *handle, const char *name)
{
	void *(*function)(void *, const char *) = next_find(NEXT_DLSYM);

	if (!function)
		abort(); /* a process that has us has a C library */
	return function(handle, name);
}

#else

static void *look_up(void *handle, const char *name)
{
	return dlsym(handle, name);
}

#endif

/* The text of an error is freed by the call after the one that returns it. */
static void forget_error(void)
{
	(void)dlerror();
	(void)dlerror();
}

void *next_look_up(void *handle, const char *name)
{
	bool was_busy = sample_thread.busy;
	void *function;

	sample_thread.busy = true;
	function = look_up(handle, name);
	if (!function)
		forget_error();
	sample_thread.busy = was_busy;
	return function;
}

void *next_loaded(const char *file)
{
	bool was_busy = sample_thread.busy;
	void *handle;

	sample_thread.busy = true;
	handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
	if (!handle)
		forget_error();
	sample_thread.busy = was_busy;
	return handle;
}

static void *must_find(const char *name)
{
	void *function = next_look_up(RTLD_NEXT, name);

	if (!function)
		abort(); /* a process that has us has a C library */
	return function;
}

/* False: this thread is at it, and dlsym() has called. */
static bool find_all(void)
{
	struct next_functions found;

	if (finding)
		return false;
	finding = true;
	found.malloc = (void *(*)(size_t))must_find("malloc");
	found.calloc = (void *(*)(size_t, size_t))must_find("calloc");
	found.realloc = (void *(*)(void *, size_t))must_find("realloc");
	found.free = (void (*)(void *))must_find("free");
	next = found;
	finding = false;
	return true;
}

static void *find_malloc(size_t size)
{
	return find_all() ? next.malloc(size) : first_block(size);
}

static void *find_calloc(size_t n, size_t size)
{
	size_t total;

	if (find_all())
		return next.calloc(n, size);
	return __builtin_mul_overflow(n, size, &total) ? NULL : first_block(total);
}

/* Nobody has a block of the next allocator yet. */
static void *find_realloc(void *block, size_t size)
{
	if (find_all())
		return next.realloc(block, size);
	return block ? NULL : first_block(size);
}

static void find_free(void *block)
{
	if (find_all())
		next.free(block);
}

struct next_functions next = { find_malloc, find_calloc, find_realloc, find_free };

static const char *const names[NEXT_NAMES] = {
	[NEXT_MEMALIGN] = "memalign",
	[NEXT_ALIGNED_ALLOC] = "aligned_alloc",
	[NEXT_POSIX_MEMALIGN] = "posix_memalign",
	[NEXT_VALLOC] = "valloc",
	[NEXT_PVALLOC] = "pvalloc",
	[NEXT_REALLOCARRAY] = "reallocarray",
	[NEXT_MALLOC_USABLE_SIZE] = "malloc_usable_size",
	[NEXT_MALLOCX] = "mallocx",
	[NEXT_RALLOCX] = "rallocx",
	[NEXT_XALLOCX] = "xallocx",
	[NEXT_DALLOCX] = "dallocx",
	[NEXT_SDALLOCX] = "sdallocx",
	[NEXT_DLOPEN] = "dlopen",
	[NEXT_DLMOPEN] = "dlmopen",
	[NEXT_DLSYM] = "dlsym",
	[NEXT_DLVSYM] = "dlvsym",
	[NEXT_MALLOC] = "malloc",
	[NEXT_CALLOC] = "calloc",
	[NEXT_REALLOC] = "realloc",
	[NEXT_FREE] = "free",
	[NEXT_LIBC_MALLOC] = "__libc_malloc",
	[NEXT_LIBC_CALLOC] = "__libc_calloc",
	[NEXT_LIBC_REALLOC] = "__libc_realloc",
	[NEXT_LIBC_FREE] = "__libc_free",
	[NEXT_LIBC_MEMALIGN] = "__libc_memalign",
	[NEXT_LIBC_VALLOC] = "__libc_valloc",
	[NEXT_LIBC_PVALLOC] = "__libc_pvalloc",
};

static void *functions[NEXT_NAMES];
static bool all_sought;

static void *seek(enum next_name name)
{
	void *function = name < NEXT_SOUGHT_AT_START ? next_look_up(RTLD_NEXT, names[name]) :
						       elf_symbol_next(names[name]);

	if (function)
		__atomic_store_n(&functions[name], function, __ATOMIC_RELAXED);
	return function;
}

__attribute__((constructor)) static void seek_all(void)
{
	for (int name = 0; name < NEXT_SOUGHT_AT_START; name++)
		(void)next_find((enum next_name)name);
	__atomic_store_n(&all_sought, true, __ATOMIC_RELEASE);
}

void *next_find(enum next_name name)
{
	/* In this order: what is not there then is not there at all. */
	bool sought = name < NEXT_SOUGHT_AT_START && __atomic_load_n(&all_sought, __ATOMIC_ACQUIRE);
	void *function = __atomic_load_n(&functions[name], __ATOMIC_RELAXED);

	return function || sought ? function : seek(name);
}

struct object_search {
	const void *at;
	struct next_object found;
};

static int is_object_of(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object_search *search = data;

	(void)size;
	if (!elf_object_has(info, search->at))
		return 0;
	search->found = (struct next_object){ info->dlpi_phdr, info->dlpi_name };
	return 1;
}

bool next_object_of(const void *function, struct next_object *ret_object)
{
	struct object_search search = { .at = function };

	if (!dl_iterate_phdr(is_object_of, &search))
		return false;
	*ret_object = search.found;
	return true;
}

static int take_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t *loaded = data;

	(void)size;
	*loaded = info->dlpi_adds;
	return 1;
}

uint64_t next_objects_loaded(void)
{
	uint64_t loaded = 0;

	(void)dl_iterate_phdr(take_loaded, &loaded); /* what take_loaded returns */
	return loaded;
}

bool next_is_of_malloc(const void *function)
{
	struct next_object its, mallocs;

	if (next.malloc == find_malloc && !find_all())
		return false;
	return next_object_of(function, &its) &&
	       next_object_of((const void *)next.malloc, &mallocs) && its.id == mallocs.id;
}

bool next_is_of_glibc(void)
{
	const void *version = next_look_up(RTLD_DEFAULT, "gnu_get_libc_version");

	return version && next_is_of_malloc(version);
}
