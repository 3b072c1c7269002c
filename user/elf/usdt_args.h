/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Argument descriptors of USDT probes: "8@%rdi -4@$5 8@-16(%rbp)", size and place as the assembler
 * writes operands, which systemtap's sys/sdt.h leaves in a note. They become what bpf/usdt.bpf.h
 * evaluates. Pure functions of their input, which is not trusted.
 */
#ifndef MEMTRACED_ELF_USDT_ARGS_H
#define MEMTRACED_ELF_USDT_ARGS_H

#include "bpf/abi_sample.h"

#include <stddef.h>
#include <stdint.h>

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
