/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The USDT probes of a file: .note.stapsdt, as systemtap's sys/sdt.h writes it
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */
#ifndef MEMTRACED_ELF_USDT_H
#define MEMTRACED_ELF_USDT_H

#include "bpf/abi_sample.h"

#include <stddef.h>
#include <stdint.h>

struct elf_file;

struct usdt_probe {
	const char *name;	/* as the arguments, borrowed from struct usdt_notes */
	const char *args;	/* descriptors, for usdt_args_parse() */
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

/*
 * Argument descriptors of USDT probes: "8@%rdi -4@$5 8@-16(%rbp)", size and place as the assembler
 * writes operands, which systemtap's sys/sdt.h leaves in a note. They become what bpf/usdt.bpf.h
 * evaluates. Pure functions of their input, which is not trusted.
 */

/* What operands relative to rip need: "counter+8(%rip)" names a variable of the file. */
struct usdt_globals {
	uint64_t vaddr; /* of the probe, in the file */
	/* Where the variable is: 0 or a negative errno. */
	int (*find)(void *userdata, const char *name, uint64_t *ret_vaddr);
	void *userdata;
};

/*
 * Reads the first `max` arguments of `text`, of a file for that machine (e_machine); what follows
 * them is not looked at. How many there are, up to `max`, or -EINVAL: an operand of a form that
 * nothing can evaluate (in a segment, a float), or none at all; -EOPNOTSUPP: another machine; what
 * globals->find said.
 */
int usdt_args_parse(const char *text, uint16_t machine, const struct usdt_globals *globals,
		    struct abi_usdt_arg *ret_args, size_t max);

/* A variable of eight bytes that is so far from the probe: of the machine that this runs on. */
struct abi_usdt_arg usdt_args_variable(int64_t distance);

#endif
