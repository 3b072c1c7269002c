/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/book_probe.h"

#include "elf/elf_file.h"
#include "elf/usdt.h"

#include <errno.h>
#include <string.h>

#define PROVIDER "memtraced"
#define NAME "book"

static int find_variable(void *userdata, const char *name, uint64_t *ret_vaddr)
{
	(void)userdata, (void)name, (void)ret_vaddr;
	return -ENOENT;
}

static int read_probe(const struct elf_file *file, const struct usdt_probe *usdt,
		      struct book_probe *ret_probe)
{
	const struct usdt_globals globals = { usdt->vaddr, find_variable, NULL };
	int n = usdt_args_parse(usdt->args, elf_file_machine(file), &globals, &ret_probe->fd, 1);

	if (n != 1)
		return n < 0 ? n : -ENOENT;
	ret_probe->offset = usdt->offset;
	ret_probe->semaphore_offset = usdt->semaphore_offset;
	return 0;
}

int book_probe_find(int fd, struct book_probe *ret_probe)
{
	_cleanup_(usdt_notes_done) struct usdt_notes notes = { 0 };
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	int r = elf_file_new(fd, &file);

	if (r == 0)
		r = usdt_notes_read(file, PROVIDER, &notes);
	for (size_t i = 0; r == 0 && i < notes.n; i++)
		if (strcmp(notes.probes[i].name, NAME) == 0)
			return read_probe(file, &notes.probes[i], ret_probe);
	return r ? r : -ENOENT;
}
