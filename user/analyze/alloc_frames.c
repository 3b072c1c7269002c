/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/alloc_frames.h"

#include <string.h>

static bool is_operator_new(const struct suppression_frame *f)
{
	if (f->linkage)
		return !strncmp(f->linkage, "_Znw", 4) || !strncmp(f->linkage, "_Zna", 4);
	return f->function && !strncmp(f->function, "operator new", 12);
}

static bool is_named(const struct suppression_frame *f, const char *name)
{
	const char *own = f->linkage ? f->linkage : f->function;
	size_t len = strlen(name);

	return own && !strncmp(own, name, len) && (!own[len] || own[len] == '@');
}

bool alloc_frames_is_allocator(const struct suppression_frame *f)
{
	static const char *const names[] = { "malloc", "calloc", "aligned_alloc", "memalign",
					     "posix_memalign" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_named(f, names[i]))
			return true;
	return is_operator_new(f);
}

static bool is_operator_delete(const struct suppression_frame *f)
{
	if (f->linkage)
		return !strncmp(f->linkage, "_ZdlPv", 6) || !strncmp(f->linkage, "_ZdaPv", 6);
	return f->function && !strncmp(f->function, "operator delete", 15);
}

static bool is_operator_over(const struct suppression_frame *inner,
			     const struct suppression_frame *outer)
{
	if (is_operator_new(outer))
		return alloc_frames_is_allocator(inner);
	return is_operator_delete(outer) && (is_named(inner, "free") || is_operator_delete(inner));
}

size_t alloc_frames_inner(const struct suppression_frame *frames, size_t n)
{
	size_t inner = 0;

	while (inner + 1 < n && is_operator_over(&frames[inner], &frames[inner + 1]))
		inner++;
	return inner;
}

bool alloc_frames_memalign(const struct suppression_frame *frames, size_t n, size_t *ret_skip)
{
	if (!n)
		return false;
	*ret_skip = is_named(frames, "aligned_alloc");
	return *ret_skip || is_named(frames, "posix_memalign");
}

const char *alloc_frames_valgrind_name(const struct suppression_frame *frame, size_t *ret_len)
{
	static const struct {
		const char *linkage, *name;
	} operators[] = {
		/* memcheck/mc_malloc_wrappers.c */
		{ "_ZnwmSt11align_val_t", "__builtin_new_aligned" },
		{ "_ZnamSt11align_val_t", "__builtin_vec_new_aligned" },
		{ "_Znw", "__builtin_new" },
		{ "_Zna", "__builtin_vec_new" },
		{ "aligned_alloc", "memalign" },
		{ "posix_memalign", "memalign" },
	};
	const char *name = frame->linkage ? frame->linkage : frame->function;

	for (size_t i = 0; name && i < sizeof(operators) / sizeof(*operators); i++) {
		if (strncmp(name, operators[i].linkage, strlen(operators[i].linkage)) != 0)
			continue;
		name = operators[i].name;
		break;
	}
	/* In a file of suppressions "#" begins a comment, and blanks before a name are skipped. */
	if (!name || *name <= ' ' || *name == '#')
		name = "???";
	/* Without version and arguments; a line ends at the newline. */
	*ret_len = strcspn(name, "@(\n\r");
	return name;
}
