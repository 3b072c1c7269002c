/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/sites.h"

#include "base/cleanup.h"
#include "code_image.h"
#include "decoder_fixture.h"
#include "probe/allocators.h"
#include "probe/insn_types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct plan_emulation everyday = {
	.push = true, .nop1 = true, .jmp = true, .jcc = true, .call = true
};

static void find(struct insn_decoder *decoder, struct code_image *image, const char *function,
		 const struct plan_emulation *emulation, struct sites *ret_sites)
{
	const struct sites_code code = code_image_view(image);
	const struct allocator_function *row = allocator_function_find(function);

	assert_non_null(row);
	assert_int_equal(sites_find(decoder, &code, row, BASE, emulation, ret_sites), 0);
}

static const struct {
	const char *what;
	const char *function;
	uint8_t code[48];
	uint64_t site;
	bool emulated;
} entry_cases[] = {
	{ "push", "malloc", { PUSH_RBX, POP_RBX, RET }, 0, true },
	{ "glibc's free: test, je", "free", { TEST_RDI, JE(1), RET, RET }, 3, true },
	{ "glibc's memalign: cmpb, push",
	  "memalign",
	  { 0x80, 0x3d, 0, 0, 0, 0, 0, PUSH_RBX, POP_RBX, RET },
	  7,
	  true },
	{ "endbr64, push", "malloc", { 0xf3, 0x0f, 0x1e, 0xfa, PUSH_RBX, POP_RBX, RET }, 4, true },
	{ "a nop of five bytes, push",
	  "malloc",
	  { 0x0f, 0x1f, 0x44, 0, 0, PUSH_RBX, POP_RBX, RET },
	  5,
	  true },
	{ "a nop of five bytes, sub rsp",
	  "malloc",
	  { 0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x83, 0xec, 8, PUSH_RBX, RET },
	  5,
	  false },
	{ "endbr64, jmp", "malloc", { 0xf3, 0x0f, 0x1e, 0xfa, 0xeb, 0, RET }, 4, true },
	{ "sub rsp first", "malloc", { 0x48, 0x83, 0xec, 8, PUSH_RBX, RET }, 0, false },
	{ "sub rsp second", "malloc", { TEST_RDI, 0x48, 0x83, 0xec, 8, PUSH_RBX, RET }, 0, false },
	{ "pop before push", "malloc", { 0x58, PUSH_RBX, RET }, 0, false },
	{ "mov rbp, rsp before push",
	  "malloc",
	  { 0x48, 0x89, 0xe5, PUSH_RBX, POP_RBX, RET },
	  3,
	  true },
	{ "argument overwritten", "malloc", { 0xbf, 1, 0, 0, 0, PUSH_RBX, RET }, 0, false },
	{ "argument overwritten: old block",
	  "realloc",
	  { 0xbf, 1, 0, 0, 0, PUSH_RBX, RET },
	  0,
	  false },
	{ "argument overwritten: size", "realloc", { 0xbe, 1, 0, 0, 0, PUSH_RBX, RET }, 0, false },
	{ "argument overwritten: third",
	  "posix_memalign",
	  { 0xba, 1, 0, 0, 0, PUSH_RBX, RET },
	  0,
	  false },
	{ "no argument: esi", "malloc", { 0xbe, 1, 0, 0, 0, PUSH_RBX, RET }, 5, true },
	{ "no argument: ecx", "posix_memalign", { 0xb9, 1, 0, 0, 0, PUSH_RBX, RET }, 5, true },
	{ "implicit write of rdx",
	  "posix_memalign",
	  { 0x48, 0xf7, 0xe0, PUSH_RBX, RET },
	  0,
	  false },
	{ "indirect call before",
	  "free",
	  { TEST_RDI, 0xff, 0xd0, PUSH_RBX, POP_RBX, RET },
	  0,
	  false },
	{ "direct call is a site itself",
	  "free",
	  { TEST_RDI, CALL(3, LOCAL_HELPER), RET },
	  3,
	  true },
	{ "behind a branch", "free", { TEST_RDI, 0xe3, 1, PUSH_RBX, RET }, 0, false },
	{ "jump back to the site", "free", { TEST_RDI, JE(3), NOP, 0xeb, 0xfb, RET }, 0, false },
	{ "jump back before the site",
	  "malloc",
	  { 0x31, 0xc0, TEST_RDI, PUSH_RBX, POP_RBX, JE(0xf9), RET },
	  0,
	  false },
	{ "branch back from behind", "free", { TEST_RDI, JE(3), NOP, 0xeb, 0xfd, RET }, 3, true },
	{ "jump table", "free", { TEST_RDI, JE(2), JMP_RAX, RET }, 0, false },
	{ "pointer to another function",
	  "free",
	  { TEST_RDI, JE(6), SLOT_JMP(5, 6), RET },
	  3,
	  true },
	{ "undecodable further on", "free", { TEST_RDI, JE(1), 0x06, RET }, 0, false },
};

static void the_entry_site_is_the_first_emulated_instruction_that_is_as_good(void **state)
{
	for (size_t i = 0; i < sizeof(entry_cases) / sizeof(entry_cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = { 0 };

		print_message("%s\n", entry_cases[i].what);
		memcpy(image.bytes, entry_cases[i].code, sizeof(entry_cases[i].code));
		code_image_finish(&image);
		find(*state, &image, entry_cases[i].function, &everyday, &sites);
		assert_int_equal(sites.entry_site - BASE, entry_cases[i].site);
		assert_int_equal(sites.entry_emulated, entry_cases[i].emulated);
	}
}

static void the_kernel_s_abilities_decide_the_entry_site(void **state)
{
	static const struct {
		struct plan_emulation emulation;
		uint64_t site;
		bool emulated;
	} cases[] = {
		{ { .endbr = true, .push = true }, 0, true },
		{ { .nopl = true, .push = true }, 4, true },
		{ { .mov = true, .push = true }, 7, true },
		{ { .sub_sp = true, .push = true }, 10, true },
		{ { .push = true }, 0, false }, /* it stands behind sub rsp */
		{ { 0 }, 0, false },
	};
	static const uint8_t code[] = {
		0xf3,	  0x0f, 0x1e, 0xfa, /* endbr64 */
		0x0f,	  0x1f, 0,	    /* nopl */
		0x48,	  0x89, 0xe5,	    /* mov rbp, rsp */
		0x48,	  0x83, 0xec, 8,    /* sub rsp, 8 */
		PUSH_RBX, RET,
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = { 0 };

		memcpy(image.bytes, code, sizeof(code));
		code_image_finish(&image);
		find(*state, &image, "malloc", &cases[i].emulation, &sites);
		assert_int_equal(sites.entry_site - BASE, cases[i].site);
		assert_int_equal(sites.entry_emulated, cases[i].emulated);
	}
}

static const struct {
	const char *what;
	const char *function;
	struct code_image image;
	uint64_t exits[3]; /* offsets, to the first 0 */
	bool unproven;
} exit_cases[] = {
	{ "both ways of a branch",
	  "malloc",
	  { .bytes = { TEST_RDI, JE(1), RET, RET } },
	  { 5, 6 },
	  false },
	{ "a jump to a part elsewhere",
	  "malloc",
	  { .bytes = { JMP(0, 0x20), [0x20] = RET } },
	  { 0x20 },
	  false },
	{ "a jump to another function",
	  "malloc",
	  { .bytes = { JMP(0, LOCAL_HELPER) } },
	  { LOCAL_HELPER },
	  false },
	{ "a loop",
	  "malloc",
	  { .bytes = { PUSH_RBX, TEST_RDI, JE(0xfb), POP_RBX, RET } },
	  { 7 },
	  false },
	{ "calls are stepped over",
	  "malloc",
	  { .bytes = { CALL(0, STUB_MEMSET), CALL(5, LOCAL_HELPER), 0xff, 0xd0, RET } },
	  { 12 },
	  false },
	{ "abort by stub", "malloc", { .bytes = { CALL(0, STUB_ABORT), RET } }, { 0 }, false },
	{ "abort by address", "malloc", { .bytes = { CALL(0, LOCAL_ABORT), RET } }, { 0 }, false },
	{ "abort by pointer", "malloc", { .bytes = { SLOT_CALL(0, 4), RET } }, { 0 }, false },
	{ "a jump to abort", "malloc", { .bytes = { JMP(0, STUB_ABORT), RET } }, { 0 }, false },
	{ "ud2", "malloc", { .bytes = { UD2, RET } }, { 0 }, false },
	{ "a call before the next function",
	  "malloc",
	  { .bytes = { CALL(0, LOCAL_HELPER), NOP, NOP, NOP, RET }, .starts = 8 },
	  { 0 },
	  false },
	{ "the same without a function there",
	  "malloc",
	  { .bytes = { CALL(0, LOCAL_HELPER), NOP, NOP, NOP, RET } },
	  { 8 },
	  false },
	{ "falling into the next function",
	  "malloc",
	  { .bytes = { CALL(0, LOCAL_HELPER), 0x31, 0xc0, NOP, RET }, .starts = 8 },
	  { 8 },
	  false },
	{ "a landing pad",
	  "malloc",
	  { .bytes = { NOP, CALL(1, LOCAL_HELPER), RET, [0x20] = RET }, .pad_of = 1, .pad = 0x20 },
	  { 6, 0x20 },
	  false },
	{ "malloc takes over from realloc",
	  "realloc",
	  { .bytes = { TEST_RDI, JE(1), RET, JMP(6, STUB_MALLOC) } },
	  { 5 },
	  false },
	{ "so it does at its address",
	  "realloc",
	  { .bytes = { JMP(0, LOCAL_MALLOC) } },
	  { 0 },
	  false },
	{ "by a conditional jump",
	  "realloc",
	  { .bytes = { 0x0f, 0x84, REL32(6, LOCAL_MALLOC), RET } },
	  { 6 },
	  false },
	{ "a jump to its own start",
	  "malloc",
	  { .bytes = { TEST_RDI, JE(0xfb), RET } },
	  { 5 },
	  false },
	{ "an operator need not be probed",
	  "malloc",
	  { .bytes = { JMP(0, LOCAL_NEW) } },
	  { LOCAL_NEW },
	  false },
	{ "an operator elsewhere", "malloc", { .bytes = { JMP(0, STUB_NEW) } }, { 0 }, true },
	{ "free gives nothing back", "realloc", { .bytes = { JMP(0, STUB_FREE) } }, { 0 }, true },
	{ "malloc returns no error",
	  "posix_memalign",
	  { .bytes = { JMP(0, STUB_MALLOC) } },
	  { 0 },
	  true },
	{ "a jump out",
	  "calloc",
	  { .bytes = { TEST_RDI, JE(1), RET, JMP(6, STUB_MEMSET) } },
	  { 5 },
	  true },
	{ "a jump through a pointer", "malloc", { .bytes = { SLOT_JMP(0, 6) } }, { 0 }, true },
	{ "a jump to a nameless stub",
	  "malloc",
	  { .bytes = { JMP(0, STUB_NAMELESS) } },
	  { 0 },
	  true },
	{ "an indirect jump",
	  "malloc",
	  { .bytes = { TEST_RDI, JE(2), JMP_RAX, RET } },
	  { 7 },
	  true },
	{ "no instruction", "malloc", { .bytes = { TEST_RDI, JE(1), 0x06, RET } }, { 6 }, true },
	{ "a jump out of the code", "malloc", { .bytes = { JMP(0, 0x1000) } }, { 0 }, true },
	{ "a jump before the code", "malloc", { .bytes = { 0xeb, 0x80 } }, { 0 }, true },
};

static void every_return_is_an_exit_or_it_is_said_why_not(void **state)
{
	for (size_t i = 0; i < sizeof(exit_cases) / sizeof(exit_cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = exit_cases[i].image;
		size_t n = 0;

		print_message("%s\n", exit_cases[i].what);
		code_image_finish(&image);
		find(*state, &image, exit_cases[i].function, &everyday, &sites);
		while (n < 3 && exit_cases[i].exits[n])
			n++;
		assert_int_equal(sites.exits.len, n);
		for (size_t j = 0; j < n; j++)
			assert_int_equal(sites.exits.data[j] - BASE, exit_cases[i].exits[j]);
		assert_int_equal(sites.why_no_exits != NULL, exit_cases[i].unproven);
	}
}

/* tcmalloc's pvalloc() rounds the size up before its jump; musl's memalign() is a jump alone. */
static void a_function_only_jumps_where_its_arguments_stay(void **state)
{
	static const struct {
		struct code_image image;
		bool only_jumps;
	} cases[] = {
		{ { .bytes = { JMP(0, STUB_MALLOC) } }, true },
		{ { .bytes = { SLOT_JMP(0, 0) } }, true },
		{ { .bytes = { 0xf3, 0x0f, 0x1e, 0xfa, JMP(4, STUB_MALLOC) } }, true },
		{ { .bytes = { 0x31, 0xc0, JMP(2, STUB_MALLOC) } }, true },  /* xor eax, eax */
		{ { .bytes = { 0xff, 0xc7, JMP(2, STUB_MALLOC) } }, false }, /* inc edi */
		{ { .bytes = { 0xeb, 1, NOP, JMP(3, STUB_MALLOC) } }, false },
		{ { .bytes = { TEST_RDI, JE(1), RET, JMP(6, STUB_MALLOC) } }, false },
		{ { .bytes = { CALL(0, STUB_MALLOC), RET } }, false },
		{ { .bytes = { RET } }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = cases[i].image;

		print_message("%zu\n", i);
		code_image_finish(&image);
		find(*state, &image, "valloc", &everyday, &sites);
		assert_int_equal(sites.only_jumps, cases[i].only_jumps);
	}
}

static void code_that_ends_is_an_exit_only_of_calls(void **state)
{
	static const struct {
		uint8_t code[8];
		size_t len;
		bool unproven;
	} cases[] = {
		{ { NOP, CALL(1, 0) }, 6, false },
		{ { NOP, CALL(1, 0), NOP }, 7, false },
		{ { NOP, NOP }, 2, true },
		{ { NOP, CALL(1, 0), 0x31, 0xc0 }, 8, true },
		{ { NOP, CALL(1, 0), 0x31 }, 7, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = { .len = cases[i].len };

		memcpy(image.bytes, cases[i].code, cases[i].len);
		find(*state, &image, "malloc", &everyday, &sites);
		assert_int_equal(sites.why_no_exits != NULL, cases[i].unproven);
	}
}

static size_t endless_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	(void)addr;
	memset(buf, NOP, len);
	return len;
}

static void a_walk_without_end_is_given_up(void **state)
{
	_cleanup_(sites_done) struct sites sites = { 0 };
	struct code_image image = { 0 };
	struct sites_code code = code_image_view(&image);

	code.read = endless_read;
	assert_int_equal(sites_find(*state, &code, allocator_function_find("malloc"), BASE,
				    &everyday, &sites),
			 0);
	assert_int_equal(sites.exits.len, 0);
	assert_non_null(sites.why_no_exits);
	assert_int_equal(sites.entry_site, BASE);
}

static const struct {
	const char *what;
	const char *function;
	struct code_image image;
	enum sites_forwards forwards;
} forward_cases[] = {
	{ "libstdc++'s new",
	  "_Znwm",
	  { .bytes = { PUSH_RBX, CALL(1, STUB_MALLOC), TEST_RDI, JE(2), POP_RBX, RET, 0xff, 0xd0,
		       0xeb, 0xf1 } },
	  SITES_FORWARDS_ALWAYS },
	{ "new[] to new", "_Znam", { .bytes = { JMP(0, STUB_NEW) } }, SITES_FORWARDS_ALWAYS },
	{ "new[] to new in place",
	  "_Znam",
	  { .bytes = { JMP(0, LOCAL_NEW) } },
	  SITES_FORWARDS_ALWAYS },
	{ "by a pointer", "_Znwm", { .bytes = { SLOT_CALL(0, 0), RET } }, SITES_FORWARDS_ALWAYS },
	{ "nothrow, with a handler that returns",
	  "_ZnwmRKSt9nothrow_t",
	  { .bytes = { CALL(0, STUB_NEW), RET, [0x20] = RET }, .pad_of = 0, .pad = 0x20 },
	  SITES_FORWARDS_ALWAYS },
	{ "new that throws or calls malloc",
	  "_Znwm",
	  { .bytes = { TEST_RDI, JE(6), CALL(5, STUB_MALLOC), RET, CALL(11, STUB_ABORT) } },
	  SITES_FORWARDS_ALWAYS },
	{ "new with a fast path of its own",
	  "_Znwm",
	  { .bytes = { TEST_RDI, JE(1), RET, CALL(6, STUB_MALLOC), RET } },
	  SITES_FORWARDS_SOMETIMES },
	{ "new that may go anywhere",
	  "_Znwm",
	  { .bytes = { TEST_RDI, JE(2), JMP_RAX, CALL(7, STUB_MALLOC), RET } },
	  SITES_FORWARDS_SOMETIMES },
	{ "new of its own",
	  "_Znwm",
	  { .bytes = { CALL(0, LOCAL_HELPER), RET } },
	  SITES_FORWARDS_NEVER },
	{ "new that frees",
	  "_Znwm",
	  { .bytes = { CALL(0, STUB_FREE), RET } },
	  SITES_FORWARDS_NEVER },
	{ "new to itself",
	  "_Znwm",
	  { .bytes = { TEST_RDI, JE(0xfb), RET } },
	  SITES_FORWARDS_NEVER },
	{ "delete", "_ZdlPv", { .bytes = { JMP(0, STUB_FREE) } }, SITES_FORWARDS_ALWAYS },
	{ "delete that looks for NULL",
	  "_ZdlPv",
	  { .bytes = { TEST_RDI, JE(5), JMP(5, STUB_FREE), RET } },
	  SITES_FORWARDS_SOMETIMES },
	{ "delete that allocates",
	  "_ZdlPv",
	  { .bytes = { CALL(0, STUB_MALLOC), RET } },
	  SITES_FORWARDS_NEVER },
	{ "reallocarray",
	  "reallocarray",
	  { .bytes = { 0x70, 5, JMP(2, STUB_REALLOC), RET } },
	  SITES_FORWARDS_NEVER },
	{ "realloc never forwards",
	  "realloc",
	  { .bytes = { CALL(0, STUB_MALLOC), CALL(5, STUB_FREE), RET } },
	  SITES_FORWARDS_NEVER },
	{ "calloc never forwards",
	  "calloc",
	  { .bytes = { CALL(0, STUB_MALLOC), RET } },
	  SITES_FORWARDS_NEVER },
};

static void forwarding_is_told_from_mere_use(void **state)
{
	for (size_t i = 0; i < sizeof(forward_cases) / sizeof(forward_cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = forward_cases[i].image;

		print_message("%s\n", forward_cases[i].what);
		code_image_finish(&image);
		find(*state, &image, forward_cases[i].function, &everyday, &sites);
		assert_int_equal(sites.forwards, forward_cases[i].forwards);
	}
}

static void functions_that_never_return_are_known_by_name(void **state)
{
	(void)state;
	assert_true(sites_is_noreturn("abort"));
	assert_true(sites_is_noreturn("__stack_chk_fail"));
	assert_true(sites_is_noreturn("_Unwind_Resume"));
	assert_true(sites_is_noreturn("_ZSt17__throw_bad_allocv"));
	assert_true(sites_is_noreturn("_ZSt20__throw_system_errori"));
	assert_false(sites_is_noreturn("abort_handler"));
	assert_false(sites_is_noreturn("_ZSt15get_new_handlerv"));
	assert_false(sites_is_noreturn(""));
}

static void a_free_may_have_its_frame_where_it_is_probed(void **state)
{
	static const struct {
		const char *function;
		uint8_t code[16];
		uint64_t site;
		uint8_t words;
	} cases[] = {
		/* sub rsp, 24; test rdi, rdi; je: as glibc 2.31 */
		{ "free", { 0x48, 0x83, 0xec, 24, TEST_RDI, JE(1), RET, RET }, 7, 3 },
		{ "free", { 0x48, 0x83, 0xec, 24, 0x48, 0x83, 0xec, 8, JE(1), RET, RET }, 8, 4 },
		/* What is asked for is an argument, and the stack is walked from the entry. */
		{ "malloc", { 0x48, 0x83, 0xec, 24, TEST_RDI, JE(1), RET, RET }, 0, 0 },
		/* The block is lost; half a word; upwards; by a register; aligned. */
		{ "free", { 0x48, 0x83, 0xec, 24, 0x31, 0xff, JE(1), RET, RET }, 0, 0 },
		{ "free", { 0x48, 0x83, 0xec, 20, TEST_RDI, JE(1), RET, RET }, 0, 0 },
		{ "free", { 0x48, 0x83, 0xc4, 24, TEST_RDI, JE(1), RET, RET }, 0, 0 },
		{ "free", { 0x48, 0x29, 0xc4, TEST_RDI, JE(1), RET, RET }, 0, 0 },
		{ "free", { 0x48, 0x83, 0xe4, 0xf0, TEST_RDI, JE(1), RET, RET }, 0, 0 },
		/* Nothing is emulated behind it. */
		{ "free", { 0x48, 0x83, 0xec, 24, TEST_RDI, RET }, 0, 0 },
		/* It goes on in another function, which is that of a hook; or who knows where. */
		{ "free",
		  { 0x48, 0x83, 0xec, 24, TEST_RDI, JE(6), 0x48, 0x83, 0xc4, 24, JMP_RAX, RET },
		  7,
		  3 },
		{ "free",
		  { 0x48, 0x83, 0xec, 24, TEST_RDI, JE(6), 0x48, 0x83, 0xc4, 16, JMP_RAX, RET },
		  0,
		  0 },
		{ "free", { 0x48, 0x83, 0xec, 24, TEST_RDI, JE(2), JMP_RAX, RET }, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = { 0 };

		memcpy(image.bytes, cases[i].code, sizeof(cases[i].code));
		code_image_finish(&image);
		find(*state, &image, cases[i].function, &everyday, &sites);
		assert_int_equal(sites.entry_site, BASE + cases[i].site);
		assert_int_equal(sites.frame_words, cases[i].words);
	}
}

static void a_block_may_be_freed_from_another_register(void **state)
{
	static const struct {
		const char *function;
		uint8_t code[16];
		uint64_t site;
		uint8_t argument;
	} cases[] = {
		/* mov rsi, rdi; xor edi, edi; je */
		{ "free", { 0x48, 0x89, 0xfe, 0x31, 0xff, JE(1), RET, RET }, 5, 2 },
		{ "malloc", { 0x48, 0x89, 0xfe, 0x31, 0xff, JE(1), RET, RET }, 0, 0 },
		/* The copy is overwritten; half of it is copied. */
		{ "free", { 0x48, 0x89, 0xfe, 0x31, 0xff, 0x31, 0xf6, JE(1), RET, RET }, 0, 0 },
		{ "free", { 0x89, 0xfe, 0x31, 0xff, JE(1), RET, RET }, 0, 0 },
		{ "free", { 0x48, 0x89, 0xfe, JE(1), RET, RET }, 3, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(sites_done) struct sites sites = { 0 };
		struct code_image image = { 0 };

		memcpy(image.bytes, cases[i].code, sizeof(cases[i].code));
		code_image_finish(&image);
		find(*state, &image, cases[i].function, &everyday, &sites);
		assert_int_equal(sites.entry_site, BASE + cases[i].site);
		assert_int_equal(sites.block_argument, cases[i].argument);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_may_be_freed_from_another_register),
		cmocka_unit_test(a_free_may_have_its_frame_where_it_is_probed),
		cmocka_unit_test(the_entry_site_is_the_first_emulated_instruction_that_is_as_good),
		cmocka_unit_test(the_kernel_s_abilities_decide_the_entry_site),
		cmocka_unit_test(every_return_is_an_exit_or_it_is_said_why_not),
		cmocka_unit_test(a_function_only_jumps_where_its_arguments_stay),
		cmocka_unit_test(code_that_ends_is_an_exit_only_of_calls),
		cmocka_unit_test(a_walk_without_end_is_given_up),
		cmocka_unit_test(forwarding_is_told_from_mere_use),
		cmocka_unit_test(functions_that_never_return_are_known_by_name),
	};

	return cmocka_run_group_tests(tests, decoder_setup, decoder_teardown);
}
