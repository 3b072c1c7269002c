/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "probe/allocators.h"
#include "probe/insn.h"
#include "probe/insn_types.h"
#include "probe/sites.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ADDR 0x1000
#define X(n) (uint8_t)(1 << (n))

static int setup(void **state)
{
	struct insn_decoder *decoder;

	if (insn_decoder_new(EM_AARCH64, &decoder) < 0)
		return -1;
	*state = decoder;
	return 0;
}

static int teardown(void **state)
{
	insn_decoder_free(*state);
	return 0;
}

static void decode(void **state, uint32_t word, struct insn *ret_insn)
{
	assert_int_equal(insn_decode(*state, (const uint8_t *)&word, sizeof(word), ADDR, ret_insn),
			 0);
	assert_int_equal(ret_insn->len, 4);
}

static void the_way_on_and_its_target_are_known(void **state)
{
	static const struct {
		const char *what;
		uint32_t word;
		enum insn_flow flow;
		enum insn_target kind;
		uint64_t target;
	} cases[] = {
		{ "ret", 0xd65f03c0, INSN_RETURN, INSN_TARGET_NONE, 0 },
		{ "ret x1", 0xd65f0020, INSN_JUMP, INSN_TARGET_COMPUTED, 0 },
		{ "br x1", 0xd61f0020, INSN_JUMP, INSN_TARGET_COMPUTED, 0 },
		{ "blr x1", 0xd63f0020, INSN_CALL, INSN_TARGET_COMPUTED, 0 },
		{ "b +8", 0x14000002, INSN_JUMP, INSN_TARGET_DIRECT, ADDR + 8 },
		{ "b -4", 0x17ffffff, INSN_JUMP, INSN_TARGET_DIRECT, ADDR - 4 },
		{ "bl +16", 0x94000004, INSN_CALL, INSN_TARGET_DIRECT, ADDR + 16 },
		{ "b.eq +8", 0x54000040, INSN_BRANCH, INSN_TARGET_DIRECT, ADDR + 8 },
		{ "cbz x0, +12", 0xb4000060, INSN_BRANCH, INSN_TARGET_DIRECT, ADDR + 12 },
		{ "tbnz w3, #2, -8", 0x3717ffc3, INSN_BRANCH, INSN_TARGET_DIRECT, ADDR - 8 },
		{ "brk", 0xd4200020, INSN_TRAP, INSN_TARGET_NONE, 0 },
		{ "hlt", 0xd4400020, INSN_TRAP, INSN_TARGET_NONE, 0 },
		{ "svc", 0xd4000001, INSN_NEXT, INSN_TARGET_NONE, 0 },
		{ "stp", 0xa9be7bfd, INSN_NEXT, INSN_TARGET_NONE, 0 },
		{ "paciasp", 0xd503233f, INSN_NEXT, INSN_TARGET_NONE, 0 },
		/* Capstone 4 does not know these. */
		{ "ldg x0, [x0]", 0xd9600000, INSN_NEXT, INSN_TARGET_NONE, 0 },
		{ "udf", 0x00000000, INSN_TRAP, INSN_TARGET_NONE, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		print_message("%s\n", cases[i].what);
		decode(state, cases[i].word, &insn);
		assert_int_equal(insn.flow, cases[i].flow);
		assert_int_equal(insn.target_kind, cases[i].kind);
		assert_int_equal(insn.target, cases[i].target);
	}
}

static void what_an_instruction_writes_is_known_or_feared(void **state)
{
	static const struct {
		const char *what;
		uint32_t word;
		bool is_plain;
		uint8_t writes;
	} cases[] = {
		{ "cmp x0, #0", 0xf100001f, true, 0 },
		{ "tst x1, x1", 0xea01003f, true, 0 },
		{ "bti c", 0xd503245f, true, 0 },
		{ "nop", 0xd503201f, true, 0 },
		{ "mov x9, x0", 0xaa0003e9, true, 0 },
		{ "mov x0, x9", 0xaa0903e0, true, X(0) },
		{ "mov w2, #1", 0x52800022, true, X(2) },
		{ "adrp x3", 0x90000003, true, X(3) },
		{ "ldr x0, [x0]", 0xf9400000, true, X(0) },
		{ "ldr x4, [sp, #8]", 0xf94007e4, true, X(4) },
		{ "str x1, [x0]", 0xf9000001, true, 0 },
		{ "csel x5, x0, x1, eq", 0x9a810005, true, X(5) },
		{ "add x6, x6, #1", 0x910004c6, true, X(6) },
		{ "mov x29, sp", 0x910003fd, true, 0 },
		{ "mrs x8, tpidr_el0", 0xd53bd048, true, 0 },
		{ "ldr x1, [x2], #8", 0xf8408441, false, 0 },
		{ "stp x29, x30, [sp, #-32]!", 0xa9be7bfd, false, 0 },
		{ "sub sp, sp, #16", 0xd10043ff, false, 0 },
		{ "mov sp, x0", 0x9100001f, false, 0 },
		{ "ldp x0, x1, [x2]", 0xa9400440, false, 0 },
		/* What becomes of the return address must be seen by a return probe. */
		{ "paciasp", 0xd503233f, false, 0 },
		{ "mov x9, x30", 0xaa1e03e9, false, 0 },
		{ "str x30, [x0]", 0xf900001e, false, 0 },
		{ "ldg x0, [x0]", 0xd9600000, false, 0 },
		{ "ldxr x0, [x1]", 0xc85f7c20, false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		print_message("%s\n", cases[i].what);
		decode(state, cases[i].word, &insn);
		assert_int_equal(insn.is_plain, cases[i].is_plain);
		if (cases[i].is_plain)
			assert_int_equal(insn.writes_args, cases[i].writes);
	}
}

static void the_kernel_s_classes_follow_its_own_rules(void **state)
{
	static const struct {
		const char *what;
		uint32_t word;
		enum insn_class class;
	} cases[] = {
		{ "nop", 0xd503201f, INSN_CLASS_NOP1 },
		{ "bti c", 0xd503245f, INSN_CLASS_ENDBR },
		{ "bti j", 0xd503249f, INSN_CLASS_ENDBR },
		{ "paciasp", 0xd503233f, INSN_OTHER },
		{ "b", 0x14000002, INSN_CLASS_JMP },
		{ "bl", 0x94000004, INSN_CLASS_CALL },
		{ "b.eq", 0x54000040, INSN_CLASS_JCC },
		{ "cbz", 0xb4000060, INSN_CLASS_JCC },
		{ "tbnz", 0x3717ffc3, INSN_CLASS_JCC },
		{ "ret", 0xd65f03c0, INSN_CLASS_RET },
		{ "ret x1", 0xd65f0020, INSN_OTHER },
		{ "adr", 0x10000049, INSN_CLASS_ADR },
		{ "adrp", 0x90000003, INSN_CLASS_ADR },
		{ "stp x29, x30, [sp, #-32]!", 0xa9be7bfd, INSN_CLASS_PUSH },
		{ "stp x29, x30, [sp, #16]", 0xa9017bfd, INSN_OTHER },
		{ "sub sp, sp, #16", 0xd10043ff, INSN_CLASS_SUB_SP },
		{ "mov x9, x0", 0xaa0003e9, INSN_CLASS_MOV },
		{ "cmp x0, #0", 0xf100001f, INSN_OTHER },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct insn insn;

		print_message("%s\n", cases[i].what);
		decode(state, cases[i].word, &insn);
		assert_int_equal(insn.class, cases[i].class);
	}
}

/* adrp x16, +1 page; ldr x17, [x16, #0x18]; add x16, x16, #0x18; br x17 */
#define STUB 0xb0000010, 0xf9400e11, 0x91006210, 0xd61f0220
#define SLOT (ADDR + 0x1018)

static void linkage_stubs_are_recognised(void **state)
{
	static const struct {
		const char *what;
		uint32_t words[5];
		size_t len;
		uint64_t slot; /* 0: no stub */
	} cases[] = {
		{ ".plt", { STUB }, 16, SLOT },
		{ ".plt with bti", { 0xd503245f, STUB }, 20, SLOT },
		/* adrp x16, -1 page */
		{ "page before",
		  { 0xf0fffff0, 0xf9400e11, 0x91006210, 0xd61f0220 },
		  16,
		  ADDR - 0x1000 + 0x18 },
		{ "cut", { STUB }, 12, 0 },
		{ "with bti, cut", { 0xd503245f, STUB }, 16, 0 },
		{ "a call", { 0xb0000010, 0xf9400e11, 0x91006210, 0xd63f0220 }, 16, 0 },
		{ "other code", { 0xd65f03c0, STUB }, 20, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t slot = 0;
		bool is_stub;

		print_message("%s\n", cases[i].what);
		is_stub = insn_stub_slot(*state, (const uint8_t *)cases[i].words, cases[i].len,
					 ADDR, &slot);
		assert_int_equal(is_stub, cases[i].slot != 0);
		assert_int_equal(slot, cases[i].slot);
	}
}

/* --- sites of whole functions, at ADDR; a stub for malloc stands behind them ------------------ */

#define WORDS 16
#define STUB_AT 12

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	if (addr < ADDR || addr >= ADDR + 4 * WORDS)
		return 0;
	if (len > ADDR + 4 * WORDS - addr)
		len = ADDR + 4 * WORDS - addr;
	memcpy(buf, (const char *)ctx + (addr - ADDR), len);
	return len;
}

static const char *code_slot_name(void *ctx, uint64_t slot)
{
	(void)ctx;
	return slot == SLOT ? "malloc" : NULL;
}

static const char *code_function_name(void *ctx, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	return NULL;
}

static bool code_starts_function(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr == ADDR;
}

static uint64_t code_landing_pad(void *ctx, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	return 0;
}

#define RET 0xd65f03c0
#define CBZ_X0_8 0xb4000040

static const struct {
	const char *what, *function;
	uint32_t words[STUB_AT];
	uint64_t entry;
	bool emulated;
	uint64_t exits[3]; /* word numbers; 0 behind the last */
	bool proven;
} site_cases[] = {
	{ "free: cbz first", "free", { CBZ_X0_8, RET, RET }, 0, true, { 1, 2 }, true },
	{ "cmp, mov, cbz",
	  "free",
	  { 0xf100001f, 0xaa0003e9, CBZ_X0_8, RET, RET },
	  2,
	  true,
	  { 3, 4 },
	  true },
	{ "bti c, cbz", "malloc", { 0xd503245f, CBZ_X0_8, RET, RET }, 1, true, { 2, 3 }, true },
	{ "paciasp: no further",
	  "malloc",
	  { 0xd503233f, CBZ_X0_8, RET, RET },
	  0,
	  false,
	  { 2, 3 },
	  true },
	{ "the return address is put aside",
	  "malloc",
	  { 0xaa1e03e9, CBZ_X0_8, RET, RET },
	  0,
	  false,
	  { 2, 3 },
	  true },
	{ "a frame first", "malloc", { 0xa9be7bfd, CBZ_X0_8, RET, RET }, 0, false, { 2, 3 }, true },
	{ "the argument goes",
	  "malloc",
	  { 0x52800020, CBZ_X0_8, RET, RET },
	  0,
	  false,
	  { 2, 3 },
	  true },
	{ "adrp is a site", "malloc", { 0xf100001f, 0x90000009, RET }, 1, true, { 2 }, true },
	{ "retaa cannot be probed",
	  "malloc",
	  { CBZ_X0_8, 0xd65f0bff, RET },
	  0,
	  true,
	  { 2 },
	  false },
	{ "br x1", "malloc", { CBZ_X0_8, 0xd61f0020, RET }, 0, true, { 2 }, false },
	/* calloc: b to the stub of malloc, in word 12 */
	{ "a jump to another allocator",
	  "calloc",
	  { CBZ_X0_8, 0x1400000b, RET },
	  0,
	  true,
	  { 2 },
	  true },
};

static void functions_are_probed_where_their_returns_can_be_seen(void **state)
{
	static const struct plan_emulation kernel = {
		.jmp = true, .jcc = true, .call = true, .ret = true, .adr = true
	};

	for (size_t i = 0; i < sizeof(site_cases) / sizeof(site_cases[0]); i++) {
		uint32_t words[WORDS] = { [STUB_AT] = STUB };
		const struct sites_code code = {
			.ctx = words,
			.read = code_read,
			.slot_name = code_slot_name,
			.function_name = code_function_name,
			.starts_function = code_starts_function,
			.landing_pad = code_landing_pad,
		};
		_cleanup_(sites_done) struct sites sites = { 0 };
		size_t n = 0;

		print_message("%s\n", site_cases[i].what);
		memcpy(words, site_cases[i].words, sizeof(site_cases[i].words));
		assert_int_equal(sites_find(*state, &code,
					    allocator_function_find(site_cases[i].function), ADDR,
					    &kernel, &sites),
				 0);
		assert_int_equal((sites.entry_site - ADDR) / 4, site_cases[i].entry);
		assert_int_equal(sites.entry_emulated, site_cases[i].emulated);
		assert_int_equal(!sites.why_no_exits, site_cases[i].proven);
		for (; n < 3 && site_cases[i].exits[n]; n++)
			assert_int_equal((sites.exits.data[n] - ADDR) / 4, site_cases[i].exits[n]);
		assert_int_equal(sites.exits.len, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_way_on_and_its_target_are_known),
		cmocka_unit_test(what_an_instruction_writes_is_known_or_feared),
		cmocka_unit_test(the_kernel_s_classes_follow_its_own_rules),
		cmocka_unit_test(linkage_stubs_are_recognised),
		cmocka_unit_test(functions_are_probed_where_their_returns_can_be_seen),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
