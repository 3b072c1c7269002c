/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/custom_allocators.h"

#include "bpf/abi.h"
#include "config/allocator_spec.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct custom_allocators {
	size_t n;
	struct custom_function functions[];
};

static uint8_t kind_of(const struct allocator_spec_function *f)
{
	uint8_t flags = f->zero_frees ? ABI_REALLOC0_FREES : 0;

	switch (f->role) {
	case ALLOCATOR_REALLOC:
		return ABI_REALLOC | flags;
	case ALLOCATOR_FREE:
		return ABI_SCOPED_FREE;
	case ALLOCATOR_INSIDE:
		return ABI_SCOPE;
	default:
		return f->argument[PLACE_OUT] ? ABI_OUT_PARAM : ABI_ALLOC;
	}
}

static uint16_t args_of(const struct allocator_spec_function *f)
{
	uint8_t block = f->argument[PLACE_OUT] ? f->argument[PLACE_OUT] : f->argument[PLACE_PTR];

	return ABI_SIZE_PRODUCT(f->argument[PLACE_SIZE], f->argument[PLACE_COUNT]) |
	       ABI_BLOCK_ARG(block);
}

int custom_allocators_new(const struct allocator_spec *specs, size_t n,
			  struct custom_allocators **ret_custom)
{
	struct custom_allocators *custom;
	size_t n_functions = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		n_functions += specs[i].n_functions;
	custom = calloc(1, sizeof(*custom) + n_functions * sizeof(custom->functions[0]));
	if (!custom)
		return -ENOMEM;
	custom->n = n_functions;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < specs[i].n_functions; k++) {
			const struct allocator_spec_function *f = &specs[i].functions[k];

			custom->functions[at++] = (struct custom_function){
				.row = { .name = f->name,
					 .kind = kind_of(f),
					 .args = args_of(f),
					 .may_throw = f->throws,
					 .by_user = true },
				.address = f->address,
				.object = specs[i].object,
			};
		}
	*ret_custom = custom;
	return 0;
}

int custom_allocators_copy(const struct custom_function *functions, size_t n,
			   struct custom_allocators **ret_custom)
{
	struct custom_allocators *custom =
		calloc(1, sizeof(*custom) + n * sizeof(custom->functions[0]));

	if (!custom)
		return -ENOMEM;
	custom->n = n;
	if (n)
		memcpy(custom->functions, functions, n * sizeof(*functions));
	*ret_custom = custom;
	return 0;
}

void custom_allocators_free(struct custom_allocators *custom)
{
	free(custom);
}

struct custom_function *custom_allocators_all(struct custom_allocators *custom, size_t *ret_n)
{
	*ret_n = custom ? custom->n : 0;
	return custom ? custom->functions : NULL;
}

bool custom_function_is_in(const struct custom_function *function, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!function->object)
		return true;
	if (!strchr(function->object, '/') && slash)
		path = slash + 1;
	return fnmatch(function->object, path, 0) == 0;
}
