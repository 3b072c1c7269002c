/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/names.h"

#include "base/cleanup.h"
#include "base/glob.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MANGLED_BYTES (16 * 1024)
#define MAX_DEMANGLED_BYTES (64 * 1024)

/*
 * libiberty refuses names above half its recursion limit (2048) unless told not to count. Boost and
 * Eigen make longer ones, and 16 KiB of the most deeply nesting ones take below 5 MiB of stack.
 */
#define MAX_COUNTED_BYTES 1024
/* Read of a D name, what is read again counted anew: 16 KiB can take 5 MiB of stack. */
#define D_MAX_READ_BYTES (8 * 1024)
/* Of a back reference: three lead 17,575 bytes back. */
#define D_MAX_DIGITS 3
/* Of all `for<'a, ...>` of a Rust name, which libiberty counts in 0.1 s. */
#define RUST_MAX_LIFETIMES (1 << 20)

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
	if (len > 0) /* else text may be NULL */
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

/*
 * Where a back reference of a D name at `at` leads; `at` itself when it is none, 0 when it is
 * longer than any that is of use.
 */
static size_t d_reference(const char *name, size_t at)
{
	size_t back = 0, end = at + 1;

	/* Base 26: capitals are digits that others follow. */
	while (name[end] >= 'A' && name[end] <= 'Z' && end < at + D_MAX_DIGITS)
		back = back * 26 + (size_t)(name[end++] - 'A');
	if (name[end] >= 'A' && name[end] <= 'Z')
		return 0;
	if (name[end] < 'a' || name[end] > 'z')
		return at;
	back = back * 26 + (size_t)(name[end] - 'a');
	return back <= at ? at - back : at;
}

/*
 * Whether reading a D name takes long: a back reference has what it leads to read again, and that
 * may hold some itself. Letters of identifiers that look like one only make it more. libiberty
 * refuses those that lead into themselves.
 */
static bool d_is_endless(const char *name, size_t len)
{
	_cleanup_free_ size_t *upto = malloc((len + 1) * sizeof(*upto)); /* bytes read before it */

	if (!upto)
		return true;
	upto[0] = 0;
	for (size_t i = 0; i < len; i++) {
		upto[i + 1] = upto[i] + 1;
		if (name[i] == 'Q')
			upto[i + 1] += upto[i] - upto[d_reference(name, i)];
		if (upto[i + 1] > D_MAX_READ_BYTES)
			return true;
	}
	return false;
}

/* libiberty has no callback for D, but its text is a few times what is read. */
static char *demangle_d(const char *name, size_t len)
{
	_cleanup_free_ char *text = NULL;

	if (d_is_endless(name, len))
		return NULL;
	text = dlang_demangle(name, 0);
	return text && *text && strlen(text) <= MAX_DEMANGLED_BYTES ? TAKE_PTR(text) : NULL;
}

/* The value of a digit of base 62, or -1. */
static int rust_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/*
 * Whether a Rust name has more lifetimes than any true one. libiberty counts up to a number that
 * the name gives, and where it prints nothing, in the path of an impl, the sink does not end it.
 * Numbers of lifetimes come after "FG" and "DG"; what looks like one in an identifier counts, too.
 */
static bool rust_is_endless(const char *name)
{
	uint64_t lifetimes = 0;

	for (; *name; name++) {
		uint64_t value = 0;
		size_t end = 2;

		if ((name[0] != 'F' && name[0] != 'D') || name[1] != 'G')
			continue;
		for (; rust_digit(name[end]) >= 0 && value <= RUST_MAX_LIFETIMES; end++)
			value = value * 62 + (uint64_t)rust_digit(name[end]);
		if (value <= RUST_MAX_LIFETIMES && name[end] != '_')
			continue;
		lifetimes += value + 2; /* "_" stands for 0, "0_" for 1; G counts from 1 */
		if (lifetimes > RUST_MAX_LIFETIMES)
			return true;
	}
	return false;
}

char *demangle(const char *name)
{
	size_t len = strnlen(name, MAX_MANGLED_BYTES + 1);
	int options = DMGL_PARAMS | DMGL_ANSI;
	struct sink sink = {};

	if (len > MAX_MANGLED_BYTES)
		return NULL;
	if (begins_with(name, "_D"))
		return demangle_d(name, len);
	if (!begins_with(name, "_Z") && !begins_with(name, "_R") && !begins_with(name, "_GLOBAL_"))
		return NULL;
	/* Rust's legacy names are valid C++ ones too: the hash tells them apart, so Rust first. */
	if (begins_with(name, "_R") && rust_is_endless(name))
		return NULL;
	if (demangle_into(&sink, rust_demangle_callback, name, options))
		return sink.data;
	if (len > MAX_COUNTED_BYTES)
		options |= DMGL_NO_RECURSE_LIMIT;
	if (demangle_into(&sink, cplus_demangle_v3_callback, name, options))
		return sink.data;
	free(sink.data);
	return NULL;
}

struct name {
	const char *text;
	size_t len;
	char *demangled; /* NULL: not mangled, or not asked for */
	bool asked;
	char copy[];
};

static uint64_t hash_name(const void *item)
{
	const struct name *name = item;

	return hash_bytes(name->text, name->len, 0);
}

static bool equal_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
}

static void free_name(void *item)
{
	struct name *name = item;

	free(name->demangled);
	free(name);
}

static const struct hashmap_ops name_ops = { hash_name, equal_names, free_name };

void names_init(struct names *names)
{
	*names = (struct names){ .map.ops = &name_ops };
}

void names_done(struct names *names)
{
	hashmap_done(&names->map);
}

static int intern_name(struct names *names, const char *text, size_t len, struct name **ret_name)
{
	struct name key = { .text = text, .len = len };
	struct name *name = hashmap_find(&names->map, &key);
	int r;

	if (!name) {
		name = calloc(1, sizeof(*name) + len + 1);
		if (!name)
			return -ENOMEM;
		memcpy(name->copy, text, len);
		name->text = name->copy;
		name->len = len;
		r = hashmap_insert(&names->map, name);
		if (r < 0) {
			free(name);
			return r;
		}
		names->bytes += sizeof(*name) + len + 1;
	}
	*ret_name = name;
	return 0;
}

int names_add(struct names *names, const char *text, size_t len, const char **ret_copy)
{
	struct name *name;
	int r = intern_name(names, text, len, &name);

	if (r == 0)
		*ret_copy = name->copy;
	return r;
}

int names_demangle(struct names *names, const char *linkage, size_t len, const char **ret_copy,
		   const char **ret_function)
{
	struct name *name;
	int r = intern_name(names, linkage, len, &name);

	if (r < 0)
		return r;
	if (!name->asked) {
		name->demangled = demangle(name->copy);
		name->asked = true;
		names->bytes += name->demangled ? strlen(name->demangled) + 1 : 0;
	}
	*ret_copy = name->copy;
	*ret_function = name->demangled ? name->demangled : name->copy;
	return 0;
}
