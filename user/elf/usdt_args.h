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

/*
 * Reads the first `max` arguments of `text`, of a file for that machine (e_machine); what follows
 * them is not looked at. How many there are, up to `max`, or -EINVAL: an operand of a form that
 * nothing can evaluate (relative to rip, in a segment, a float), or none at all; -EOPNOTSUPP:
 * another machine.
 */
int usdt_args_parse(const char *text, uint16_t machine, struct abi_usdt_arg *ret_args, size_t max);

#endif
