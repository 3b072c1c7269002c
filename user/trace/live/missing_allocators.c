/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --allocator names and no file has. */
#include "config/near_name.h"
#include "elf/elf_file.h"
#include "probe/custom_allocators.h"
#include "trace/live/live.h"
#include "trace/live/live_process.h"

#include <string.h>

static void offer_symbols(const struct object *object, struct near_names *near)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	const struct elf_symbol *symbols;
	const char *last = "";
	size_t n;

	if (elf_file_new(object_fd(object), &elf))
		return; /* changed since, or no ELF file: nothing comes near in it */
	symbols = elf_file_symbols(elf, &n);
	for (size_t i = 0; i < n; i++) {
		bool again = strcmp(last, symbols[i].name) == 0; /* .dynsym and .symtab */

		last = symbols[i].name;
		for (size_t k = 0; k < near->n; k++)
			again |= strcmp(near->best[k].shown, last) == 0;
		if (!again)
			near_names_offer(near, last, last);
	}
}

static int say_missing(const struct live *live, const struct custom_function *f,
		       struct strbuf *text)
{
	struct near_names near;
	size_t n_files = 0;

	near_names_init(&near, f->row.name);
	for (size_t i = 0; i < objects_count(live->objects); i++) {
		const struct object *object = objects_at(live->objects, i);

		if (!custom_function_is_in(f, object_path(object)))
			continue;
		n_files++;
		if (!f->address)
			offer_symbols(object, &near);
	}
	strbuf_addf(text, "--allocator: %s was not found: ", f->row.name);
	if (!n_files)
		strbuf_addf(text, "no file named %s was mapped", f->object ? f->object : "so");
	else
		strbuf_addf(text, "no such symbol in %s%s", f->object ? f->object : "any file",
			    near.n ? "; near it come " : "");
	for (size_t i = 0; i < near.n; i++)
		strbuf_addf(text, "%s%s", i ? ", " : "", near.best[i].shown);
	strbuf_addf(text, "\n");
	return strbuf_error(text);
}

int live_missing_allocators(const struct live *live, struct strbuf *ret_text)
{
	size_t n;
	const struct custom_function *all = custom_allocators_all(live->custom, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (!all[i].found)
			r = say_missing(live, &all[i], ret_text);
	return r;
}

const char *live_opaque_executable(const struct live *live)
{
	for (size_t i = 0; i < objects_count(live->objects); i++)
		if (object_is_opaque(objects_at(live->objects, i)))
			return object_path(objects_at(live->objects, i));
	return NULL;
}
