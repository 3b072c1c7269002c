/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that do not call the allocator by us: one that is loaded with RTLD_DEEPBIND finds the
 * C library's before ours, and one in a namespace of its own (dlmopen(3)) has another C library.
 * What they allocate, and what they free of others', is not seen.
 */
#include "sample/exact.h"
#include "sample/next.h"

#include <dlfcn.h>
#include <errno.h>

#ifdef __x86_64__

static void *load_nothing(void)
{
	return NULL;
}

/* The function that does it. */
static const void *pass_on(enum next_name name, bool bypasses)
{
	int error = errno;
	const void *function = next_find(name);

	if (bypasses && exact_is_on())
		book_bypass();
	errno = error;
	return function ? function : (const void *)load_nothing;
}

#define ENTERED __attribute__((visibility("hidden"), used))

ENTERED const void *load_dlopen(const char *file, int mode);
ENTERED const void *load_dlopen(const char *file, int mode)
{
	(void)file;
	return pass_on(NEXT_DLOPEN, mode & RTLD_DEEPBIND);
}

ENTERED const void *load_dlmopen(Lmid_t space);
ENTERED const void *load_dlmopen(Lmid_t space)
{
	return pass_on(NEXT_DLMOPEN, space != LM_ID_BASE);
}

/*
 * With their arguments, and as their callers have called them: by whose address they know where to
 * look for libraries.
 */
#define LOAD(name)                                                                                 \
	__asm__(".text\n"                                                                          \
		".p2align 4\n"                                                                     \
		".globl " name "\n"                                                                \
		".type " name ", @function\n" name ":\n"                                           \
		".cfi_startproc\n"                                                                 \
		"push %rdi\n.cfi_adjust_cfa_offset 8\n"                                            \
		"push %rsi\n.cfi_adjust_cfa_offset 8\n"                                            \
		"push %rdx\n.cfi_adjust_cfa_offset 8\n"                                            \
		"call load_" name "\n"                                                             \
		"pop %rdx\n.cfi_adjust_cfa_offset -8\n"                                            \
		"pop %rsi\n.cfi_adjust_cfa_offset -8\n"                                            \
		"pop %rdi\n.cfi_adjust_cfa_offset -8\n"                                            \
		"jmp *%rax\n"                                                                      \
		".cfi_endproc\n"                                                                   \
		".size " name ", .-" name "\n")

LOAD("dlopen");
LOAD("dlmopen");

#endif
