/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways past this library. A library that is loaded with RTLD_DEEPBIND finds the C library's
 * allocator before ours, and one in a namespace of its own (dlmopen(3)) has another C library: what
 * they allocate, and what they free of others', is not seen. dlsym(3) gives the C library's own
 * functions for a handle: whoever asks for them gets ours, which the name means for all others; so
 * the address is also the one that the program itself has for it, as it is without us.
 */
#include "sample/elf_symbol.h"
#include "sample/exact.h"
#include "sample/next.h"
#include "sample/refusal.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#ifdef __x86_64__

/* In rax and rdx: the function to which the call is passed on; NULL: what it returns instead. */
struct passing {
	void *function, *result;
};

static struct passing pass_on(enum next_name name)
{
	return (struct passing){ .function = next_find(name) };
}

static void bypassed(void)
{
	int error = errno;

	if (exact_is_on())
		book_bypass();
	errno = error;
}

#define ENTERED __attribute__((visibility("hidden"), used))

ENTERED struct passing load_dlopen(const char *file, int mode);
ENTERED struct passing load_dlopen(const char *file, int mode)
{
	(void)file;
	if (mode & RTLD_DEEPBIND)
		bypassed();
	return pass_on(NEXT_DLOPEN);
}

ENTERED struct passing load_dlmopen(Lmid_t space);
ENTERED struct passing load_dlmopen(Lmid_t space)
{
	if (space != LM_ID_BASE)
		bypassed();
	return pass_on(NEXT_DLMOPEN);
}

/* C++'s operators are no way past us: they call malloc. */
static bool is_way_past(const char *name)
{
	return strncmp(name, "_Z", 2) != 0;
}

/*
 * Libraries behind us find the C library's. That is what those want that stand before a function
 * themselves, as we do: they are called by us.
 */
static bool gets_past(void *handle, const char *name, const void *caller)
{
	return is_way_past(name) && !(handle == RTLD_NEXT && elf_symbol_is_before_us(caller)) &&
	       !elf_symbol_is_of(caller, name);
}

typedef void *look_up_function(void *handle, const char *name, const char *version);

/*
 * What it has found, or the call is passed on. It is called once in any case: it frees the text of
 * the last error, and makes one. Where a call has one argument less, it does not read the last.
 */
static struct passing look_up(enum next_name by, void *handle, const char *name,
			      const char *version, const void *caller)
{
	struct passing real = pass_on(by);
	void *ours, *found;

	/* By default it is ours that is found first. */
	if (!name || !real.function || handle == RTLD_DEFAULT || sample_refused())
		return real;
	ours = elf_symbol_ours(name);
	if (!ours)
		return real;
	if (handle == RTLD_NEXT) {
		if (gets_past(handle, name, caller))
			bypassed();
		return real;
	}
	found = ((look_up_function *)real.function)(handle, name, version);
	if (found && found == next_look_up(RTLD_NEXT, name))
		found = ours;
	else if (found && found != ours && gets_past(handle, name, caller))
		bypassed();
	return (struct passing){ .result = found };
}

ENTERED struct passing load_dlsym(void *handle, const char *name, const char *none,
				  const void *caller);
ENTERED struct passing load_dlsym(void *handle, const char *name, const char *none,
				  const void *caller)
{
	return look_up(NEXT_DLSYM, handle, name, none, caller);
}

ENTERED struct passing load_dlvsym(void *handle, const char *name, const char *version,
				   const void *caller);
ENTERED struct passing load_dlvsym(void *handle, const char *name, const char *version,
				   const void *caller)
{
	return look_up(NEXT_DLVSYM, handle, name, version, caller);
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
		"mov (%rsp), %rcx\n"                                                               \
		"push %rdi\n.cfi_adjust_cfa_offset 8\n"                                            \
		"push %rsi\n.cfi_adjust_cfa_offset 8\n"                                            \
		"push %rdx\n.cfi_adjust_cfa_offset 8\n"                                            \
		"call load_" name "\n"                                                             \
		"mov %rdx, %rcx\n"                                                                 \
		"pop %rdx\n.cfi_adjust_cfa_offset -8\n"                                            \
		"pop %rsi\n.cfi_adjust_cfa_offset -8\n"                                            \
		"pop %rdi\n.cfi_adjust_cfa_offset -8\n"                                            \
		"test %rax, %rax\n"                                                                \
		"jz 1f\n"                                                                          \
		"jmp *%rax\n"                                                                      \
		"1: mov %rcx, %rax\n"                                                              \
		"ret\n"                                                                            \
		".cfi_endproc\n"                                                                   \
		".size " name ", .-" name "\n")

LOAD("dlopen");
LOAD("dlmopen");
LOAD("dlsym");
LOAD("dlvsym");

#endif
