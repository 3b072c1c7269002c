/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks and wrong frees in C, each at a place of its own, for the names in suppressions: inlined
 * and static functions, recursion, pointers to functions, functions that jump on, the C library's.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define APART __attribute__((noinline, noclone))
#define INLINED inline __attribute__((always_inline))

static void *volatile held;

/* The block is lost; a call after it, so that the caller's frame is there. */
static APART void lose(void *block)
{
	held = block;
	held = NULL;
	__asm__ volatile("" : : : "memory");
}

static INLINED void *inner(size_t n)
{
	return malloc(n);
}

static INLINED void *outer(size_t n)
{
	return inner(n + 1);
}

static APART void of_inlined(void)
{
	lose(outer(10));
}

/* It jumps to malloc where functions are optimised. */
static APART void *passes_on(size_t n)
{
	return malloc(n);
}

static APART void by_a_jump(void)
{
	lose(passes_on(20));
}

static void *(*volatile allocate)(size_t) = malloc;

static APART void by_pointer(void)
{
	lose(allocate(30));
}

static APART int recursion(int depth)
{
	if (depth == 0)
		lose(calloc(1, 40));
	else
		recursion(depth - 1);
	__asm__ volatile("" : : : "memory");
	return depth;
}

static APART void of_realloc(void)
{
	void *block = realloc(NULL, 50);

	lose(realloc(block, 5000));
	lose(reallocarray(NULL, 3, 17));
}

static APART void aligned(void)
{
	void *block;

	if (posix_memalign(&block, 64, 60) == 0)
		lose(block);
	lose(aligned_alloc(64, 128));
	lose(memalign(32, 70));
	lose(valloc(80));
}

static APART void of_library(void)
{
	char *text = NULL;

	lose(strdup("a text"));
	lose(strndup("a longer text", 5));
	lose(wcsdup(L"a wide text"));
	if (asprintf(&text, "%d and %s", 12345, "others") > 0)
		lose(text);
	lose(realpath("/", NULL));
	lose(fopen("/dev/null", "r"));
}

static APART int compare(const void *a, const void *b)
{
	static int calls;

	if (calls++ == 0)
		lose(malloc(90));
	return strcmp(a, b);
}

/* Called back by the library. */
static APART void called_back(void)
{
	char texts[][4] = { "two", "one", "six" };
	void *root = NULL;

	qsort(texts, 3, sizeof(texts[0]), compare);
	tsearch("one", &root, (int (*)(const void *, const void *))strcmp);
	lose(root);
}

static APART void reachable(void)
{
	static void *kept[2];

	kept[0] = malloc(100);
	kept[1] = (char *)malloc(110) + 10;
	held = kept;
}

int main(void)
{
	of_inlined();
	by_a_jump();
	by_pointer();
	recursion(5);
	of_realloc();
	aligned();
	of_library();
	called_back();
	reachable();
	return 0;
}
