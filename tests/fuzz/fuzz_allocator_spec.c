/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people and scripts give to --allocator. */
#include "config/allocator_spec.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Each argument is one thing, and what the role cannot do without is there. */
static void check_function(const struct allocator_spec *spec,
			   const struct allocator_spec_function *f)
{
	unsigned seen = 0;

	check(f->name[0] != '\0');
	check(!f->address || spec->object);
	for (size_t i = 0; i < N_PLACES; i++) {
		check(f->argument[i] <= ALLOCATOR_MAX_ARGUMENT);
		check(!f->argument[i] || !(seen & 1U << f->argument[i]));
		seen |= f->argument[i] ? 1U << f->argument[i] : 0;
	}
	check(f->argument[PLACE_SIZE] || f->role == ALLOCATOR_FREE || f->role == ALLOCATOR_INSIDE);
	check(!f->argument[PLACE_PTR] ==
	      (f->role != ALLOCATOR_FREE && f->role != ALLOCATOR_REALLOC));
	check(f->argument[PLACE_COUNT] || f->role != ALLOCATOR_CALLOC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(allocator_spec_done) struct allocator_spec spec = { 0 };
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_free_ char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (allocator_spec_parse(text, &spec, &error) < 0) {
		check(error.len > 0);
		check(strchr(text, '\n') || !strchr(strbuf_str(&error), '\n'));
		return 0;
	}
	check(spec.n_functions > 0 && strcmp(spec.text, text) == 0);
	for (size_t i = 0; i < spec.n_functions; i++)
		check_function(&spec, &spec.functions[i]);
	return 0;
}
