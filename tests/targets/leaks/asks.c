/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks memtraced and Valgrind for each kind of check, and changes what it holds between them. */
#include "include/memtraced.h"
#include "leaks.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_DO_LEAK_CHECK
#define VALGRIND_DO_QUICK_LEAK_CHECK
#define VALGRIND_DO_ADDED_LEAK_CHECK
#define VALGRIND_DO_CHANGED_LEAK_CHECK
#endif

static void *kept[3];

LOSE lose(size_t size)
{
	(void)!malloc(size);
}

LOSE hold(void)
{
	for (size_t i = 0; i < 3; i++)
		kept[i] = malloc(100 + i);
}

int main(void)
{
	hold();
	lose(10);
	scrub();
	memtraced_do_leak_check();
	VALGRIND_DO_LEAK_CHECK;
	lose(20);
	free(kept[0]);
	scrub();
	memtraced_do_added_leak_check();
	VALGRIND_DO_ADDED_LEAK_CHECK;
	kept[0] = kept[1] = NULL;
	free(kept[2]);
	scrub();
	memtraced_do_changed_leak_check();
	VALGRIND_DO_CHANGED_LEAK_CHECK;
	lose(30);
	scrub();
	memtraced_do_quick_leak_check();
	VALGRIND_DO_QUICK_LEAK_CHECK;
	return 0;
}
