/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/usdt_notes.h"

#include "base/vec.h"
#include "elf/elf_file.h"
#include "elf/elf_sections.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
/* qemu, with more probes than others, has 100 KiB of them. */
#define MAX_BYTES (4U << 20)
/* Of one provider: OpenTelemetry's has two probes, which may be in some functions' copies. */
#define MAX_PROBES 256
/* Notes are in multiples of four bytes. */
#define PADDED(n) (((uint64_t)(n) + 3) & ~UINT64_C(3))

/* A note's contents: three addresses, then provider, name and arguments. */
struct description {
	uint64_t pc, base, semaphore;
	const char *provider, *name, *args;
};

/* The string at *at, which goes to the next one; NULL: it has no end. */
static const char *take_string(const uint8_t **at, const uint8_t *end)
{
	const char *string = (const char *)*at;
	const uint8_t *zero = memchr(*at, '\0', (size_t)(end - *at));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return string;
}

static bool describe(const uint8_t *bytes, size_t len, struct description *ret)
{
	const uint8_t *at = bytes + 3 * sizeof(uint64_t), *end = bytes + len;

	if (len < 3 * sizeof(uint64_t))
		return false;
	memcpy(&ret->pc, bytes, sizeof(ret->pc));
	memcpy(&ret->base, bytes + 8, sizeof(ret->base));
	memcpy(&ret->semaphore, bytes + 16, sizeof(ret->semaphore));
	ret->provider = take_string(&at, end);
	ret->name = ret->provider ? take_string(&at, end) : NULL;
	ret->args = ret->name ? take_string(&at, end) : NULL;
	return ret->args;
}

/*
 * Where the section .stapsdt.base is: a program that moved the file's addresses (prelink) did not
 * change the notes, which say where it was.
 */
static uint64_t base_of(struct elf_file *file)
{
	struct elf_section base;

	if (elf_section_read(file, ".stapsdt.base", 4096, &base))
		return 0;
	free(base.bytes);
	return base.vaddr;
}

/* False: it points to no code, or its counter into nothing. */
static bool locate(struct elf_file *file, const struct description *d, uint64_t base,
		   struct usdt_probe *ret)
{
	uint64_t moved = base && d->base ? base - d->base : 0;
	uint8_t byte;

	if (elf_file_read_text(file, d->pc + moved, &byte, 1) != 1 ||
	    elf_file_offset_of(file, d->pc + moved, &ret->offset))
		return false;
	ret->name = d->name;
	ret->args = d->args;
	ret->vaddr = d->pc + moved;
	ret->semaphore_offset = 0;
	return !d->semaphore ||
	       elf_file_offset_of(file, d->semaphore + moved, &ret->semaphore_offset) == 0;
}

typedef VEC(struct usdt_probe) probe_list;

static int add_note(struct elf_file *file, const Elf64_Nhdr *head, const uint8_t *name,
		    const char *provider, uint64_t base, probe_list *probes)
{
	struct description d;
	struct usdt_probe probe;

	if (head->n_type != NOTE_TYPE || head->n_namesz != sizeof(NOTE_NAME) ||
	    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0 ||
	    !describe(name + PADDED(head->n_namesz), head->n_descsz, &d) ||
	    strcmp(d.provider, provider) != 0 || !locate(file, &d, base, &probe))
		return 0;
	return vec_push(probes, probe);
}

int usdt_notes_read(struct elf_file *file, const char *provider, struct usdt_notes *ret_notes)
{
	struct elf_section section = { 0 };
	probe_list probes = { 0 };
	uint64_t base, at = 0;
	int r = elf_section_read(file, ".note.stapsdt", MAX_BYTES, &section);

	*ret_notes = (struct usdt_notes){ 0 };
	if (r)
		return r == -ENOMEM ? r : 0;
	base = base_of(file);
	while (r == 0 && probes.len < MAX_PROBES && section.len - at >= sizeof(Elf64_Nhdr)) {
		const uint8_t *name = section.bytes + at + sizeof(Elf64_Nhdr);
		Elf64_Nhdr head;
		uint64_t size;

		memcpy(&head, section.bytes + at, sizeof(head));
		size = sizeof(head) + PADDED(head.n_namesz) + PADDED(head.n_descsz);
		if (size > section.len - at)
			break;
		r = add_note(file, &head, name, provider, base, &probes);
		at += size;
	}
	ret_notes->n = probes.len;
	ret_notes->probes = probes.data;
	ret_notes->bytes = section.bytes;
	if (r)
		usdt_notes_done(ret_notes);
	return r;
}

void usdt_notes_done(struct usdt_notes *notes)
{
	free(notes->probes);
	free(notes->bytes);
	*notes = (struct usdt_notes){ 0 };
}
