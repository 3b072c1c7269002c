/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampled depth: what is planned of a file's probes, and what a sample is in the books. */
#include "bpf/abi_sample.h"

#include "base/cleanup.h"
#include "build_object.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "probe/plan.h"
#include "probe/sample_plan.h"
#include "probe/sites.h"
#include "skip_because.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Probes by hand, so that the place of each argument is known. */
#define NOTE(name, args)                                                                           \
	"asm(\"990: nop\\n\"\n"                                                                    \
	"    \".pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n\"\n"                            \
	"    \".balign 4\\n.4byte 992f-991f, 994f-993f, 3\\n991: .asciz \\\"stapsdt\\\"\\n\"\n"    \
	"    \"992: .balign 4\\n993: .8byte 990b, 0, semaphore\\n\"\n"                             \
	"    \".asciz \\\"otel_memory\\\"\\n.asciz \\\"" name "\\\"\\n.asciz \\\"" args            \
	"\\\"\\n\"\n"                                                                              \
	"    \"994: .balign 4\\n.popsection\\n\");\n"

static const char source[] =
	"unsigned short semaphore __attribute__((section(\".probes\"))) = 0;\n"
	"void show(void)\n{\n" NOTE("alloc", "8@%rdi 8@%rsi 8@$524288") NOTE("free", "8@-8(%rsp)")
		NOTE("alloc", "8@%rdi 8@name(%rip) 8@%rdx") NOTE("alloc", "8@%rdi 8@%rsi")
			NOTE("other", "8@%rdi") "}\n";

#ifdef __x86_64__
static void a_plan_has_frees_first_and_says_what_it_cannot_read(void **state)
{
	_cleanup_close_ int fd = build_object(source, "-shared -fPIC");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_(plan_free_p) struct plan *plan = NULL;
	uint8_t byte;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(sample_plan_new(file, false, &plan), 0);
	assert_int_equal(plan->n_probes, 2);
	assert_string_equal(plan->probes[0].function, "otel_memory:free");
	assert_int_equal(plan->probes[0].kind, ABI_SAMPLE_FREE);
	assert_int_equal(plan->probes[0].sample.arg[0].value, -8);
	assert_string_equal(plan->probes[1].function, "otel_memory:alloc");
	assert_int_equal(plan->probes[1].kind, ABI_SAMPLE_ALLOC);
	assert_int_equal(plan->probes[1].sample.arg[ABI_SAMPLE_WEIGHT].value, 524288);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(plan->probes[i].exits, PLAN_EXIT_NONE);
		assert_int_not_equal(plan->probes[i].semaphore_offset, 0);
		assert_int_equal(elf_file_read_offset(file, plan->probes[i].entry_site, &byte, 1),
				 1);
		assert_int_equal(byte, 0x90);
	}
	/* One whose size nobody can read, and one of another contract. */
	assert_int_equal(plan->n_skipped, 2);
	assert_string_equal(plan->skipped[0].function, "otel_memory:alloc");
	assert_ptr_equal(plan->skipped[0].why, why_variable);
	assert_ptr_equal(plan->skipped[1].why, why_arguments);
	assert_false(plan->skipped[0].forwards);
}
#endif

#ifdef __x86_64__
static const char with_interval[] =
	"unsigned short semaphore __attribute__((section(\".probes\"))) = 0;\n"
	"unsigned long long memtraced_sample_interval = 65536;\n"
	"void show(void)\n{\n" NOTE("alloc", "8@%rdi 8@%rsi 8@%rdx 8@$4096") "}\n";

/* What others show behind the contract's three arguments, or have of that name, may be anything. */
static void our_library_alone_tells_its_interval(void **state)
{
	_cleanup_close_ int fd = build_object(with_interval, "-shared -fPIC -s");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_(data_symbols_free_p) struct data_symbols *symbols = NULL;
	uint64_t vaddr;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(data_symbols_new(file, &symbols), 0);
	assert_int_equal(data_symbols_find(symbols, "memtraced_sample_interval", &vaddr), 0);
	for (int is_ours = 0; is_ours < 2; is_ours++) {
		_cleanup_(plan_free_p) struct plan *plan = NULL;
		const struct abi_usdt_arg *told;

		assert_int_equal(sample_plan_new(file, is_ours, &plan), 0);
		assert_int_equal(plan->n_probes, 1);
		told = &plan->probes[0].sample.arg[ABI_SAMPLE_INTERVAL_TOLD];
		assert_int_equal(told->place, is_ours ? ABI_USDT_MEMORY : ABI_USDT_NONE);
		assert_int_equal(told->value != 0, is_ours);
		assert_int_equal(told->bytes, is_ours ? 8 : 0);
	}
}

static const char with_variables[] =
	"unsigned short semaphore __attribute__((section(\".probes\"))) = 0;\n"
	"static struct { long pad, size; } sizes __attribute__((used)) = { 1, 2 };\n"
	"long weight __attribute__((visibility(\"hidden\")));\n"
	"void show(void)\n{\n" NOTE("alloc", "8@%rdi 8@sizes+8(%rip) 4@weight(%rip)")
		NOTE("alloc", "8@%rdi 8@nowhere(%rip) 8@%rsi") "}\n";

static void plan_of_variables(const char *flags, struct plan **ret_plan, int64_t *ret_distance)
{
	_cleanup_close_ int fd = build_object(with_variables, flags);
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_(data_symbols_free_p) struct data_symbols *symbols = NULL;
	uint64_t sizes = 0, weight = 0;

	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(sample_plan_new(file, false, ret_plan), 0);
	assert_int_equal(data_symbols_new(file, &symbols), 0);
	assert_int_equal(data_symbols_find(symbols, "show", &sizes), -ENOENT);
	if (data_symbols_find(symbols, "sizes", &sizes) == 0 &&
	    data_symbols_find(symbols, "weight", &weight) == 0)
		*ret_distance = (int64_t)(weight - sizes);
}

static void variables_are_found_by_their_symbols(void **state)
{
	_cleanup_(plan_free_p) struct plan *plan = NULL;
	const struct abi_usdt_arg *args;
	int64_t distance = 0;

	(void)state;
	plan_of_variables("-shared -fPIC", &plan, &distance);
	assert_int_equal(plan->n_probes, 1);
	args = plan->probes[0].sample.arg;
	assert_int_equal(args[ABI_SAMPLE_SIZE].place, ABI_USDT_MEMORY);
	assert_int_not_equal(distance, 0);
	assert_int_equal(args[ABI_SAMPLE_WEIGHT].value - (args[ABI_SAMPLE_SIZE].value - 8),
			 distance);
	assert_int_equal(plan->n_skipped, 1);
	assert_ptr_equal(plan->skipped[0].why, why_variable);
}

static void of_a_stripped_file_nothing_is_guessed(void **state)
{
	_cleanup_(plan_free_p) struct plan *plan = NULL;
	int64_t distance = 0;

	(void)state;
	plan_of_variables("-shared -fPIC -s", &plan, &distance);
	assert_int_equal(distance, 0);
	assert_int_equal(plan->n_probes, 0);
	assert_int_equal(plan->n_skipped, 2);
	assert_ptr_equal(plan->skipped[0].why, why_variable);
}
#endif

static void a_file_without_probes_has_an_empty_plan(void **state)
{
	_cleanup_close_ int fd = build_object("int main(void) { return 0; }", "");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_(plan_free_p) struct plan *plan = NULL;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(sample_plan_new(file, false, &plan), 0);
	assert_int_equal(plan->n_probes, 0);
	assert_int_equal(plan->n_skipped, 0);
	assert_true(plan->loads_others);
}

static void a_size_is_kept_to_half_a_thousandth(void **state)
{
	(void)state;
	for (uint64_t size = 0; size < 2048; size++)
		assert_int_equal(abi_sample_size(abi_sample_size_code(size)), size);
	for (uint64_t size = 2048; size < UINT64_C(1) << ABI_SIZE_BITS; size += size / 777 + 1) {
		double kept = (double)abi_sample_size(abi_sample_size_code(size));

		assert_true(fabs(kept / (double)size - 1) <= 1.0 / 2048);
	}
	/* Hostile ones are the largest that a block can be. */
	assert_int_equal(abi_sample_size_code(UINT64_MAX),
			 abi_sample_size_code((UINT64_C(1) << ABI_SIZE_BITS) - 1));
}

static void the_interval_doubles_with_each_thirtieth_of_the_room_from_half_of_it_on(void **state)
{
	(void)state;
	assert_int_equal(abi_sample_doublings(-3, 3000), 0);
	assert_int_equal(abi_sample_doublings(1499, 3000), 0);
	assert_int_equal(abi_sample_doublings(1500, 3000), 1);
	assert_int_equal(abi_sample_doublings(1500 + 101, 3000), 2);
	assert_int_equal(abi_sample_doublings(1500 + 14 * 101, 3000), ABI_SAMPLE_DOUBLINGS);
	assert_int_equal(abi_sample_doublings(1500 + 15 * 101, 3000), ABI_SAMPLE_NO_ROOM);
	assert_int_equal(abi_sample_doublings(INT64_MAX, 3000), ABI_SAMPLE_NO_ROOM);
	/* The smallest room has all of them, too. */
	for (uint32_t live = 512, last = 0; live < 1040; live++) {
		uint32_t doublings = abi_sample_doublings(live, 1024);

		assert_in_range(doublings, last, last + 1);
		last = doublings;
	}
}

static void an_interval_is_told_from_what_we_made_of_it(void **state)
{
	const struct abi_proc proc = { .sample_interval = ABI_SAMPLE_OWN | ABI_SAMPLE_IMAGE |
							  UINT64_C(3) << ABI_SAMPLE_THINNED_SHIFT |
							  524288 };

	(void)state;
	assert_int_equal(ABI_SAMPLE_SHOWN(proc.sample_interval), 524288);
	assert_int_equal(ABI_SAMPLE_THINNED(proc.sample_interval), 3);
	assert_int_equal(ABI_SAMPLE_INTERVAL(&proc), 8 * 524288);
}

static void a_weight_is_kept_beside_it_to_the_byte(void **state)
{
	const struct abi_block block = { .size_fn = abi_sample_size_fn(UINT64_C(123456789), 4096) };

	/* One that was chosen for certain stands for itself, to the byte. */
	const struct abi_block large = { .size_fn = abi_sample_size_fn(100 << 20, 100 << 20) };

	(void)state;
	assert_int_equal(ABI_BLOCK_SIZE(&block), 123456789);
	assert_int_equal(abi_sampled_size(&block), 4096);
	assert_int_equal(abi_sampled_beyond(&block, 524288), 123456789 - 4096);
	assert_int_equal(abi_sampled_size(&large), 100 << 20);
	assert_int_equal(abi_sampled_beyond(&large, 524288), 0);
	/* Of a number of intervals nothing is certain. */
	assert_int_equal(abi_sampled_beyond(&large, ABI_SAMPLE_MULTIPLES | 524288), 524288);
}

static void a_sample_counts_for_as_many_blocks_as_it_stands_for(void **state)
{
	const double one = 1 << ABI_SAMPLE_BLOCK_SHIFT, unit = 1 << ABI_SAMPLE_VARIANCE_SHIFT;
	static const struct {
		uint64_t weight, size, interval;
	} cases[] = {
		{ 524288, 24, 524288 },	      { 524288, 1, 524288 },
		{ 524288, 4096, 524288 },     { 1048576, 1000000, 524288 },
		{ 65536, 48, 65536 },	      { 3 << 19, 100000, 524288 },
		{ 1 << 30, 1 << 30, 524288 }, { 524288, 300000, 524288 },
		{ 1 << 30, 64, 1 << 30 },     { 1 << 30, 16, 1 << 30 },
		{ 1 << 30, 24, 1 << 30 },     { UINT64_C(1) << 33, 48, UINT64_C(1) << 31 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double weight = (double)cases[i].weight, size = (double)cases[i].size;
		double interval = (double)cases[i].interval;
		double variance = weight * interval / (size * size);

		assert_true(fabs((double)abi_sample_blocks(cases[i].weight, cases[i].size) / one -
				 weight / size) <= 1 / one);
		assert_true(fabs((double)abi_sample_variance(cases[i].weight, cases[i].size,
							     cases[i].interval) /
					 unit -
				 variance) <= 1 / unit + variance / 50);
	}
	/* A block of size 0 is none that bytes can have chosen: it must not end the program. */
	assert_int_equal(abi_sample_blocks(1, 0), 1 << ABI_SAMPLE_BLOCK_SHIFT);
}

static uint64_t weight_of(double size, double interval)
{
	return (uint64_t)llround(size / -expm1(-size / interval));
}

static void the_interval_is_told_by_a_weight_and_its_size(void **state)
{
	const double interval = 524288;

	(void)state;
	for (double size = 1; size < 3 * interval; size = floor(size * 1.5) + 1) {
		double told =
			(double)abi_sample_interval(weight_of(size, interval), (uint64_t)size);

		assert_true(told >= interval * 0.997 - 2 && told <= interval * 1.035 + 2);
	}
	/* What was chosen for certain tells no more than the most that it can be. */
	assert_int_equal(abi_sample_interval(100 << 20, 100 << 20), ABI_SAMPLE_USUAL_INTERVAL);
	assert_int_equal(abi_sample_interval(1, 1), 1);
	assert_true(abi_sample_interval((UINT64_C(1) << ABI_SIZE_BITS) - 1,
					(UINT64_C(1) << ABI_SIZE_BITS) - 2) > 0);
}

/* Blocks of many intervals tell nothing, and take nothing of what small ones have told. */
static void the_smallest_block_tells_the_interval(void **state)
{
	static const double sizes[] = { 947664, 100 << 20, 300000, 64, 65536, 2000000, 24, 947664 };
	uint64_t least = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t weight = weight_of(sizes[i], 65536);

		assert_false(abi_sample_is_multiple(least, weight, (uint64_t)sizes[i]));
		least = abi_sample_least(least, weight, (uint64_t)sizes[i]);
	}
	assert_in_range(abi_sample_told(least, 0), 65534, 65538);
}

static void weights_that_are_multiples_are_told_from_the_contracts(void **state)
{
	uint64_t least = 0;

	(void)state;
	/* Sizes as close as there are: rounded weights are the same, and are the contract's. */
	for (uint64_t size = 1; size < 100000; size++) {
		uint64_t weight = weight_of((double)size, 524288);

		assert_false(abi_sample_is_multiple(least, weight, size));
		least = abi_sample_least(0, weight, size);
	}
	assert_false(abi_sample_is_multiple(abi_sample_least(0, 524288, 64), 524288, 65));
	assert_true(abi_sample_is_multiple(abi_sample_least(0, 524288, 64), 524288, 640));
	assert_true(abi_sample_is_multiple(abi_sample_least(0, 524288, 64), 524288, 600000));
	assert_true(abi_sample_is_multiple(0, 524288, 600000));
	assert_int_equal(abi_sample_told(abi_sample_least(0, 524288, 64), ABI_SAMPLE_MULTIPLES),
			 524288 | ABI_SAMPLE_MULTIPLES);
}

static void the_variance_of_bytes_is_the_weight_times_its_excess(void **state)
{
	(void)state;
	assert_int_equal(abi_sample_bytes_variance(524288, 524288 - 64),
			 524288ULL * (524288 - 64) >> ABI_SAMPLE_BYTES_SHIFT);
	assert_int_equal(abi_sample_bytes_variance(UINT64_C(1) << 45, 0), 0);
	/* Of huge ones it is bounded. */
	assert_int_equal(abi_sample_bytes_variance(UINT64_C(1) << 45, UINT64_C(1) << 45),
			 UINT64_C(1) << (66 - ABI_SAMPLE_BYTES_SHIFT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(a_plan_has_frees_first_and_says_what_it_cannot_read),
		cmocka_unit_test(our_library_alone_tells_its_interval),
		cmocka_unit_test(variables_are_found_by_their_symbols),
		cmocka_unit_test(of_a_stripped_file_nothing_is_guessed),
#endif
		cmocka_unit_test(a_file_without_probes_has_an_empty_plan),
		cmocka_unit_test(a_size_is_kept_to_half_a_thousandth),
		cmocka_unit_test(a_weight_is_kept_beside_it_to_the_byte),
		cmocka_unit_test(
			the_interval_doubles_with_each_thirtieth_of_the_room_from_half_of_it_on),
		cmocka_unit_test(an_interval_is_told_from_what_we_made_of_it),
		cmocka_unit_test(the_interval_is_told_by_a_weight_and_its_size),
		cmocka_unit_test(the_smallest_block_tells_the_interval),
		cmocka_unit_test(weights_that_are_multiples_are_told_from_the_contracts),
		cmocka_unit_test(the_variance_of_bytes_is_the_weight_times_its_excess),
		cmocka_unit_test(a_sample_counts_for_as_many_blocks_as_it_stands_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
