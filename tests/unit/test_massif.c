/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/massif_tree.h"
#include "report/one_process.h"
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"
#define ROOT " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"

/* --- trees ----------------------------------------------------------------------------------- */

static void add(struct massif_tree *tree, uint64_t bytes, const char *const *labels)
{
	assert_int_equal(massif_tree_begin(tree), 0);
	massif_tree_hold(tree, tree->paths.len - 1, bytes);
	for (; *labels; labels++) {
		uint32_t number;

		assert_int_equal(massif_tree_label(tree, *labels, &number), 0);
		assert_int_equal(massif_tree_push(tree, number), 0);
	}
}

#define STACK(...) ((const char *const[]){ __VA_ARGS__, NULL })

static char *written(struct massif_tree *tree, uint32_t threshold, uint64_t total)
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	assert_non_null(file);
	assert_int_equal(massif_tree_write(tree, threshold, total, file), 0);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void places_come_before_their_callers_the_largest_first(void **state)
{
	_cleanup_(massif_tree_done) struct massif_tree tree = { 0 };
	_cleanup_free_ char *text = NULL, *again = NULL;

	(void)state;
	add(&tree, 10, STACK("a", "main"));
	add(&tree, 30, STACK("b", "main"));
	add(&tree, 5, STACK("a", "other"));
	add(&tree, 1, STACK("a", "main"));
	add(&tree, 2, STACK("a"));
	text = written(&tree, 0, 48);
	assert_string_equal(text, "n2: 48" ROOT " n1: 30 b\n"
				  "  n0: 30 main\n"
				  " n3: 18 a\n"
				  "  n0: 11 main\n"
				  "  n0: 5 other\n"
				  "  n0: 2 0x0: ???\n");
	again = written(&tree, 0, 48);
	assert_string_equal(again, text);
}

static void what_is_below_the_threshold_is_one(void **state)
{
	_cleanup_(massif_tree_done) struct massif_tree tree = { 0 };
	_cleanup_free_ char *one = NULL, *two = NULL, *all = NULL;

	(void)state;
	add(&tree, 980, STACK("a"));
	add(&tree, 10, STACK("b", "main"));
	add(&tree, 9, STACK("c", "main"));
	add(&tree, 1, STACK("d", "main"));
	one = written(&tree, 50, 1000);
	assert_string_equal(one, "n4: 1000" ROOT " n0: 980 a\n"
				 " n1: 10 b\n"
				 "  n0: 10 main\n"
				 " n1: 9 c\n"
				 "  n0: 9 main\n"
				 " n0: 1 in 1 place, below massif's threshold (0.50%)\n");
	two = written(&tree, 100, 1000);
	assert_string_equal(two, "n3: 1000" ROOT " n0: 980 a\n"
				 " n1: 10 b\n"
				 "  n0: 10 main\n"
				 " n0: 10 in 2 places, all below massif's threshold (1.00%)\n");
	all = written(&tree, 10000, 1000);
	assert_string_equal(all, "n1: 1000" ROOT " n0: 1000 in 4 places, all below massif's "
				 "threshold (100.00%)\n");
}

static void an_empty_tree_is_its_root(void **state)
{
	_cleanup_(massif_tree_done) struct massif_tree tree = { 0 };
	_cleanup_free_ char *text = NULL;

	(void)state;
	text = written(&tree, 100, 0);
	assert_string_equal(text, "n0: 0" ROOT);
}

static void huge_values_stay_in_order(void **state)
{
	_cleanup_(massif_tree_done) struct massif_tree tree = { 0 };
	_cleanup_free_ char *text = NULL;

	(void)state;
	add(&tree, UINT64_MAX, STACK("a"));
	add(&tree, UINT64_MAX, STACK("b"));
	text = written(&tree, 100, UINT64_MAX);
	assert_string_equal(text, "n2: 18446744073709551615" ROOT " n0: 18446744073709551615 a\n"
				  " n0: 18446744073709551615 b\n");
}

/* --- files ----------------------------------------------------------------------------------- */

/* What runs holds 64 bytes, at the peak 128, in one place. */
static void emit_process(const struct script *s, uint32_t slot, uint32_t pid, uint32_t parent,
			 unsigned int flags, uint64_t allocs)
{
	emit_begin(s, slot, pid, parent, flags, 1000 + slot, "server");
	emit_map(s, slot, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_stack(s, 71 + slot, slot, 2000, 0x10123);
	emit_cut(s, 9000 + slot);
	emit_totals(s, (struct record_totals){ .image = { slot },
					       .allocs = allocs,
					       .bytes = 64 * allocs,
					       .live_bytes = allocs ? 64 : 0,
					       .peak_bytes = allocs ? 128 : 0 });
	if (allocs)
		emit_site(s, (struct record_site){ .image = { slot },
						   .stack = 71 + slot,
						   .allocs = allocs,
						   .live_bytes = 64,
						   .peak_bytes = 128 });
	emit_coverage(s, true, allocs, NULL, 0);
	emit_cut_end(s);
}

static void a_name_loses_nothing_to_comments(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	emit_run(&f.script);
	emit_process(&f.script, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 2);
	emit_symbol(&f.script, APP, 11, 0x1123,
		    { "main::{lambda()#1}::operator()", 0x19, "a#b.c", 7, false });
	text = fixture_report(&f, "massif", NULL);
	assert_non_null(strstr(text, "main::{lambda()@1}::operator() (a@b.c:7)\n"));
	assert_non_null(strstr(text, "mem_heap_B=128\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
				     "heap_tree=peak\nn1: 128"));
	assert_non_null(strstr(text, "mem_heap_B=64\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
				     "heap_tree=detailed\nn1: 64"));
	fixture_done(&f);
}

#define MS 1000000ull

/* 20 samples, each 10 ms from 200 ms on, when the process has run for 50. */
static void emit_samples(const struct script *s)
{
	for (uint64_t i = 0; i < 20; i++) {
		emit(s, &(struct record){ .type = RECORD_SAMPLE,
					  .sample = { .time_ns = 1000 + (200 + 10 * i) * MS } });
		emit(s, &(struct record){ .type = RECORD_SAMPLE_PROCESS,
					  .sample_process = { .live_bytes = 64,
							      .live_blocks = 1,
							      .allocs = 1,
							      .bytes = 64,
							      .rss_bytes = 4096 } });
		emit(s, &(struct record){ .type = RECORD_SAMPLE_SITE,
					  .sample_site = { .stack = 71, .live_bytes = 48 } });
		emit(s, &(struct record){ .type = RECORD_SAMPLE_END });
	}
}

static void each_tenth_snapshot_has_a_tree_and_time_is_the_programs(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	emit_run(&f.script);
	emit_begin(&f.script, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000 + 150 * MS, "server");
	emit_map(&f.script, 0, 0x10000, 0x20000, 0x1000, 1000 + 150 * MS, APP, 11);
	emit_stack(&f.script, 71, 0, 1000 + 160 * MS, 0x10123);
	emit_samples(&f.script);
	emit_cut(&f.script, 1000 + 500 * MS);
	emit_totals(&f.script, (struct record_totals){ .allocs = 1,
						       .bytes = 64,
						       .live_bytes = 64,
						       .live_blocks = 1,
						       .peak_bytes = 64 });
	emit_site(&f.script, (struct record_site){ .stack = 71,
						   .allocs = 1,
						   .live_bytes = 64,
						   .live_blocks = 1,
						   .peak_bytes = 64 });
	emit_coverage(&f.script, true, 1, NULL, 0);
	emit_cut_end(&f.script);
	text = fixture_report(&f, "massif", NULL);
	assert_non_null(strstr(text, "snapshot=0\n#-----------\ntime=50\nmem_heap_B=64\n"
				     "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n"));
	assert_non_null(strstr(text, "snapshot=9\n#-----------\ntime=140\nmem_heap_B=64\n"
				     "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n"
				     "n2: 64" ROOT " n0: 48 0x10122: "));
	assert_non_null(strstr(text, " n0: 16 0x0: [other sites]\n"));
	assert_non_null(strstr(text, "snapshot=19\n#-----------\ntime=240\nmem_heap_B=64\n"
				     "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n"));
	assert_non_null(strstr(text, "\ntime=350\n"));
	fixture_done(&f);
}

static void allocators_are_the_root(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	emit_run(&f.script);
	emit_process(&f.script, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 2);
	emit_cut(&f.script, 9001);
	emit_stack(&f.script, 72, 0, 2000, 0x10123, 0x10234, 0x10345, 0x10456);
	emit_totals(&f.script, (struct record_totals){ .allocs = 2, .peak_bytes = 128 });
	emit_site(&f.script, (struct record_site){ .stack = 72, .allocs = 2, .peak_bytes = 128 });
	emit_coverage(&f.script, true, 2, NULL, 0);
	emit_cut_end(&f.script);
	emit_symbol(&f.script, APP, 11, 0x1123,
		    { "operator new(unsigned long)", 0x19, NULL, 0, false });
	emit_symbol(&f.script, APP, 11, 0x1234,
		    { "operator new[](unsigned long)", 0x19, NULL, 0, false });
	emit_symbol(&f.script, APP, 11, 0x1345, { "make", 0x19, NULL, 0, false });
	emit_symbol(&f.script, APP, 11, 0x1456,
		    { "operator new(unsigned long, Pool&)", 0x19, NULL, 0, false });
	text = fixture_report(&f, "massif", NULL);
	assert_null(strstr(text, ": operator new(unsigned long) "));
	assert_null(strstr(text, ": operator new[](unsigned long) "));
	assert_non_null(strstr(text, "\n n1: 128 0x10344: make "));
	/* what calls another function is none of the allocators */
	assert_non_null(strstr(text, ": operator new(unsigned long, Pool&) "));
	fixture_done(&f);
}

static void processes_are_those_that_allocated(void **state)
{
	_cleanup_free_ char *text = NULL;
	const struct view *view;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	emit_run(&f.script);
	emit_process(&f.script, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 0);
	emit_process(&f.script, 1, 43, RECORD_NO_IMAGE.n, 0, 3);
	emit_process(&f.script, 2, 44, RECORD_NO_IMAGE.n, 0, 0);
	/* what the first 43 has executed */
	emit_process(&f.script, 3, 43, 1, 0, 4);
	emit_process(&f.script, 4, 45, RECORD_NO_IMAGE.n, 0, 5);
	view = fixture_view(&f, NULL);
	assert_int_equal(view_n_processes(view), 5);
	assert_int_equal(view_process(view, 1)->totals.allocs, 4);
	assert_int_equal(one_process_from(view, 0), 1);
	assert_int_equal(one_process_from(view, 2), 4);
	assert_int_equal(one_process_from(view, 5), 5);
	assert_int_equal(one_process_others(view, view_process(view, 1)), 1);
	assert_int_equal(one_process_others(view, view_process(view, 4)), 0);
	text = fixture_report(&f, "massif", NULL);
	assert_non_null(strstr(text, "pid 43, "));
	assert_non_null(strstr(text, ", without 1 other image of this pid\n"));
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_come_before_their_callers_the_largest_first),
		cmocka_unit_test(what_is_below_the_threshold_is_one),
		cmocka_unit_test(an_empty_tree_is_its_root),
		cmocka_unit_test(huge_values_stay_in_order),
		cmocka_unit_test(a_name_loses_nothing_to_comments),
		cmocka_unit_test(each_tenth_snapshot_has_a_tree_and_time_is_the_programs),
		cmocka_unit_test(allocators_are_the_root),
		cmocka_unit_test(processes_are_those_that_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
