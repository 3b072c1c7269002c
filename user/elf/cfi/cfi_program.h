/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the instructions of CIEs and FDEs, for the registers that stacks are unwound with.
 * Internal to elf/cfi/.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_PROGRAM_H
#define MEMTRACED_ELF_CFI_CFI_PROGRAM_H

#include "elf/cfi/cfi_entry.h"

/* DWARF's numbers of x86-64 (psABI, figure 3.36), and of arm64 (AADWARF64, 4.1). */
enum { CFI_RBX = 3, CFI_RDI = 5, CFI_RBP = 6, CFI_RSP = 7, CFI_RIP = 16, CFI_X30 = 30 };

enum cfi_how {
	CFI_UNSPECIFIED, /* the same value; of the CFA: not there */
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,	    /* *(CFA + offset); of the CFA: reg + offset */
	CFI_VAL_OFFSET,	    /* CFA + offset */
	CFI_REGISTER,	    /* in `reg` */
	CFI_EXPRESSION,	    /* *(expression); of the CFA: expression */
	CFI_VAL_EXPRESSION, /* expression */
};

struct cfi_place {
	enum cfi_how how;
	uint64_t reg;
	int64_t offset;
	const uint8_t *expression;
	size_t expression_len;
};

struct cfi_state {
	struct cfi_place cfa, rbx, rbp, rsp, ra; /* ra: the return address, of any machine */
};

/*
 * Told the state that holds from `pc` up to the next call's; returns 0 or an error, which ends the
 * program. Addresses ascend; that of two equal ones the second holds.
 */
typedef int cfi_emit_fn(void *ctx, uint64_t pc, const struct cfi_state *state);

/*
 * 0; -EBADMSG: damaged, what was emitted up to there holds; or what `emit` returned.
 * cfi_run_cie() leaves in *state what FDEs start with.
 */
int cfi_run_cie(const struct cfi_section *section, const struct cfi_cie *cie,
		struct cfi_state *ret_state);
int cfi_run_fde(const struct cfi_section *section, const struct cfi_cie *cie,
		const struct cfi_state *initial, const struct cfi_fde *fde, cfi_emit_fn *emit,
		void *ctx);

#endif
