/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One machine instruction, as far as the choice of probe sites needs to know it. All that is
 * particular to a machine, x86-64 or arm64, is behind this header. A decoder may be used by one
 * thread at a time.
 */
#ifndef MEMTRACED_PROBE_INSN_H
#define MEMTRACED_PROBE_INSN_H

#include "base/cleanup.h"
#include "probe/insn_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_emulation;
struct insn_decoder;

/* The e_machine that this program is built for, and its kernel puts probes into. */
#ifdef __aarch64__
#define INSN_NATIVE_MACHINE 183 /* EM_AARCH64 */
#else
#define INSN_NATIVE_MACHINE 62 /* EM_X86_64 */
#endif

/* `machine` as in e_machine. 0, -ENOMEM, or -EOPNOTSUPP for a machine that is not known. */
int insn_decoder_new(uint16_t machine, struct insn_decoder **ret_decoder);
void insn_decoder_free(struct insn_decoder *decoder); /* NULL is legal */
DEFINE_CLEANUP(struct insn_decoder, insn_decoder_free)

/* 0, or -EILSEQ where `bytes` does not start with an instruction that is whole and known. */
int insn_decode(struct insn_decoder *decoder, const uint8_t *bytes, size_t len, uint64_t addr,
		struct insn *ret_insn);

/* Whether the kernel described by `emulation` needs no single step for it. */
bool insn_is_emulated(const struct insn *insn, const struct plan_emulation *emulation);

/* Whether the code at `addr` is a linkage stub, all of which is a jump through one pointer. */
bool insn_stub_slot(struct insn_decoder *decoder, const uint8_t *bytes, size_t len, uint64_t addr,
		    uint64_t *ret_slot);

#endif
