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

static bool is_allocator(const struct suppression_frame *f)
{
	static const char *const names[] = { "malloc", "calloc", "aligned_alloc", "memalign",
					     "posix_memalign" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_named(f, names[i]))
			return true;
	return is_operator_new(f);
}

size_t alloc_frames_inner(const struct suppression_frame *frames, size_t n)
{
	size_t inner = 0;

	while (inner + 1 < n && is_allocator(&frames[inner]) && is_operator_new(&frames[inner + 1]))
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
