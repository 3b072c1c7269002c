/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reference walks a copy of this very process; what it is compared with comes from the
 * compiler's unwinder, with one thing wrong at a time.
 */
#include "bpf/abi_stack_copy.h"
#include "target/proc_maps.h"
#include "trace/unwind/stack_check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include <cmocka.h>

#define DEPTH 5
#define REPLACED 0x7fffffffe000ULL /* where the kernel puts return probes' trampoline */

struct captured {
	struct abi_ev_stack_copy copy;
	uint64_t frames[ABI_MAX_FRAMES];
	size_t n;
	struct proc_maps maps;
	struct stack_check_code *code;
	size_t n_code;
};

static void copy_registers(struct abi_ev_stack_copy *copy, const ucontext_t *context)
{
	static const struct {
		enum abi_register to;
		int from;
	} registers[] = {
		{ ABI_RBX, REG_RBX }, { ABI_RBP, REG_RBP }, { ABI_R12, REG_R12 },
		{ ABI_R13, REG_R13 }, { ABI_R14, REG_R14 }, { ABI_R15, REG_R15 },
		{ ABI_RSP, REG_RSP }, { ABI_RIP, REG_RIP },
	};

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		copy->reg[registers[i].to] = context->uc_mcontext.gregs[registers[i].from];
}

static void copy_memory(struct abi_ev_stack_copy *copy)
{
	_cleanup_close_ int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	copy->base[0] = copy->reg[ABI_RSP] & ~(uint64_t)(ABI_COPY_PAGE - 1);
	copy->base[1] = copy->base[0] + ABI_COPY_AREA_PAGES * ABI_COPY_PAGE;
	for (uint32_t i = 0; i < ABI_COPY_PAGES; i++)
		if (pread(fd, copy->memory[i], ABI_COPY_PAGE, copy->base[0] + i * ABI_COPY_PAGE) ==
		    ABI_COPY_PAGE)
			copy->readable |= 1U << i;
}

static void read_code(struct captured *c)
{
	assert_int_equal(proc_maps_read(getpid(), &c->maps), 0);
	c->code = calloc(c->maps.n_maps, sizeof(*c->code));
	assert_non_null(c->code);
	for (size_t i = 0; i < c->maps.n_maps; i++) {
		const struct proc_map *map = &c->maps.maps[i];

		if (!map->exec)
			continue;
		c->code[c->n_code++] = (struct stack_check_code){
			.start = map->start,
			.offset = map->offset,
			.fd = map->ino ? open(map->path, O_RDONLY | O_CLOEXEC) : -1,
			.path = map->ino ? map->path : NULL,
			.vdso = strcmp(map->path, "[vdso]") == 0,
		};
	}
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *userdata)
{
	struct captured *c = userdata;

	assert_true(c->n < ABI_MAX_FRAMES);
	if (!_Unwind_GetIP(context)) /* behind the last one */
		return _URC_END_OF_STACK;
	c->frames[c->n++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static __attribute__((noinline)) size_t capture(struct captured *c, unsigned int depth)
{
	ucontext_t context;

	if (depth > 0)
		return capture(c, depth - 1) + depth;
	assert_int_equal(getcontext(&context), 0);
	copy_registers(&c->copy, &context);
	copy_memory(&c->copy);
	(void)_Unwind_Backtrace(take_frame, c); /* it ends where the stack begins */
	c->frames[0] = c->copy.reg[ABI_RIP];
	return c->n;
}

static int set_up(void **state)
{
	struct captured *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	assert_true(capture(c, DEPTH) > DEPTH);
	read_code(c);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct captured *c = *state;

	for (size_t i = 0; i < c->n_code; i++)
		if (c->code[i].fd >= 0)
			close(c->code[i].fd);
	free(c->code);
	proc_maps_done(&c->maps);
	free(c);
	return 0;
}

static enum stack_check_result result_of(const struct captured *c, bool whole)
{
	_cleanup_(stack_check_free_p) struct stack_check *check = NULL;
	_cleanup_strbuf_ struct strbuf ours = { 0 }, reference = { 0 };
	const struct stack_check_walked walked = { c->frames, c->n, whole, false };
	enum stack_check_result result;

	assert_int_equal(stack_check_new(&check), 0);
	assert_int_equal(stack_check_compare(check, &c->copy, c->code, c->n_code, &walked, &result,
					     &ours, &reference),
			 0);
	/* both are told when they differ, and only then */
	assert_int_equal(reference.len > 0, result == CHECK_DIFFERENT || result == CHECK_CUT_WRONG);
	assert_int_equal(ours.len > 0, reference.len > 0);
	return result;
}

static void the_same_frames_are_identical(void **state)
{
	assert_int_equal(result_of(*state, true), CHECK_IDENTICAL);
}

static void a_stack_that_begins_in_the_caller_is_compared_from_there(void **state)
{
	struct captured *c = *state;

	memmove(c->frames, c->frames + 1, --c->n * sizeof(c->frames[0]));
	assert_int_equal(result_of(c, true), CHECK_IDENTICAL);
}

static void another_frame_makes_it_different(void **state)
{
	struct captured *c = *state;

	c->frames[2]++;
	assert_int_equal(result_of(c, true), CHECK_DIFFERENT);
	assert_int_equal(result_of(c, false), CHECK_CUT_WRONG);
}

static void what_passes_for_whole_and_lacks_a_frame_is_different(void **state)
{
	struct captured *c = *state;

	c->n--;
	assert_int_equal(result_of(c, true), CHECK_DIFFERENT);
	assert_int_equal(result_of(c, false), CHECK_TRUNCATED);
}

static void a_frame_beyond_the_beginning_of_the_stack_is_different(void **state)
{
	struct captured *c = *state;

	c->frames[c->n] = c->frames[c->n - 1];
	c->n++;
	assert_int_equal(result_of(c, true), CHECK_DIFFERENT);
}

static void memory_outside_the_copy_is_no_difference(void **state)
{
	struct captured *c = *state;

	c->copy.readable = 0;
	assert_int_equal(result_of(c, true), CHECK_NOT_COPIED);
}

static void without_code_there_is_no_reference(void **state)
{
	struct captured *c = *state;

	c->n_code = 0;
	assert_int_equal(result_of(c, true), CHECK_NO_REFERENCE);
}

/* As a return probe does it; the address may lie elsewhere, left behind by an earlier call. */
static void replace_everywhere(struct abi_ev_stack_copy *copy, uint64_t address)
{
	static const uint64_t trampoline = REPLACED;
	uint8_t *memory = copy->memory[0];

	for (size_t at = 0; at < sizeof(copy->memory); at += sizeof(address)) {
		if (memcmp(memory + at, &address, sizeof(address)) != 0)
			continue;
		assert_true(copy->returns < ABI_COPY_RETURNS);
		copy->replaced[copy->returns++] =
			(struct abi_return){ copy->base[0] + at, address };
		memcpy(memory + at, &trampoline, sizeof(trampoline));
	}
}

static void return_addresses_that_probes_replaced_are_put_right(void **state)
{
	struct captured *c = *state;

	replace_everywhere(&c->copy, c->frames[DEPTH + 1]);
	assert_true(c->copy.returns > 0);
	assert_int_equal(result_of(c, true), CHECK_IDENTICAL);
	c->copy.returns = 0;
	assert_int_equal(result_of(c, false), CHECK_CUT_WRONG);
}

static void more_of_them_than_were_sent_leave_no_reference(void **state)
{
	struct captured *c = *state;

	c->copy.returns = ABI_COPY_RETURNS + 1;
	assert_int_equal(result_of(c, true), CHECK_NO_REFERENCE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_same_frames_are_identical),
		TEST(a_stack_that_begins_in_the_caller_is_compared_from_there),
		TEST(another_frame_makes_it_different),
		TEST(what_passes_for_whole_and_lacks_a_frame_is_different),
		TEST(a_frame_beyond_the_beginning_of_the_stack_is_different),
		TEST(memory_outside_the_copy_is_no_difference),
		TEST(without_code_there_is_no_reference),
		TEST(return_addresses_that_probes_replaced_are_put_right),
		TEST(more_of_them_than_were_sent_leave_no_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
