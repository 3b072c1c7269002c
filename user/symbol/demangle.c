/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MANGLED_BYTES (16 * 1024)
#define MAX_DEMANGLED_BYTES (64 * 1024)

/*
 * libiberty refuses names above half its recursion limit (2048) unless told not to count. Boost and
 * Eigen make longer ones, and 16 KiB of the most deeply nesting ones take below 5 MiB of stack.
 */
#define MAX_COUNTED_BYTES 1024

struct sink {
	char *data;
	size_t len;
	size_t cap;
	jmp_buf full;
};

/*
 * A name of a few hundred bytes can stand for gigabytes of text (each substitution may hold the one
 * before twice), and libiberty gives its callback no way to stop it but to leave it. Printing keeps
 * nothing on the heap.
 */
static void sink_add(const char *text, size_t len, void *userdata)
{
	struct sink *sink = userdata;
	size_t cap_new = sink->cap ? sink->cap : 256;
	char *data;

	if (len > MAX_DEMANGLED_BYTES - sink->len)
		longjmp(sink->full, 1);
	while (cap_new <= sink->len + len)
		cap_new *= 2;
	if (cap_new > sink->cap) {
		data = realloc(sink->data, cap_new);
		if (!data)
			longjmp(sink->full, 1);
		sink->data = data;
		sink->cap = cap_new;
	}
	memcpy(sink->data + sink->len, text, len);
	sink->len += len;
	sink->data[sink->len] = '\0';
}

typedef int (*demangle_fn)(const char *mangled, int options, demangle_callbackref callback,
			   void *opaque);

static bool demangle_into(struct sink *sink, demangle_fn fn, const char *name, int options)
{
	sink->len = 0;
	if (setjmp(sink->full) != 0)
		return false;
	return fn(name, options, sink_add, sink) != 0 && sink->len > 0;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

char *demangle(const char *name)
{
	size_t len = strnlen(name, MAX_MANGLED_BYTES + 1);
	int options = DMGL_PARAMS | DMGL_ANSI;
	struct sink sink = {};

	if (len > MAX_MANGLED_BYTES)
		return NULL;
	if (!has_prefix(name, "_Z") && !has_prefix(name, "_R") && !has_prefix(name, "_GLOBAL_"))
		return NULL;
	/* Rust's legacy names are valid C++ ones too: the hash tells them apart, so Rust first. */
	if (demangle_into(&sink, rust_demangle_callback, name, options))
		return sink.data;
	if (len > MAX_COUNTED_BYTES)
		options |= DMGL_NO_RECURSE_LIMIT;
	if (demangle_into(&sink, cplus_demangle_v3_callback, name, options))
		return sink.data;
	free(sink.data);
	return NULL;
}
