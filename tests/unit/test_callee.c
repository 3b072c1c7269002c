/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/callee.h"

#include "probe/allocators.h"
#include "probe/insn.h"
#include "skip_because.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Code of x86-64 from BASE on; functions and pointers by name. */
#define BASE 0x1000U

struct name {
	uint64_t start, end;
	const char *name;
};

struct code {
	const uint8_t *bytes;
	size_t len;
	struct name functions[4];
	struct name slots[2];
};

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct code *code = ctx;

	if (addr < BASE || addr - BASE >= code->len)
		return 0;
	if (len > code->len - (addr - BASE))
		len = code->len - (addr - BASE);
	memcpy(buf, code->bytes + (addr - BASE), len);
	return len;
}

static const char *code_slot_name(void *ctx, uint64_t slot)
{
	const struct code *code = ctx;

	for (size_t i = 0; i < 2; i++)
		if (code->slots[i].name && code->slots[i].start == slot)
			return code->slots[i].name;
	return NULL;
}

static const char *code_function(void *ctx, uint64_t addr, uint64_t *ret_end)
{
	const struct code *code = ctx;

	for (size_t i = 0; i < 4; i++) {
		if (!code->functions[i].name || code->functions[i].start != addr)
			continue;
		*ret_end = code->functions[i].end;
		return code->functions[i].name;
	}
	return NULL;
}

static const char *callee_of(const struct code *code, uint64_t return_addr)
{
	const struct callee_code callbacks = { (void *)code, code_read, code_slot_name,
					       code_function };
	_cleanup_(insn_decoder_free_p) struct insn_decoder *decoder = NULL;
	const struct allocator_function *found;

	assert_int_equal(insn_decoder_new(INSN_NATIVE_MACHINE, &decoder), 0);
	found = callee_find(decoder, &callbacks, return_addr);
	return found ? found->name : NULL;
}

static void assert_callee(const struct code *code, uint64_t return_addr, const char *name)
{
	const char *found = callee_of(code, return_addr);

	if (name && found)
		assert_string_equal(found, name);
	else
		assert_true(!name && !found);
}

static void need_x86(void)
{
	if (INSN_NATIVE_MACHINE != EM_X86_64)
		skip_because("it is about code of x86-64");
}

/* call BASE+8; nop x3; what is called */
#define CALL 0xe8, 0x03, 0, 0, 0, 0x90, 0x90, 0x90
#define CALLED (BASE + 8)
#define RETURN (BASE + 5)

static void calls_are_told_by_the_instruction_before_their_return(void **state)
{
	static const uint8_t direct[] = { CALL, 0xc3 };
	static const uint8_t by_slot[] = { 0xff, 0x15, 0xfa, 0x0f, 0, 0, 0x90 }; /* *0x2000 */
	static const uint8_t by_register[] = { 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x90 };
	static const struct code codes[] = {
		{ direct, sizeof(direct), { { CALLED, CALLED + 1, "_Znam" } }, {} },
		{ by_slot, sizeof(by_slot), {}, { { 0x2000, 0, "_ZdlPvm" } } },
		{ by_register, sizeof(by_register), {}, { { 0x2000, 0, "_ZdlPvm" } } },
		{ direct, sizeof(direct), { { CALLED, CALLED + 1, "other" } }, {} },
		{ direct, sizeof(direct), {}, {} },
	};

	(void)state;
	need_x86();
	assert_callee(&codes[0], RETURN, "_Znam");
	assert_callee(&codes[1], BASE + 6, "_ZdlPvm");
	assert_callee(&codes[2], BASE + 6, NULL);
	assert_callee(&codes[3], RETURN, NULL);
	assert_callee(&codes[4], RETURN, NULL);
	assert_callee(&codes[0], BASE, NULL);
	assert_callee(&codes[0], 3, NULL);
	assert_callee(&codes[0], UINT64_MAX, NULL);
}

static void linkage_stubs_are_looked_through(void **state)
{
	/* jmp *0x2000; endbr64, bnd jmp *0x2000 */
	static const uint8_t plain[] = { CALL, 0xff, 0x25, 0xf2, 0x0f, 0, 0, 0x68, 0, 0, 0, 0 };
	static const uint8_t secure[] = { CALL, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2,
					  0xff, 0x25, 0xed, 0x0f, 0,	0 };
	static const struct code codes[] = {
		{ plain, sizeof(plain), {}, { { 0x2000, 0, "_ZnamRKSt9nothrow_t" } } },
		{ secure, sizeof(secure), {}, { { 0x2000, 0, "_Znam" } } },
		{ secure, sizeof(secure), {}, { { 0x2000, 0, "strlen" } } },
	};

	(void)state;
	need_x86();
	assert_callee(&codes[0], RETURN, "_ZnamRKSt9nothrow_t");
	assert_callee(&codes[1], RETURN, "_Znam");
	assert_callee(&codes[2], RETURN, NULL);
}

/* A function that is called and jumps on. */
static void jumps_out_of_a_function_are_followed(void **state)
{
	/* test; jne +1; jmp *0x2000 */
	static const uint8_t by_slot[] = { CALL, 0x85, 0xff, 0x75, 0x01, 0x90,
					   0xff, 0x25, 0xed, 0x0f, 0,	 0 };
	/* jmp 0x1010; nop x3; there: jmp 0x1018 */
	static const uint8_t twice[] = { CALL, 0xe9, 0x03, 0, 0, 0,    0x90, 0x90, 0x90,
					 0xe9, 0x03, 0,	   0, 0, 0x90, 0x90, 0x90, 0xc3 };
	/* je 0x1018; jmp 0x1019 */
	static const uint8_t two_ways[] = { CALL, 0x0f, 0x84, 0x0a, 0,	  0,	0,    0xe9, 0x06, 0,
					    0,	  0,	0x90, 0x90, 0x90, 0x90, 0x90, 0xc3, 0xc3 };
	/* jmp itself */
	static const uint8_t circle[] = { CALL, 0xe9, 0xfb, 0xff, 0xff, 0xff };
	static const struct code codes[] = {
		{ by_slot,
		  sizeof(by_slot),
		  { { CALLED, CALLED + 11, "maker" } },
		  { { 0x2000, 0, "_Znwm" } } },
		{ twice,
		  sizeof(twice),
		  { { CALLED, CALLED + 5, "one" },
		    { 0x1010, 0x1015, "two" },
		    { 0x1018, 0x1019, "_ZdaPvm" } },
		  {} },
		{ two_ways,
		  sizeof(two_ways),
		  { { CALLED, CALLED + 11, "f" },
		    { 0x1018, 0x1019, "_Znwm" },
		    { 0x1019, 0x101a, "_Znam" } },
		  {} },
		{ two_ways,
		  sizeof(two_ways),
		  { { CALLED, CALLED + 11, "f" },
		    { 0x1018, 0x1019, "_Znwm" },
		    { 0x1019, 0x101a, "elsewhere" } },
		  {} },
		{ circle, sizeof(circle), { { CALLED, CALLED + 5, "f" } }, {} },
		{ twice, sizeof(twice), { { CALLED, UINT64_MAX, "f" } }, {} },
	};

	(void)state;
	need_x86();
	assert_callee(&codes[0], RETURN, "_Znwm");
	assert_callee(&codes[1], RETURN, "_ZdaPvm");
	assert_callee(&codes[2], RETURN, NULL); /* by either of two ways */
	/* what does not jump on has a frame of its own when it allocates */
	assert_callee(&codes[3], RETURN, "_Znwm");
	assert_callee(&codes[4], RETURN, NULL);
	assert_callee(&codes[5], RETURN, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_told_by_the_instruction_before_their_return),
		cmocka_unit_test(linkage_stubs_are_looked_through),
		cmocka_unit_test(jumps_out_of_a_function_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
