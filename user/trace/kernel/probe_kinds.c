/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/probe_kinds.h"

#define MEMBER(name) offsetof(struct plan_emulation, name)

#ifdef __aarch64__

/* Little endian, four bytes an instruction. */
#define WORD(w) (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (unsigned)(w) >> 24
#define RET WORD(0xd65f03c0)

/* What is simulated everywhere: arch/arm64/kernel/probes/decode-insn.c. */
static const struct probe_kind kinds[] = {
	{ "tst", { WORD(0xea00001f), RET }, 0, false, -1 },
	{ "b", { WORD(0x14000001), RET }, 0, true, MEMBER(jmp) },
	{ "cbz", { WORD(0xb4000020), RET }, 0, true, MEMBER(jcc) },
	/* mov x9, x30; bl to the next instruction; mov x30, x9 */
	{ "bl",
	  { WORD(0xaa1e03e9), WORD(0x94000001), WORD(0xaa0903fe), RET },
	  4,
	  true,
	  MEMBER(call) },
	{ "ret", { RET }, 0, true, MEMBER(ret) },
	{ "adr", { WORD(0x10000009), RET }, 0, true, MEMBER(adr) },
	{ "nop", { WORD(0xd503201f), RET }, 0, false, MEMBER(nop1) },
	{ "bti", { WORD(0xd503245f), RET }, 0, false, MEMBER(endbr) },
	/* stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16 */
	{ "stp", { WORD(0xa9bf7bfd), WORD(0xa8c17bfd), RET }, 0, false, MEMBER(push) },
	{ "sub sp", { WORD(0xd10043ff), WORD(0x910043ff), RET }, 0, false, MEMBER(sub_sp) },
	{ "mov", { WORD(0xaa0003e9), RET }, 0, false, MEMBER(mov) },
};

#else

/* What is emulated everywhere: arch/x86/kernel/uprobes.c. */
static const struct probe_kind kinds[] = {
	{ "test", { 0x85, 0xff, 0xc3 }, 0, false, -1 },
	{ "nop", { 0x90, 0xc3 }, 0, true, MEMBER(nop1) },
	{ "push", { 0x55, 0x5d, 0xc3 }, 0, true, MEMBER(push) },
	{ "long nop", { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3 }, 0, false, MEMBER(nopl) },
	{ "jmp", { 0xeb, 0x00, 0xc3 }, 0, true, MEMBER(jmp) },
	{ "jcc", { 0x74, 0x00, 0xc3 }, 0, true, MEMBER(jcc) },
	/* call to the next instruction, which drops the return address */
	{ "call", { 0xe8, 0x00, 0x00, 0x00, 0x00, 0x58, 0xc3 }, 0, true, MEMBER(call) },
	{ "ret", { 0xc3 }, 0, false, MEMBER(ret) },
	{ "endbr", { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 }, 0, false, MEMBER(endbr) },
	{ "sub sp",
	  { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3 },
	  0,
	  false,
	  MEMBER(sub_sp) },
	{ "mov", { 0x48, 0x89, 0xf8, 0xc3 }, 0, false, MEMBER(mov) },
};

#endif

const struct probe_kind *probe_kinds(size_t *ret_n)
{
	*ret_n = sizeof(kinds) / sizeof(kinds[0]);
	return kinds;
}
