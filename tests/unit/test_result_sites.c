/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/result_sites.h"

#include "base/cleanup.h"
#include "code_image.h"
#include "decoder_fixture.h"
#include "probe/allocators.h"
#include "probe/callee_facts.h"
#include "probe/insn_types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MOV_RAX_AT_RDI 0x48, 0x8b, 0x07
#define MOV_RBX_RDI 0x48, 0x89, 0xfb
#define MOV_RCX_RAX 0x48, 0x89, 0xc1
#define MOV_RAX_RCX 0x48, 0x89, 0xc8
#define TEST_RAX 0x48, 0x85, 0xc0
#define TEST_RSI 0x48, 0x85, 0xf6
#define ZERO_EAX 0x31, 0xc0
#define ZERO_EDI 0x31, 0xff
#define JNE(distance) 0x75, distance
#define JS(distance) 0x78, distance
#define SUB_RSP(n) 0x48, 0x83, 0xec, n
#define ADD_RSP(n) 0x48, 0x83, 0xc4, n
#define STORE_RDI_AT_RSP(n) 0x48, 0x89, 0x7c, 0x24, n
#define STORE_0_AT_RSP(n) 0x48, 0xc7, 0x44, 0x24, n, 0, 0, 0, 0
#define LEA_RSI_RSP(n) 0x48, 0x8d, 0x74, 0x24, n
#define STORE_RSI_AT_RDX 0x48, 0x89, 0x32
#define STORE_RCX_AT_R8 0x49, 0x89, 0x08
#define MOV_RAX_AT_RSI 0x48, 0x8b, 0x06
#define MOV_RAX_RDI 0x48, 0x89, 0xf8
#define MOV_RSI_RDI 0x48, 0x89, 0xfe
#define MOV_RDI_RAX 0x48, 0x89, 0xc7
#define MOV_RBX_RAX 0x48, 0x89, 0xc3
#define MUL_RSI 0x48, 0xf7, 0xe6
#define MUL_ESI 0xf7, 0xe6
#define MUL_RDI 0x48, 0xf7, 0xe7
#define ADD_1(to) 0x48, 0x83, to, 1 /* to RAX, RBX, ... */
#define SYSCALL 0x0f, 0x05
#define CALL_RAX 0xff, 0xd0
#define PUSH_RAX 0x50
#define POP_RAX 0x58

static const struct plan_emulation everyday = {
	.push = true, .nop1 = true, .jmp = true, .jcc = true, .call = true
};

/* struct pt_regs. */
enum { BP = 32, BX = 40, R8 = 72, AX = 80, CX = 88, SI = 104, DI = 112, SP = 152 };
/* Where functions that are called begin. */
enum { INNER = 0x40, DEEPER = 0x60 };
/* Operands of ADD_1. */
enum { RAX = 0xc0, RBX = 0xc3, RSI = 0xc6 };

#define AT(register_)                                                                              \
	{                                                                                          \
		.place = ABI_USDT_REGISTER, .reg = register_                                       \
	}
#define ON_STACK(distance)                                                                         \
	{                                                                                          \
		.place = ABI_USDT_MEMORY, .reg = SP, .value = distance                             \
	}
#define NOTHING                                                                                    \
	{                                                                                          \
		.place = ABI_USDT_CONSTANT                                                         \
	}

struct expected_site {
	uint64_t at;
	enum abi_result_kind kind;
	uint8_t condition;
	uint32_t sp_distance;
	struct abi_usdt_arg size, result;
	bool is_rare;
	struct abi_usdt_arg factor;
	uint64_t link; /* where what it is in returns to; 0: it is the function's own */
};

#define ALWAYS ABI_RESULT_ALWAYS
enum { IF_ZERO = 4, UNLESS_ZERO = 5 };

static const struct {
	const char *what, *function;
	uint64_t exit; /* of code that it leaves for; 0: none is asked for */
	uint8_t code[STUB_MALLOC];
	struct expected_site sites[4];
} proven[] = {
	{ "what it calls is quiet, and the size is there behind",
	  "malloc",
	  0,
	  { PUSH_RBX, MOV_RBX_RDI, CALL(4, LOCAL_HELPER), TEST_RAX, JE(0), POP_RBX, RET },
	  { { 12, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 } } },
	{ "what it calls is quiet but where the heap is damaged",
	  "malloc",
	  0,
	  { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
	    RET, [INNER] = MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, CALL(INNER + 9, STUB_ABORT) },
	  { { 12, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 } } },
	{ "its block is cleared by memset, which returns it",
	  "malloc",
	  0,
	  { PUSH_RBX, MOV_RBX_RDI, MOV_RAX_AT_RDI, TEST_RAX, JE(0), MOV_RDI_RAX, POP_RBX,
	    JMP(16, STUB_MEMSET) },
	  { { 10, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 } } },
	{ "the same by a call",
	  "malloc",
	  0,
	  { PUSH_RBX, MOV_RBX_RDI, MOV_RAX_AT_RDI, MOV_RDI_RAX, CALL(10, STUB_MEMSET), TEST_RAX,
	    JE(0), POP_RBX, RET },
	  { { 18, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 } } },
	{ "both numbers of a product are there",
	  "calloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(0), RET },
	  { { 6, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(AX), false, AT(SI), 0 } } },
	{ "their product is there",
	  "calloc",
	  0,
	  { PUSH_RBX, MOV_RAX_RDI, MUL_RSI, MOV_RBX_RAX, MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(0),
	    POP_RBX, RET },
	  { { 18, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 } } },
	{ "a product that is too large is told by both numbers",
	  "calloc",
	  0,
	  { PUSH_RBX, MOV_RAX_RDI, MUL_RSI, MOV_RBX_RAX, JS(12), MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX,
	    JE(0), POP_RBX, RET, ZERO_EAX, POP_RBX, RET },
	  { { 20, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 },
	    { 26, ABI_RESULT_WHOLE, ALWAYS, 8, AT(DI), NOTHING, true, AT(SI), 0 } } },
	{ "what is told the size makes the block, and calls on one way",
	  "malloc",
	  0,
	  { MOV_RSI_RDI, ZERO_EDI, CALL(5, INNER), RET, [INNER] = MOV_RAX_AT_RSI, TEST_RAX, JE(1),
	    RET, CALL(INNER + 9, STUB_MALLOC), TEST_RAX, JE(0), RET },
	  { { INNER + 6, ABI_RESULT_WHOLE, UNLESS_ZERO, 8, AT(SI), AT(AX), false, { 0 }, 10 },
	    { INNER + 9, ABI_RESULT_BEGINS, ALWAYS, 8, AT(SI), { 0 }, false, { 0 }, 10 },
	    { INNER + 17, ABI_RESULT_ENDS, ALWAYS, 8, { 0 }, AT(AX), false, { 0 }, 10 } } },
	{ "two calls of it, one of which is told in another register's place",
	  "malloc",
	  0,
	  { TEST_RDI, JE(9), MOV_RSI_RDI, CALL(8, INNER), RET, PUSH_RBX, MOV_RSI_RDI,
	    CALL(18, INNER), POP_RBX, RET, [INNER] = MOV_RAX_AT_RSI, TEST_RAX, JS(0), JE(0), RET },
	  { { INNER + 8, ABI_RESULT_WHOLE, ALWAYS, 8, AT(SI), AT(AX), false, { 0 }, 13 },
	    { INNER + 8, ABI_RESULT_WHOLE, ALWAYS, 16, AT(SI), AT(AX), false, { 0 }, 23 } } },
	{ "both ways of a jump return the same",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, RET },
	  { { 6, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(AX), false, { 0 }, 0 } } },
	{ "one way calls",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, CALL(9, STUB_NAMELESS), TEST_RAX, JE(0), RET },
	  { { 6, ABI_RESULT_WHOLE, UNLESS_ZERO, 0, AT(DI), AT(AX), false, { 0 }, 0 },
	    { 9, ABI_RESULT_BEGINS, ALWAYS, 0, AT(DI), { 0 }, false, { 0 }, 0 },
	    { 17, ABI_RESULT_ENDS, ALWAYS, 0, { 0 }, AT(AX), false, { 0 }, 0 } } },
	{ "the size is saved in a register",
	  "malloc",
	  0,
	  { PUSH_RBX, MOV_RBX_RDI, MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(0), POP_RBX, RET },
	  { { 12, ABI_RESULT_WHOLE, ALWAYS, 8, AT(BX), AT(AX), false, { 0 }, 0 } } },
	{ "the size is saved on the stack",
	  "malloc",
	  0,
	  { SUB_RSP(24), STORE_RDI_AT_RSP(8), MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(0),
	    ADD_RSP(24), RET },
	  { { 17, ABI_RESULT_WHOLE, ALWAYS, 24, ON_STACK(8), AT(AX), false, { 0 }, 0 } } },
	{ "a value of the round before is another one",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, MOV_RCX_RAX, MOV_RAX_AT_RDI, TEST_RSI, JNE(0xf5), JE(0), MOV_RAX_RCX,
	    RET },
	  { { 14, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(CX), false, { 0 }, 0 } } },
	{ "NULL may be seen by a single step",
	  "malloc",
	  0,
	  { TEST_RDI, JS(9), MOV_RAX_AT_RDI, TEST_RAX, JE(0), RET, ZERO_EAX, RET },
	  { { 11, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(AX), false, { 0 }, 0 },
	    { 14, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), NOTHING, true, { 0 }, 0 } } },
	{ "NULL is what the jump has found",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, ZERO_EAX, JE(0), RET },
	  { { 6, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(AX), false, { 0 }, 0 } } },
	{ "one way goes on in another function",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, JMP(9, STUB_NAMELESS) },
	  { { 6, ABI_RESULT_WHOLE, UNLESS_ZERO, 0, AT(DI), AT(AX), false, { 0 }, 0 },
	    { 9, ABI_RESULT_LEAVES, ALWAYS, 0, { 0 }, { 0 }, false, { 0 }, 0 } } },
	{ "it leaves by a pointer",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, JMP_RAX },
	  { { 6, ABI_RESULT_WHOLE, UNLESS_ZERO, 0, AT(DI), AT(AX), false, { 0 }, 0 },
	    { 9, ABI_RESULT_LEAVES, ALWAYS, 0, { 0 }, { 0 }, true, { 0 }, 0 } } },
	{ "it can throw, and its exits elsewhere are known",
	  "_Znwm",
	  LOCAL_HELPER,
	  { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, JMP(9, LOCAL_HELPER) },
	  { { 6, ABI_RESULT_WHOLE, UNLESS_ZERO, 0, AT(DI), AT(AX), false, { 0 }, 0 },
	    { 9, ABI_RESULT_LEAVES, ALWAYS, 0, { 0 }, { 0 }, false, { 0 }, 0 } } },
	{ "it can throw, and its size is lost: it begins at its entry",
	  "_Znwm",
	  LOCAL_HELPER,
	  { MOV_RCX_RAX, JE(0), MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(1), RET,
	    JMP(16, LOCAL_HELPER) },
	  { { 3, ABI_RESULT_BEGINS, ALWAYS, 0, AT(DI), { 0 }, false, { 0 }, 0 },
	    { 13, ABI_RESULT_ENDS, UNLESS_ZERO, 0, { 0 }, AT(AX), false, { 0 }, 0 },
	    { 16, ABI_RESULT_LEAVES, ALWAYS, 0, { 0 }, { 0 }, false, { 0 }, 0 } } },
	{ "it can throw, and each way calls",
	  "_Znwm",
	  0,
	  { CALL(0, STUB_NAMELESS), TEST_RAX, JE(0), RET },
	  { { 0, ABI_RESULT_BEGINS, ALWAYS, 0, AT(DI), { 0 }, false, { 0 }, 0 },
	    { 8, ABI_RESULT_ENDS, ALWAYS, 0, { 0 }, AT(AX), false, { 0 }, 0 } } },
	{ "a call does not return: the stack behind it is another one",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JNE(9), SUB_RSP(8), CALL(12, STUB_NAMELESS), RET },
	  { { 6, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(AX), false, { 0 }, 0 } } },
	{ "so does one that is in a loop then",
	  "malloc",
	  0,
	  { MOV_RAX_AT_RDI, TEST_RAX, JNE(9), SUB_RSP(8), CALL(12, STUB_NAMELESS), TEST_RAX,
	    JE(0xf2), RET },
	  { { 20, ABI_RESULT_WHOLE, ALWAYS, 0, AT(DI), AT(AX), false, { 0 }, 0 } } },
};

static void find(struct insn_decoder *decoder, struct code_image *image, const char *function,
		 struct result_sites *ret_sites)
{
	const struct allocator_function *row = allocator_function_find(function);
	const struct sites_code code = code_image_view(image);
	_cleanup_(sites_done) struct sites walked = { 0 };
	_cleanup_(callee_facts_done) struct callee_facts callees = {
		.decoder = decoder, .code = &code, .emulation = &everyday, .steps_left = 10000
	};
	uint32_t steps_left = 10000;

	assert_int_equal(sites_find(decoder, &code, row, BASE, &everyday, &walked), 0);
	assert_int_equal(result_sites_find(&callees, row, BASE, &walked, &steps_left, ret_sites),
			 0);
	assert_true(steps_left > 0 && callees.steps_left > 0);
}

static void same_place(const struct abi_usdt_arg *found, const struct abi_usdt_arg *expected)
{
	assert_int_equal(found->place, expected->place);
	assert_int_equal(found->reg, expected->reg);
	assert_int_equal(found->value, expected->value);
}

static void same_site(const struct result_site *found, const struct expected_site *expected,
		      bool has_begun)
{
	const struct abi_usdt_arg fp = AT(BP);
	uint64_t link = expected->link ? expected->link - expected->at : 0;

	assert_int_equal(found->addr - BASE, expected->at);
	assert_int_equal(found->see.link, (int32_t)link);
	assert_int_equal(found->see.kind, expected->kind);
	assert_int_equal(found->see.condition, expected->condition);
	assert_int_equal(found->is_rare, expected->is_rare);
	if (expected->kind == ABI_RESULT_LEAVES) {
		assert_int_equal(found->args, has_begun ? 0 : 1);
		return;
	}
	assert_int_equal(found->see.sp_distance, expected->sp_distance);
	same_place(&found->see.fp, &fp);
	same_place(&found->see.factor, &expected->factor);
	if (expected->size.place)
		same_place(&found->see.size, &expected->size);
	if (expected->result.place)
		same_place(&found->see.result, &expected->result);
}

static void sites_are_where_size_and_result_are_known(void **state)
{
	for (size_t i = 0; i < sizeof(proven) / sizeof(proven[0]); i++) {
		_cleanup_(result_sites_done) struct result_sites sites = { 0 };
		struct code_image image = { 0 };
		/* At its entry, or before a call: what leaves then has begun before. */
		bool has_begun = proven[i].sites[0].kind == ABI_RESULT_BEGINS;
		size_t n = 0;

		print_message("%s\n", proven[i].what);
		memcpy(image.bytes, proven[i].code, sizeof(proven[i].code));
		image.starts = proven[i].code[INNER] ? INNER : 0;
		code_image_finish(&image);
		find(*state, &image, proven[i].function, &sites);
		assert_null(sites.why_none);
		while (n < 4 && proven[i].sites[n].condition)
			n++;
		assert_int_equal(sites.list.len, n);
		assert_int_equal(sites.exits.len, proven[i].exit ? 1 : 0);
		if (proven[i].exit)
			assert_int_equal(sites.exits.data[0], BASE + proven[i].exit);
		for (size_t k = 0; k < n; k++)
			same_site(&sites.list.data[k], &proven[i].sites[k], has_begun);
	}
}

static const struct {
	const char *what, *function, *why;
	struct code_image image;
} not_proven[] = {
	{ "nothing is emulated behind the result",
	  "malloc",
	  why_no_site,
	  { .bytes = { MOV_RAX_AT_RDI, RET } } },
	{ "the size is lost",
	  "malloc",
	  why_no_site,
	  { .bytes = { MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(0), RET } } },
	{ "the size is saved on the stack and overwritten",
	  "malloc",
	  why_no_site,
	  { .bytes = { SUB_RSP(24), STORE_RDI_AT_RSP(8), MOV_RAX_AT_RDI, ZERO_EDI,
		       STORE_0_AT_RSP(8), TEST_RAX, JE(0), ADD_RSP(24), RET } } },
	{ "a part of it is overwritten",
	  "malloc",
	  why_no_site,
	  { .bytes = { SUB_RSP(24), STORE_RDI_AT_RSP(8), MOV_RAX_AT_RDI, ZERO_EDI,
		       STORE_0_AT_RSP(4), TEST_RAX, JE(0), ADD_RSP(24), RET } } },
	{ "somebody may have a pointer to it",
	  "malloc",
	  why_no_site,
	  { .bytes = { SUB_RSP(24), STORE_RDI_AT_RSP(8), LEA_RSI_RSP(8), STORE_RSI_AT_RDX,
		       STORE_RCX_AT_R8, MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(0), ADD_RSP(24),
		       RET } } },
	{ "a call comes behind the result",
	  "malloc",
	  why_no_site,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(0), PUSH_RAX, CALL(9, STUB_NAMELESS), POP_RAX,
		       RET } } },
	{ "each way calls",
	  "malloc",
	  why_no_gain,
	  { .bytes = { CALL(0, STUB_NAMELESS), TEST_RAX, JE(0), RET } } },
	{ "a call when the size is lost",
	  "malloc",
	  why_call,
	  { .bytes = { ZERO_EDI, CALL(2, STUB_NAMELESS), TEST_RAX, JE(0), RET } } },
	{ "it goes on elsewhere without the size",
	  "malloc",
	  why_leaves,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, ZERO_EDI, JMP(11, STUB_NAMELESS) } } },
	{ "it goes on elsewhere with its frame",
	  "malloc",
	  why_leaves,
	  { .bytes = { PUSH_RBX, MOV_RAX_AT_RDI, TEST_RAX, JE(2), POP_RBX, RET,
		       JMP(11, STUB_NAMELESS) } } },
	{ "a way whose result is not known yet",
	  "malloc",
	  why_no_site,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(0), MOV_RAX_AT_RDI, RET } } },
	{ "an exception is caught",
	  "malloc",
	  why_landing_pad,
	  { .bytes = { CALL(0, STUB_NAMELESS), TEST_RAX, JE(0), RET }, .pad_of = 0, .pad = 10 } },
	{ "cpuid",
	  "malloc",
	  why_effect,
	  { .bytes = { 0x0f, 0xa2, MOV_RAX_AT_RDI, TEST_RAX, JE(0), RET } } },
	{ "an aligned stack pointer",
	  "malloc",
	  why_stack,
	  { .bytes = { 0x48, 0x83, 0xe4, 0xf0, MOV_RAX_AT_RDI, TEST_RAX, JE(0), RET } } },
	{ "a return with something on the stack",
	  "malloc",
	  why_stack,
	  { .bytes = { PUSH_RBX, MOV_RAX_AT_RDI, TEST_RAX, JE(0), RET } } },
	{ "it can throw, and nobody knows the exits of what it leaves for",
	  "_Znwm",
	  why_leaves,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, JMP(9, STUB_NAMELESS) } } },
	{ "it can throw, and comes back from what it leaves for",
	  "_Znwm",
	  why_leaves,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, JMP(9, 0x20), [0x20] = 0xeb, 0xe6 },
	    .starts = 0x20 } },
	{ "it can throw, and has no emulated instruction before all else",
	  "_Znwm",
	  why_no_site,
	  { .bytes = { MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, RET } } },
	{ "stack pointers of which no call can be the reason",
	  "malloc",
	  why_stack,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JNE(4), SUB_RSP(8), RET } } },
	{ "a product of other numbers",
	  "calloc",
	  why_no_site,
	  { .bytes = { PUSH_RBX, MOV_RAX_RDI, MUL_RDI, MOV_RBX_RAX, MOV_RAX_AT_RDI, ZERO_EDI,
		       TEST_RAX, JE(0), POP_RBX, RET } } },
	{ "the lower half of a product",
	  "calloc",
	  why_no_site,
	  { .bytes = { PUSH_RBX, MOV_RAX_RDI, MUL_ESI, MOV_RBX_RAX, MOV_RAX_AT_RDI, ZERO_EDI,
		       TEST_RAX, JE(0), POP_RBX, RET } } },
	{ "a product that one is added to",
	  "calloc",
	  why_no_site,
	  { .bytes = { PUSH_RBX, MOV_RAX_RDI, MUL_RSI, MOV_RBX_RAX, ADD_1(RBX), MOV_RAX_AT_RDI,
		       ZERO_EDI, TEST_RAX, JE(0), POP_RBX, RET } } },
	{ "one number of a product",
	  "calloc",
	  why_no_site,
	  { .bytes = { MOV_RAX_AT_RDI, ZERO_EDI, TEST_RAX, JE(0), RET } } },
	{ "memset is given another address than the block's",
	  "malloc",
	  why_no_site,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, MOV_RAX_AT_RDI, TEST_RAX, JE(0), MOV_RDI_RAX, 0x48,
		       0x83, 0xc7, 8, POP_RBX, JMP(20, STUB_MEMSET) } } },
	{ "what it calls frees",
	  "malloc",
	  why_no_gain,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
		       RET, [INNER] = CALL(INNER, STUB_FREE), RET },
	    .starts = INNER } },
	{ "what it calls asks the kernel",
	  "malloc",
	  why_no_gain,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
		       RET, [INNER] = SYSCALL, RET },
	    .starts = INNER } },
	{ "what it calls calls by a pointer",
	  "malloc",
	  why_no_gain,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
		       RET, [INNER] = CALL_RAX, RET },
	    .starts = INNER } },
	{ "what it calls jumps by a pointer",
	  "malloc",
	  why_no_gain,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
		       RET, [INNER] = TEST_RDI, JE(2), JMP_RAX, RET },
	    .starts = INNER } },
	{ "what it calls jumps to another object's function",
	  "malloc",
	  why_no_gain,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
		       RET, [INNER] = JMP(INNER, STUB_NAMELESS) },
	    .starts = INNER } },
	{ "what it calls calls what allocates",
	  "malloc",
	  why_no_gain,
	  { .bytes = { PUSH_RBX, MOV_RBX_RDI, CALL(4, INNER), TEST_RAX, JE(0), POP_RBX,
		       RET, [INNER] = CALL(INNER, DEEPER), RET, [DEEPER] = JMP(DEEPER, LOCAL_NEW) },
	    .starts = INNER } },
	{ "what is told the size loses it",
	  "malloc",
	  why_no_gain,
	  { .bytes = { MOV_RSI_RDI, ZERO_EDI, CALL(5, INNER), TEST_RAX, JE(0),
		       RET, [INNER] = ADD_1(RSI), MOV_RAX_AT_RSI, TEST_RAX, JE(1), RET,
		       CALL(INNER + 13, STUB_MALLOC), TEST_RAX, JE(0), RET },
	    .starts = INNER } },
	{ "what is told the size makes something else than the block",
	  "malloc",
	  why_no_gain,
	  { .bytes = { MOV_RSI_RDI, ZERO_EDI, CALL(5, INNER), ADD_1(RAX), TEST_RAX, JE(0),
		       RET, [INNER] = MOV_RAX_AT_RSI, TEST_RAX, JE(1), RET,
		       CALL(INNER + 9, STUB_MALLOC), TEST_RAX, JE(0), RET },
	    .starts = INNER } },
	{ "what is told the size returns with something on the stack",
	  "malloc",
	  why_no_gain,
	  { .bytes = { MOV_RSI_RDI, ZERO_EDI, CALL(5, INNER), TEST_RAX, JE(0),
		       RET, [INNER] = PUSH_RBX, MOV_RAX_AT_RSI, TEST_RAX, JE(1), RET,
		       CALL(INNER + 10, STUB_MALLOC), TEST_RAX, JE(0), RET },
	    .starts = INNER } },
	{ "what is told the size has no emulated instruction behind the result",
	  "malloc",
	  why_no_gain,
	  { .bytes = { MOV_RSI_RDI, ZERO_EDI, CALL(5, INNER), TEST_RAX, JE(0),
		       RET, [INNER] = TEST_RSI, JE(4), MOV_RAX_AT_RSI, RET,
		       CALL(INNER + 9, STUB_MALLOC), RET },
	    .starts = INNER } },
	{ "code that ends",
	  "malloc",
	  why_unreadable,
	  { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET, 0x06 } } },
};

static void what_cannot_be_proven_has_no_sites(void **state)
{
	for (size_t i = 0; i < sizeof(not_proven) / sizeof(not_proven[0]); i++) {
		_cleanup_(result_sites_done) struct result_sites sites = { 0 };
		struct code_image image = not_proven[i].image;

		print_message("%s\n", not_proven[i].what);
		code_image_finish(&image);
		find(*state, &image, not_proven[i].function, &sites);
		assert_int_equal(sites.list.len, 0);
		assert_string_equal(sites.why_none, not_proven[i].why);
	}
}

static void work_is_bounded(void **state)
{
	_cleanup_(result_sites_done) struct result_sites sites = { 0 };
	struct code_image image = { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(0), RET } };
	const struct sites_code code = code_image_view(&image);
	const struct sites walked = { .entry_site = BASE };
	struct callee_facts callees = { .decoder = *state, .code = &code, .emulation = &everyday };
	uint32_t steps_left = 3;

	code_image_finish(&image);
	assert_int_equal(result_sites_find(&callees, allocator_function_find("malloc"), BASE,
					   &walked, &steps_left, &sites),
			 0);
	assert_int_equal(sites.list.len, 0);
	assert_ptr_equal(sites.why_none, why_large);
}

/* One site is found without looking at what it calls; that would have shown a better one. */
static void what_is_proven_stays_when_there_is_no_time_for_more(void **state)
{
	_cleanup_(result_sites_done) struct result_sites sites = { 0 };
	struct code_image image = { .bytes = { MOV_RAX_AT_RDI, TEST_RAX, JE(1), RET,
					       CALL(9, LOCAL_HELPER), TEST_RAX, JE(0), RET } };
	const struct sites_code code = code_image_view(&image);
	const struct sites walked = { .entry_site = BASE };
	_cleanup_(callee_facts_done) struct callee_facts callees = {
		.decoder = *state, .code = &code, .emulation = &everyday, .steps_left = 1
	};
	uint32_t steps_left = 10000;

	code_image_finish(&image);
	assert_int_equal(result_sites_find(&callees, allocator_function_find("malloc"), BASE,
					   &walked, &steps_left, &sites),
			 0);
	assert_int_equal(sites.list.len, 3);
	assert_null(sites.why_none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_are_where_size_and_result_are_known),
		cmocka_unit_test(what_cannot_be_proven_has_no_sites),
		cmocka_unit_test(work_is_bounded),
		cmocka_unit_test(what_is_proven_stays_when_there_is_no_time_for_more),
	};

	return cmocka_run_group_tests(tests, decoder_setup, decoder_teardown);
}
