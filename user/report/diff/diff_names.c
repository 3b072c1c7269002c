/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_names.h"

#include "base/cleanup.h"
#include "report/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RUST_HASH_DIGITS 16

/* GCC's and LLVM's: copies for constants or changed parameters, parts, renamed local functions. */
static const char *const clone_suffixes[] = {
	".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".localalias",
};

/* Does `at` hold nothing but such suffixes and their numbers, up to the end? */
static bool is_clone(const char *at, const char *end)
{
	while (at < end) {
		size_t n = 0;

		for (size_t i = 0; n == 0 && i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]);
		     i++) {
			size_t len = strlen(clone_suffixes[i]);

			if ((size_t)(end - at) >= len && strncmp(at, clone_suffixes[i], len) == 0)
				n = len;
		}
		if (n == 0 && *at == '.' && at + 1 < end && isdigit((unsigned char)at[1]))
			n = 1;
		if (n == 0)
			return false;
		at += n;
		while (at < end && isdigit((unsigned char)*at))
			at++;
	}
	return true;
}

static size_t without_clone(const char *name, size_t len)
{
	static const char mark[] = " [clone .";
	const char *clone = strstr(name, mark);

	if (clone && clone > name)
		return (size_t)(clone - name);
	for (size_t i = 1; i < len; i++)
		if (name[i] == '.' && !isdigit((unsigned char)name[i + 1]) &&
		    is_clone(name + i, name + len))
			return i;
	return len;
}

static size_t without_hash(const char *name, size_t len)
{
	const char *hash;

	if (len <= RUST_HASH_DIGITS + 3)
		return len;
	hash = name + len - RUST_HASH_DIGITS;
	if (strncmp(hash - 3, "::h", 3) != 0)
		return len;
	for (size_t i = 0; i < RUST_HASH_DIGITS; i++)
		if (!isdigit((unsigned char)hash[i]) && (hash[i] < 'a' || hash[i] > 'f'))
			return len;
	return len - RUST_HASH_DIGITS - 3;
}

void diff_function_name(const char *name, struct strbuf *out)
{
	size_t len = without_clone(name, strlen(name));

	strbuf_add(out, name, without_hash(name, len));
}

void diff_object_name(const char *path, struct strbuf *out)
{
	_cleanup_free_ char *whole = strndup(path, text_path_length(path));
	const char *name, *version;

	if (!whole) {
		out->error = -ENOMEM;
		return;
	}
	name = text_base_name(whole);
	version = strstr(name, ".so.");
	strbuf_add(out, name,
		   version && version > name ? (size_t)(version - name) + 3 : strlen(name));
}
