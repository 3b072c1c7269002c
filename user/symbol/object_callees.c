/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/object_callees.h"

#include "elf/elf_file.h"
#include "probe/allocators.h"
#include "probe/callee.h"
#include "probe/insn.h"
#include "symbol/elf_image.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <string.h>

/* Longer than any allocator's. */
#define MAX_NAME 128

struct object_callees {
	const struct elf_image *image;
	const struct symbol_table *table;
	bool was_opened;
	struct elf_file *file;	      /* NULL: not needed yet, or of no use */
	struct insn_decoder *decoder; /* NULL: likewise */
	char name[MAX_NAME];	      /* of the latest function */
};

int object_callees_new(const struct elf_image *image, const struct symbol_table *table,
		       struct object_callees **ret_callees)
{
	struct object_callees *callees = calloc(1, sizeof(*callees));

	if (!callees)
		return -ENOMEM;
	callees->image = image;
	callees->table = table;
	*ret_callees = callees;
	return 0;
}

void object_callees_free(struct object_callees *callees)
{
	if (!callees)
		return;
	insn_decoder_free(callees->decoder);
	elf_file_free(callees->file);
	free(callees);
}

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return elf_file_read_text(((struct object_callees *)ctx)->file, addr, buf, len);
}

static const char *code_slot_name(void *ctx, uint64_t slot)
{
	return elf_file_slot_symbol(((struct object_callees *)ctx)->file, slot);
}

static const char *code_function(void *ctx, uint64_t addr, uint64_t *ret_end)
{
	struct object_callees *callees = ctx;
	const struct table_symbol *symbol = symbol_table_find(callees->table, addr);
	size_t len;

	if (!symbol || symbol->is_label || symbol->start != addr)
		return NULL;
	len = symbol->name_len < MAX_NAME ? symbol->name_len : MAX_NAME - 1;
	memcpy(callees->name, symbol->name, len);
	callees->name[len] = '\0';
	*ret_end = symbol->end;
	return callees->name;
}

/* What cannot be opened has no calls that are known. */
static bool open_code(struct object_callees *callees)
{
	int fd = elf_image_fd(callees->image);

	if (!callees->was_opened && fd >= 0 &&
	    elf_file_new_without_symbols(fd, &callees->file) == 0)
		(void)insn_decoder_new(elf_file_machine(callees->file), &callees->decoder);
	callees->was_opened = true;
	return callees->file && callees->decoder;
}

const char *object_callees_find(struct object_callees *callees, uint64_t return_vaddr)
{
	const struct callee_code code = { callees, code_read, code_slot_name, code_function };
	const struct allocator_function *function;

	if (!open_code(callees))
		return NULL;
	function = callee_find(callees->decoder, &code, return_vaddr);
	/* It may have been written to since it was opened. */
	return function && elf_image_is_unchanged(callees->image) ? function->name : NULL;
}
