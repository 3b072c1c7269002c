/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbol names of traced programs. */
#include "base/cleanup.h"
#include "symbol/names.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const prefixes[] = { "", "_Z", "_ZN", "_R", "_D" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		try_prefix(prefixes[i], data, size);
	return 0;
}
