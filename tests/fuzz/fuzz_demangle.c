/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbol names of traced programs, behind the prefix that the last byte says. */
#include "base/cleanup.h"
#include "symbol/function_name.h"
#include "symbol/names.h"
#include "symbol/wrappers.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What reports make of a name, which may be the program's own text. */
static void try_name(const char *name)
{
	struct function_name part = function_name_of(name);
	_cleanup_strbuf_ struct strbuf out = { 0 };

	if (part.start < name || part.start + part.len > name + strlen(name))
		abort();
	function_name_short(name, &out);
	if (strbuf_error(&out) == 0 && out.len > 2 * strlen(name))
		abort();
	(void)wrappers_have(name, name, name);
}

/* The prefix costs the fuzzer time to guess, and everything else is refused at once. */
static void try_prefix(const char *prefix, const uint8_t *data, size_t size)
{
	size_t len = strlen(prefix);
	_cleanup_free_ char *name = malloc(len + size + 1), *text = NULL;

	if (!name)
		return;
	memcpy(name, prefix, len);
	if (size > 0)
		memcpy(name + len, data, size);
	name[len + size] = '\0';
	text = demangle(name);
	if (text && (strlen(text) == 0 || strlen(text) > 64 * 1024))
		abort();
	try_name(text ? text : name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const prefixes[] = { "", "_Z", "_ZN", "_R", "_D" };
	const size_t n = sizeof(prefixes) / sizeof(*prefixes);

	if (size == 0)
		return 0;
	try_prefix(prefixes[data[size - 1] % n], data, size - 1);
	return 0;
}
