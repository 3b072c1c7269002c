/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The USDT probes of a file: .note.stapsdt, as systemtap's sys/sdt.h writes it
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */
#ifndef MEMTRACED_ELF_USDT_NOTES_H
#define MEMTRACED_ELF_USDT_NOTES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;

struct usdt_probe {
	const char *name;	/* as the arguments, borrowed from struct usdt_notes */
	const char *args;	/* descriptors: elf/usdt_args.h */
	uint64_t vaddr, offset; /* of the instruction, and in the file */
	/* Of the counter of who listens, 16 bits; 0: there is none, the probe always fires. */
	uint64_t semaphore_offset;
};

struct usdt_notes {
	size_t n;
	struct usdt_probe *probes;
	uint8_t *bytes; /* of the section */
};

/*
 * The probes of one provider, in the order of the notes. 0, also without any (what is damaged ends
 * the list); -ENOMEM.
 */
int usdt_notes_read(struct elf_file *file, const char *provider, struct usdt_notes *ret_notes);
void usdt_notes_done(struct usdt_notes *notes);

#endif
