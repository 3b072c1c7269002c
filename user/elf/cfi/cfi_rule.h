/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A state of call frame information as a rule of bpf/abi_unwind.h. Internal to elf/cfi/. */
#ifndef MEMTRACED_ELF_CFI_CFI_RULE_H
#define MEMTRACED_ELF_CFI_CFI_RULE_H

#include "elf/cfi/cfi_program.h"
#include "elf/cfi/cfi_rows.h"

/*
 * What no rule can say becomes ABI_UNWIND_UNSUPPORTED, and is counted in `lost`. `with_rbx`: it is
 * said where rbx is, too, by which there are more rules.
 */
struct abi_unwind_rule cfi_rule(const struct cfi_cie *cie, const struct cfi_state *state,
				bool with_rbx, uint32_t lost[CFI_LOSSES]);

#endif
