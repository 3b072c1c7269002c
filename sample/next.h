/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that calls are passed on to: those of the allocator that the program would have
 * without us. Found by dlsym() at the first call, which may come before any constructor has run.
 * What dlsym() itself allocates meanwhile (glibc before 2.34 does) is a first block, of a small
 * array that is never freed. All threads may call everything here.
 */
#ifndef MEMTRACED_SAMPLE_NEXT_H
#define MEMTRACED_SAMPLE_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every allocator has. Never NULL: until they are found, they are functions that find them. */
struct next_functions {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
};

extern struct next_functions next __attribute__((visibility("hidden")));

/* What only some programs call. */
enum next_name {
	NEXT_MEMALIGN,
	NEXT_ALIGNED_ALLOC,
	NEXT_POSIX_MEMALIGN,
	NEXT_VALLOC,
	NEXT_PVALLOC,
	NEXT_REALLOCARRAY,
	NEXT_MALLOC_USABLE_SIZE,
	NEXT_MALLOCX,
	NEXT_RALLOCX,
	NEXT_XALLOCX,
	NEXT_DALLOCX,
	NEXT_SDALLOCX,
	NEXT_DLOPEN,
	NEXT_DLMOPEN,
	NEXT_SOUGHT_AT_START,
	NEXT_DLSYM = NEXT_SOUGHT_AT_START,
	NEXT_DLVSYM,
	NEXT_MALLOC,
	NEXT_CALLOC,
	NEXT_REALLOC,
	NEXT_FREE,
	NEXT_LIBC_MALLOC,
	NEXT_LIBC_CALLOC,
	NEXT_LIBC_REALLOC,
	NEXT_LIBC_FREE,
	NEXT_LIBC_MEMALIGN,
	NEXT_LIBC_VALLOC,
	NEXT_LIBC_PVALLOC,
	NEXT_NAMES,
};

/*
 * The next function of a name, or NULL. What programs may call at any time is sought before main(),
 * as dlsym() waits while another thread is in dlopen(), whose constructors may wait for this one;
 * the rest, which few call, by the first that does, without dlsym(), as that forgets the program's
 * last error (dlerror(3)).
 */
void *next_find(enum next_name name);

/*
 * dlsym(), and dlopen() of an object that is loaded, which stays loaded, for ourselves: what they
 * allocate is no sample, and the program does not find the error of what is not there.
 */
void *next_look_up(void *handle, const char *name);
void *next_loaded(const char *file);

struct next_object {
	const void *id;	  /* no other object has it */
	const char *file; /* its path; of the executable itself "" */
};

/*
 * The loaded object that has the code at `function`; false: none has. dladdr() would look for the
 * symbol as well, among all of a library's: 20 us.
 */
bool next_object_of(const void *function, struct next_object *ret_object);

/* How many objects have been loaded so far: another number where one has come since. */
uint64_t next_objects_loaded(void);

/* Whether the code at `function` is of the object that has the next malloc. */
bool next_is_of_malloc(const void *function);

/*
 * A block for what this library has the C library do, as dlsym() does, which other allocators and
 * who stands before them need not see; zeroed, and never freed. NULL: there is no more room.
 */
void *next_own_block(size_t size);

/* Whether the next malloc is glibc's. */
bool next_is_of_glibc(void);

/* The size of a first block, or 0 if it is none. sampled_set_may_have() says true of these. */
size_t next_first_block_size(const void *block);

/* What a first block holds, in `other`, which has `size` bytes and is returned; NULL is legal. */
void *next_copy_first_block(const void *block, void *other, size_t size);

#endif
