/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What insn.c asks of each machine: what capstone's decoding means for probes, and which code is a
 * linkage stub. For insn.c alone.
 */
#ifndef MEMTRACED_PROBE_INSN_MACHINE_H
#define MEMTRACED_PROBE_INSN_MACHINE_H

#include "probe/insn_effect.h"
#include "probe/insn_types.h"

#include <capstone/capstone.h>
#include <stddef.h>

/* Fill what is not known yet: all but addr and len. */
void insn_classify_x86(const cs_insn *cs, struct insn *insn);
void insn_classify_arm64(const cs_insn *cs, struct insn *insn);

/* As insn_effect(), into what says that nothing happens. */
void insn_effect_x86(const cs_insn *cs, struct insn_effect *effect);

/*
 * Whether an instruction that capstone does not know (version 4 has no memory tagging) is one of
 * those that go on with the next one, or a trap; fills all but addr then.
 */
bool insn_classify_unknown_arm64(const uint8_t *bytes, size_t len, struct insn *insn);

/* As insn_stub_slot(), of code that is not just one jump. */
bool insn_stub_slot_arm64(const uint8_t *bytes, size_t len, uint64_t addr, uint64_t *ret_slot);

#endif
