/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: past HOW CALLS
 *
 * Calls the C library's allocator by addresses that do not come from the usual names: of dlsym(3)
 * for a handle of the C library ("handle"), of dlvsym(3) ("version"), of dlsym(RTLD_NEXT) ("next"),
 * and by glibc's other names ("names"). Says how many allocations and bytes it made, and how many
 * of them stay.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_valloc(size_t size);
extern void *__libc_pvalloc(size_t size);

static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
} by = { __libc_malloc,	  __libc_calloc, __libc_realloc, __libc_free,
	 __libc_memalign, __libc_valloc, __libc_pvalloc };

static const char *way;
static void *libc;

static void *find(const char *name)
{
	void *found;

	if (strcmp(way, "version") == 0)
		found = dlvsym(libc, name, "GLIBC_2.2.5");
	else
		found = dlsym(strcmp(way, "next") == 0 ? RTLD_NEXT : libc, name);
	/* As it is where nothing stands before the C library. */
	CHECK(found && found == dlsym(RTLD_DEFAULT, name));
	return found;
}

static void find_all(void)
{
	libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	CHECK(libc && !dlvsym(libc, "malloc", "GLIBC_0") && !dlsym(libc, "no_function"));
	by.malloc = (void *(*)(size_t))find("malloc");
	by.calloc = (void *(*)(size_t, size_t))find("calloc");
	by.realloc = (void *(*)(void *, size_t))find("realloc");
	by.free = (void (*)(void *))find("free");
	by.memalign = (void *(*)(size_t, size_t))find("memalign");
	by.valloc = (void *(*)(size_t))find("valloc");
	by.pvalloc = (void *(*)(size_t))find("pvalloc");
}

/* Seven allocations, of which three stay. */
static void call(void)
{
	void *volatile block = by.malloc(100);

	by.free(block);
	block = by.realloc(by.calloc(10, 20), 300);
	block = by.memalign(64, 400);
	block = by.valloc(500);
	by.free(block);
	block = by.realloc(by.pvalloc(4096), 600);
	CHECK(block);
}

int main(int argc, char **argv)
{
	uint64_t calls = argument(argc, argv, 2, 10);

	CHECK(argc > 1);
	way = argv[1];
	if (strcmp(way, "names") != 0)
		find_all();
	for (uint64_t i = 0; i < calls; i++)
		call();
	/* allocations and their bytes, blocks that stay and theirs */
	tell("%d %d %d %d\n", (int)calls * 7,
	     (int)calls * (100 + 200 + 300 + 400 + 500 + 4096 + 600), (int)calls * 3,
	     (int)calls * (300 + 400 + 600));
	return 0;
}
