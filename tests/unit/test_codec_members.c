/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each record and each message, with each of its bytes set, written and read: a member without a
 * row in its table does not come back.
 */
#include "probe/custom_allocators.h"
#include "tests/codec_values.h"
#include "tests/every_message.h"
#include "trace/record/record_codec.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_TYPES 256

/*
 * A pointer to every struct that has a layout, by its name: where its members are is read in this
 * program's own debug information, as the tables are not to be believed.
 */
static volatile union every_struct {
	struct record_run *record_run;
	struct record_function *record_function;
	struct record_process *record_process;
	struct record_process_end *record_process_end;
	struct record_name *record_name;
	struct record_mapping *record_mapping;
	struct record_unmapping *record_unmapping;
	struct record_stack *record_stack;
	struct record_region *record_region;
	struct record_region_gone *record_region_gone;
	struct record_cut *record_cut;
	struct record_totals *record_totals;
	struct record_site *record_site;
	struct record_coverage *record_coverage;
	struct record_loss *record_loss;
	struct record_unprobed *record_unprobed;
	struct record_sites_differ *record_sites_differ;
	struct record_symbol *record_symbol;
	struct record_symbol_frame *record_symbol_frame;
	struct record_symbol_linkage *record_symbol_linkage;
	struct record_symbol_valgrind *record_symbol_valgrind;
	struct record_histogram *record_histogram;
	struct record_hist_counts *record_hist_counts;
	struct record_bucket *record_bucket;
	struct record_errno *record_errno;
	struct record_event *record_event;
	struct record_event_count *record_event_count;
	struct record_occurrence *record_occurrence;
	struct record_syscall *record_syscall;
	struct record_syscall_file *record_syscall_file;
	struct record_syscall_stack *record_syscall_stack;
	struct record_stack_check *record_stack_check;
	struct record_stack_differs *record_stack_differs;
	struct record_jit_code *record_jit_code;
	struct record_jit_line *record_jit_line;
	struct record_symbols_unread *record_symbols_unread;
	struct record_depth_change *record_depth_change;
	struct record_overhead *record_overhead;
	struct record_cost *record_cost;
	struct record_heap_error *record_heap_error;
	struct record_fault *record_fault;
	struct record_death *record_death;
	struct record_free_pair *record_free_pair;
	struct record_leaks *record_leaks;
	struct record_leak_sum *record_leak_sum;
	struct record_leak_place *record_leak_place;
	struct record_leak_text *record_leak_text;
	struct record_resident *record_resident;
	struct record_sample *record_sample;
	struct record_sample_process *record_sample_process;
	struct record_sample_site *record_sample_site;
	struct record_sample_end *record_sample_end;
	struct elf_build_id *elf_build_id;
	struct elf_stamp *elf_stamp;
	struct object_limits *object_limits;
	struct object_files *object_files;
	struct object_place *object_place;
	struct symbol_look_up *symbol_look_up;
	struct elf_load *elf_load;
	struct elf_facts *elf_facts;
	struct object_counts *object_counts;
	struct symbol_head *symbol_head;
	struct symbol_callee *symbol_callee;
	struct symbol_frame *symbol_frame;
	struct symbol_found *symbol_found;
	struct jitdump_state *jitdump_state;
	struct jit_asked *jit_asked;
	struct jit_head *jit_head;
	struct jit_line *jit_line;
	struct jit_message *jit_message;
	struct abi_sample_spec *abi_sample_spec;
	struct abi_result_site *abi_result_site;
	struct result_site *result_site;
	struct plan_probe *plan_probe;
	struct plan_skipped *plan_skipped;
	struct plan_mark *plan_mark;
	struct plan *plan;
	struct plan_emulation *plan_emulation;
	struct custom_function *custom_function;
	struct object_asked *object_asked;
	struct cfi_key *cfi_key;
	struct abi_unwind_segment *abi_unwind_segment;
	struct cfi_facts *cfi_facts;
	struct stack_start *stack_start;
	struct checkpoint *checkpoint;
	struct elf_needs *elf_needs;
	struct object_facts *object_facts;
	struct object_answer *object_answer;
	struct object_range *object_range;
	struct object_ranges *object_ranges;
	struct object_near *object_near;
	struct keeper_order *keeper_order;
	struct keeper_stopped *keeper_stopped;
	struct file_helper_order *file_helper_order;
	struct file_helper_asked *file_helper_asked;
	struct file_helper_chunk *file_helper_chunk;
	struct open_map *open_map;
	struct open_in_root *open_in_root;
} every_struct;

static bool is_called(Dwarf_Die *die, const char *name)
{
	return dwarf_diename(die) && strcmp(dwarf_diename(die), name) == 0;
}

/* The child of that tag and name. */
static bool find_child(Dwarf_Die *parent, int tag, const char *name, Dwarf_Die *ret_child)
{
	int r = dwarf_child(parent, ret_child);

	while (r == 0 && !(dwarf_tag(ret_child) == tag && is_called(ret_child, name)))
		r = dwarf_siblingof(ret_child, ret_child);
	return r == 0;
}

static void get_type(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attribute;

	assert_non_null(dwarf_formref_die(dwarf_attr(die, DW_AT_type, &attribute), ret_type));
}

static bool find_every_struct(Dwarf *dwarf, Dwarf_Die *ret_every)
{
	Dwarf_Off at = 0, next;
	size_t header;

	for (; dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0; at = next) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf, at + header, &unit) &&
		    find_child(&unit, DW_TAG_union_type, "every_struct", ret_every))
			return true;
	}
	return false;
}

static void mark_members(Dwarf_Die *type, uint8_t *mask)
{
	Dwarf_Die member, member_type;

	for (int r = dwarf_child(type, &member); r == 0; r = dwarf_siblingof(&member, &member)) {
		Dwarf_Attribute attribute;
		Dwarf_Word offset, size;

		if (dwarf_tag(&member) != DW_TAG_member)
			continue;
		assert_int_equal(
			dwarf_formudata(dwarf_attr(&member, DW_AT_data_member_location, &attribute),
					&offset),
			0);
		get_type(&member, &member_type);
		assert_int_equal(dwarf_aggregate_size(&member_type, &size), 0);
		if (dwarf_tag(&member_type) == DW_TAG_structure_type)
			mark_members(&member_type, mask + offset);
		else
			memset(mask + offset, 1, size);
	}
}

static Dwarf *own_debug_info(void)
{
	/* Stays open: libdw reads as it is asked. */
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return dwarf_begin(fd, DWARF_C_READ);
}

static Dwarf *dwarf; /* NULL: there is none */

/* It is as large as its only member, if it has any. */
static bool is_one_value(const struct layout *layout)
{
	const struct field *only = layout->fields;

	return !only->kind || (only->kind <= FIELD_OPTIONAL_COPY && !only[1].kind &&
			       layout->size == FIELD_WIDTH(only->kind));
}

/* Which bytes are members. */
static void find_mask(const struct layout *layout, uint8_t *mask)
{
	Dwarf_Die every, pointer, type;
	int size;

	if (is_one_value(layout)) {
		memset(mask, 1, layout->size);
		return;
	}
	assert_true(find_every_struct(dwarf, &every));
	if (!find_child(&every, DW_TAG_member, layout->name, &pointer))
		fail_msg("struct %s is to be added to every_struct", layout->name);
	get_type(&pointer, &type);
	get_type(&type, &type);
	size = dwarf_bytesize(&type);
	assert_int_equal(size, layout->size);
	mark_members(&type, mask);
}

static void assert_comes_back(const struct layout *layout, const char *a, const char *b);

static void assert_elements_come_back(const struct layout *of, const char *a, const char *b,
				      uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		assert_comes_back(of, a + i * of->size, b + i * of->size);
}

/* How many bytes it has that are compared by values_same() and by the structs' own layouts. */
static size_t compare_inside(const struct field *f, const char *a, const char *b)
{
	const char *in_a = a + f->offset, *in_b = b + f->offset;

	switch (f->kind) {
	case FIELD_LOCAL:
		return f->max;
	case FIELD_STRUCT:
		assert_comes_back(f->of, in_a, in_b);
		return f->of->size;
	case FIELD_REPEAT:
		assert_elements_come_back(f->of, in_a, in_b, f->max);
		return f->max * f->of->size;
	case FIELD_ARRAY:
		assert_elements_come_back(f->of, in_a, in_b, values_count(f, a));
		return f->max * f->of->size;
	case FIELD_LIST:
		assert_elements_come_back(f->of, *(char *const *)in_a, *(char *const *)in_b,
					  values_count(f, a));
		return sizeof(void *);
	case FIELD_POINTER:
		assert_elements_come_back(f->of, *(char *const *)in_a, *(char *const *)in_b, 1);
		return sizeof(void *);
	default:
		return f->kind >= FIELD_STRING && f->kind <= FIELD_OPTIONAL_COPY ? sizeof(void *) :
										   0;
	}
}

static void assert_comes_back(const struct layout *layout, const char *a, const char *b)
{
	_cleanup_free_ uint8_t *mask = calloc(1, layout->size + 1);

	assert_non_null(mask);
	find_mask(layout, mask);
	for (const struct field *f = layout->fields; f->kind; f++) {
		size_t n = compare_inside(f, a, b);

		assert_true(f->offset + n <= layout->size);
		memset(mask + f->offset, 0, n);
	}
	for (size_t i = 0; i < layout->size; i++)
		if (mask[i] && a[i] != b[i])
			fail_msg("struct %s: byte %zu does not come back", layout->name, i);
}

static bool is_of(const struct layout *layout, const char *name)
{
	return strcmp(layout->name, name) == 0;
}

static void mend_probe(struct plan_probe *probe)
{
	const struct allocator_function *row = allocator_function_find(probe->function);

	probe->kind = (uint8_t)(row->kind | (row->may_throw ? ABI_THROWS : 0));
	probe->args = row->args;
	probe->family = 1;
	probe->forms = 2;
}

static void mend_sample(struct abi_sample_spec *spec)
{
	for (size_t i = 0; i < N_ELEMENTS(spec->arg); i++)
		spec->arg[i].place = ABI_USDT_MEMORY;
	spec->is_stand_in = spec->in_link = 1;
}

static void mend_result(struct abi_result_site *see)
{
	see->kind = ABI_RESULT_WHOLE;
	see->condition = ABI_RESULT_ALWAYS;
	see->is_product = 1;
	see->size.place = see->fp.place = see->result.place = ABI_USDT_MEMORY;
	see->factor.place = ABI_USDT_MEMORY;
	see->size.bytes = see->fp.bytes = see->result.bytes = see->factor.bytes = 8;
	see->size.index = see->fp.index = see->result.index = ABI_USDT_NO_INDEX;
	see->factor.index = ABI_USDT_NO_INDEX;
}

static void mend_jit_message(struct jit_message *message)
{
	message->item.is_move = false;
	for (size_t i = 0; i < message->n_lines; i++) {
		message->lines[i].offset += i << 60;
		message->lines[i].file = (uint32_t)(i % message->n_files);
	}
}

/* What checks ask of a value beyond the bounds of its members. */
static void mend(const struct layout *layout, void *value)
{
	struct abi_unwind_segment *segment = value;
	struct jitdump_state *state = value;
	struct symbol_found *found = value;

	if (is_of(layout, "plan_probe"))
		mend_probe(value);
	if (is_of(layout, "abi_sample_spec"))
		mend_sample(value);
	if (is_of(layout, "abi_result_site"))
		mend_result(value);
	if (is_of(layout, "result_site"))
		((struct result_site *)value)->args = ABI_SIZE_PRODUCT(1, 2);
	if (is_of(layout, "jit_message"))
		mend_jit_message(value);
	if (is_of(layout, "abi_unwind_segment"))
		segment->end = segment->offset | UINT64_C(1) << 63;
	if (is_of(layout, "jitdump_state"))
		state->lines_offset = (state->offset &= INT64_MAX) / 2;
	for (size_t i = 0; is_of(layout, "symbol_found") && i < found->n_frames; i++)
		found->frames[i].is_inline = i + 1 < found->n_frames;
}

static void round_trip(const struct layout *layout, bool is_lenient)
{
	struct values_fill fill = { .mend = mend };
	_cleanup_free_ char *sent = calloc(1, layout->size + 1);
	_cleanup_free_ char *got = calloc(1, layout->size + 1);
	_cleanup_strbuf_ struct strbuf bytes = {};
	struct decoder decoder;

	assert_true(sent && got);
	values_fill(&fill, layout, sent);
	codec_write(&bytes, layout, sent, fill.context);
	assert_int_equal(strbuf_error(&bytes), 0);
	decoder = decoder_of(&bytes);
	decoder.is_lenient = is_lenient;
	decoder.file_bytes = VALUES_FILE_BYTES;
	decoder.context = fill.context;
	codec_read(&decoder, layout, got);
	if (decoder_end(&decoder) < 0)
		fail_msg("struct %s was refused", layout->name);
	assert_true(values_same(layout, sent, got));
	assert_comes_back(layout, sent, got);
	codec_done(layout, got);
	values_done(&fill);
}

static int open_debug_info(void **state)
{
	(void)state;
	every_struct.record_run = NULL;
	dwarf = own_debug_info();
	return 0;
}

static int close_debug_info(void **state)
{
	(void)state;
	(void)dwarf_end(dwarf); /* NULL is legal */
	return 0;
}

static void skip_without_debug_info(void)
{
	if (!dwarf) {
		print_message("SKIP: built without debug information\n");
		skip();
	}
}

static void every_member_of_every_record_comes_back(void **state)
{
	size_t n = 0;

	(void)state;
	skip_without_debug_info();
	for (uint32_t type = 0; type < MAX_TYPES; type++) {
		const struct layout *layout = record_layout_find(type);

		if (layout)
			round_trip(layout, true);
		n += layout != NULL;
	}
	assert_true(n > 40);
}

static void every_member_of_every_message_comes_back(void **state)
{
	(void)state;
	skip_without_debug_info();
	for (size_t i = 0; i < N_MESSAGES; i++)
		round_trip(every_message[i], false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_of_every_record_comes_back),
		cmocka_unit_test(every_member_of_every_message_comes_back),
	};

	return cmocka_run_group_tests(tests, open_debug_info, close_debug_info);
}
