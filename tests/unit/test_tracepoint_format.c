/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of Linux 6.18, but for what is behind "print fmt:". */
#include "trace/kernel/tracepoint_format.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

#define HEAD(name, id)                                                                             \
	"name: " name "\nID: " id "\nformat:\n"                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(text, offset, size, sign)                                                            \
	"\tfield:" text ";\toffset:" offset ";\tsize:" size ";\tsigned:" sign ";\n"
#define END "\nprint fmt: \"x\", REC->x\n"

static void parse_ok(const char *text, struct tp_format *format)
{
	/* a copy of its own, so that a sanitizer sees what is read behind its end */
	size_t len = strlen(text);
	char *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, text, len);
	if (tp_format_parse(copy, len, format) != 0)
		fail_msg("is not understood: %s", text);
	free(copy);
}

struct expected {
	const char *name;
	uint32_t offset, size, value_size;
	bool is_signed, is_pointer;
	enum tp_field_kind kind;
};

/* The own fields of `text`, behind the four common ones. */
static void check_fields(const char *text, const struct expected *expected, size_t n)
{
	_cleanup_(tp_format_done) struct tp_format format = { 0 };

	parse_ok(text, &format);
	assert_int_equal(format.n_fields, n + 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(format.fields[i].is_common);
	for (size_t i = 0; i < n; i++) {
		const struct tp_field *field = &format.fields[i + 4];

		assert_string_equal(field->name, expected[i].name);
		assert_false(field->is_common);
		if (field->offset != expected[i].offset || field->size != expected[i].size ||
		    field->value_size != expected[i].value_size ||
		    field->is_signed != expected[i].is_signed ||
		    field->is_pointer != expected[i].is_pointer || field->kind != expected[i].kind)
			fail_msg("%s.%s: offset %u, size %u, value %u, signed %d, pointer %d, "
				 "kind %d",
				 format.name, field->name, field->offset, field->size,
				 field->value_size, field->is_signed, field->is_pointer,
				 field->kind);
	}
}

/* clang-format off */
static const char sched_switch[] = HEAD("sched_switch", "372")
	FIELD("char prev_comm[16]", "8", "16", "0")
	FIELD("pid_t prev_pid", "24", "4", "1")
	FIELD("int prev_prio", "28", "4", "1")
	FIELD("long prev_state", "32", "8", "1")
	FIELD("char next_comm[16]", "40", "16", "0")
	FIELD("pid_t next_pid", "56", "4", "1")
	FIELD("int next_prio", "60", "4", "1") END;
static const char sys_enter_read[] = HEAD("sys_enter_read", "842")
	FIELD("int __syscall_nr", "8", "4", "1")
	FIELD("unsigned int fd", "16", "8", "0")
	FIELD("char * buf", "24", "8", "0")
	FIELD("size_t count", "32", "8", "0") END;
static const char sys_exit_read[] = HEAD("sys_exit_read", "841")
	FIELD("int __syscall_nr", "8", "4", "1")
	FIELD("long ret", "16", "8", "1") END;
static const char mm_page_alloc[] = HEAD("mm_page_alloc", "653")
	FIELD("unsigned long pfn", "8", "8", "0")
	FIELD("unsigned int order", "16", "4", "0")
	FIELD("unsigned long gfp_flags", "24", "8", "0")
	FIELD("int migratetype", "32", "4", "1") END;
static const char block_io_start[] = HEAD("block_io_start", "2102")
	FIELD("dev_t dev", "8", "4", "0")
	FIELD("sector_t sector", "16", "8", "0")
	FIELD("unsigned short ioprio", "32", "2", "0")
	FIELD("char rwbs[10]", "34", "10", "0")
	FIELD("__data_loc char[] cmd", "60", "4", "0") END;
static const char fib_table_lookup[] = HEAD("fib_table_lookup", "2264")
	FIELD("u8 proto", "24", "1", "0")
	FIELD("__u8 src[4]", "28", "4", "0")
	FIELD("__u8 gw6[16]", "40", "16", "0")
	FIELD("u16 sport", "56", "2", "0") END;
static const char sys_enter[] = HEAD("sys_enter", "21")
	FIELD("long id", "8", "8", "1")
	FIELD("unsigned long args[6]", "16", "48", "0") END;
static const char print[] = HEAD("print", "5")
	FIELD("unsigned long ip", "8", "8", "0")
	FIELD("char buf[]", "16", "0", "0") END;
/* clang-format on */

#define CHECK(text, ...)                                                                           \
	do {                                                                                       \
		static const struct expected expected[] = { __VA_ARGS__ };                         \
		check_fields(text, expected, N_ELEMENTS(expected));                                \
	} while (0)

static void fields_of_tracepoints_are_as_the_kernel_declares_them(void **state)
{
	(void)state;
	CHECK(sched_switch, { "prev_comm", 8, 16, 16, false, false, TP_FIELD_STRING },
	      { "prev_pid", 24, 4, 4, true, false, TP_FIELD_INT },
	      { "prev_prio", 28, 4, 4, true, false, TP_FIELD_INT },
	      { "prev_state", 32, 8, 8, true, false, TP_FIELD_INT },
	      { "next_comm", 40, 16, 16, false, false, TP_FIELD_STRING },
	      { "next_pid", 56, 4, 4, true, false, TP_FIELD_INT },
	      { "next_prio", 60, 4, 4, true, false, TP_FIELD_INT });
	CHECK(mm_page_alloc, { "pfn", 8, 8, 8, false, false, TP_FIELD_INT },
	      { "order", 16, 4, 4, false, false, TP_FIELD_INT },
	      { "gfp_flags", 24, 8, 8, false, false, TP_FIELD_INT },
	      { "migratetype", 32, 4, 4, true, false, TP_FIELD_INT });
	CHECK(block_io_start, { "dev", 8, 4, 4, false, false, TP_FIELD_INT },
	      { "sector", 16, 8, 8, false, false, TP_FIELD_INT },
	      { "ioprio", 32, 2, 2, false, false, TP_FIELD_INT },
	      { "rwbs", 34, 10, 10, false, false, TP_FIELD_STRING },
	      { "cmd", 60, 4, 4, false, false, TP_FIELD_DYNAMIC });
	CHECK(fib_table_lookup, { "proto", 24, 1, 1, false, false, TP_FIELD_INT },
	      { "src", 28, 4, 4, false, false, TP_FIELD_ARRAY },
	      { "gw6", 40, 16, 16, false, false, TP_FIELD_ARRAY },
	      { "sport", 56, 2, 2, false, false, TP_FIELD_INT });
	CHECK(sys_enter, { "id", 8, 8, 8, true, false, TP_FIELD_INT },
	      { "args", 16, 48, 48, false, false, TP_FIELD_ARRAY });
	CHECK(print, { "ip", 8, 8, 8, false, false, TP_FIELD_INT },
	      { "buf", 16, 0, 0, false, false, TP_FIELD_STRING });
}

static void a_system_calls_slots_hold_values_of_their_types(void **state)
{
	(void)state;
	CHECK(sys_enter_read, { "__syscall_nr", 8, 4, 4, true, false, TP_FIELD_INT },
	      { "fd", 16, 8, 4, false, false, TP_FIELD_INT },
	      { "buf", 24, 8, 8, false, true, TP_FIELD_INT },
	      { "count", 32, 8, 8, false, false, TP_FIELD_INT });
	CHECK(sys_exit_read, { "__syscall_nr", 8, 4, 4, true, false, TP_FIELD_INT },
	      { "ret", 16, 8, 8, true, false, TP_FIELD_INT });
}

static void types_of_arguments_say_what_of_a_slot_counts(void **state)
{
	static const struct {
		const char *type;
		uint32_t value_size;
		bool is_signed, is_pointer;
	} cases[] = {
		{ "int", 4, true, false },
		{ "const int", 4, true, false },
		{ "unsigned", 4, false, false },
		{ "u32", 4, false, false },
		{ "const __u32", 4, false, false },
		{ "__s32", 4, true, false },
		{ "long", 8, true, false },
		{ "unsigned long", 8, false, false },
		{ "off_t", 8, true, false },
		{ "loff_t", 8, true, false },
		{ "const size_t", 8, false, false },
		{ "aio_context_t", 8, false, false },
		{ "pid_t", 4, true, false },
		{ "uid_t", 4, false, false },
		{ "key_t", 4, true, false },
		{ "key_serial_t", 4, true, false },
		{ "const clockid_t", 4, true, false },
		{ "timer_t", 4, true, false },
		{ "mqd_t", 4, true, false },
		{ "rwf_t", 4, true, false },
		{ "qid_t", 4, false, false },
		{ "umode_t", 2, false, false },
		{ "const enum landlock_rule_type", 4, false, false },
		{ "struct iocb * *", 8, false, true },
		{ "const char *const *", 8, false, true },
		{ "const struct landlock_ruleset_attr *const", 8, false, true },
		{ "cap_user_header_t", 8, false, true },
		{ "const cap_user_data_t", 8, false, true },
		{ "no_such_t", 8, false, false },
		{ "volatile const", 8, false, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf text = { 0 };
		const struct expected expected = { .name = "x",
						   .offset = 16,
						   .size = 8,
						   .value_size = cases[i].value_size,
						   .is_signed = cases[i].is_signed,
						   .is_pointer = cases[i].is_pointer };

		strbuf_addf(&text, HEAD("sys_enter_x", "1") FIELD("%s x", "16", "8", "0") END,
			    cases[i].type);
		check_fields(strbuf_str(&text), &expected, 1);
	}
}

static void other_forms_of_fields_are_understood(void **state)
{
	(void)state;
	/* on tracepoints that are no system calls a declared size and sign are true */
	CHECK(HEAD("x", "1") FIELD("int odd", "8", "8", "0") END,
	      { "odd", 8, 8, 8, false, false, TP_FIELD_INT });
	/* brackets of __rel_loc are behind the name, and an array's length may be any text */
	CHECK(HEAD("x", "1") FIELD("__rel_loc char name[]", "8", "4", "0")
		      FIELD("unsigned long a[(1 << 2)]", "16", "32", "0")
			      FIELD("struct in6_addr addr", "48", "16", "0")
				      FIELD("struct pair pair", "64", "8", "0")
					      FIELD("void __seg_gs * ptr", "72", "8", "0") END,
	      { "name", 8, 4, 4, false, false, TP_FIELD_DYNAMIC },
	      { "a", 16, 32, 32, false, false, TP_FIELD_ARRAY },
	      { "addr", 48, 16, 16, false, false, TP_FIELD_ARRAY },
	      { "pair", 64, 8, 8, false, false, TP_FIELD_ARRAY },
	      { "ptr", 72, 8, 8, false, true, TP_FIELD_INT });
}

static void names_find_fields(void **state)
{
	_cleanup_(tp_format_done) struct tp_format format = { 0 };
	_cleanup_strbuf_ struct strbuf list = { 0 };

	(void)state;
	parse_ok(sched_switch, &format);
	assert_string_equal(format.name, "sched_switch");
	assert_int_equal(format.id, 372);
	assert_int_equal(tp_format_find(&format, "next_pid")->offset, 56);
	assert_true(tp_format_find(&format, "common_pid")->is_common);
	assert_null(tp_format_find(&format, "next_pi"));
	tp_format_list(&format, TP_FIELD_INT, &list);
	assert_string_equal(strbuf_str(&list),
			    "prev_pid, prev_prio, prev_state, next_pid, next_prio");
}

static void what_is_no_format_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"name: x\nID: 1\nformat:\n",
		"ID: 1\nformat:\n" END,
		"name: x\nformat:\n" END,
		"name: \nID: 1\n" END,
		"name: x\nname: y\nID: 1\n" END,
		"name: x\nID: -1\n" END,
		"name: x\nID: 4294967296\n" END,
		"name: x\nID:\n" END,
		"name: x\nID: 1\nwhat\n" END,
		FIELD("int x", "8", "4", "1") "name: x\nID: 1\n" END,
		HEAD("x", "1") FIELD("x", "8", "4", "1") END,
		HEAD("x", "1") FIELD("", "8", "4", "1") END,
		HEAD("x", "1") FIELD("int x]", "8", "4", "1") END,
		HEAD("x", "1") FIELD("int [4]", "8", "4", "1") END,
		HEAD("x", "1") FIELD("int (*x)(void)", "8", "8", "0") END,
		HEAD("x", "1") FIELD("int x", "", "4", "1") END,
		HEAD("x", "1") FIELD("int x", "8", "4", "2") END,
		HEAD("x", "1") FIELD("int x", "65536", "4", "1") END,
		HEAD("x", "1") FIELD("int x", "8", "65536", "1") END,
		HEAD("x", "1") FIELD("int x", "8", "99999999999", "1") END,
		HEAD("x", "1") FIELD("__data_loc char[] x", "8", "8", "0") END,
		HEAD("x", "1") "\tfield:int x;\tsize:4;\toffset:8;\tsigned:1;\n" END,
		HEAD("x", "1") "\tfield:int x;\toffset:8;\tsize:4" END,
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct tp_format format = { .id = 77 };

		if (tp_format_parse(texts[i], strlen(texts[i]), &format) != -EBADMSG)
			fail_msg("is not refused: %s", texts[i]);
		assert_int_equal(format.id, 77);
	}
}

static void a_name_with_a_nul_in_it_is_refused(void **state)
{
	static const char text[] = "name: x\0y\nID: 1\nformat:\n" END;
	struct tp_format format;

	(void)state;
	assert_int_equal(tp_format_parse(text, sizeof(text) - 1, &format), -EBADMSG);
}

static void a_text_that_was_cut_is_refused(void **state)
{
	size_t whole = (size_t)(strstr(sys_enter_read, "print fmt:") - sys_enter_read);

	(void)state;
	for (size_t len = 0; len < whole; len++) {
		struct tp_format format;

		assert_int_equal(tp_format_parse(sys_enter_read, len, &format), -EBADMSG);
	}
}

static void fields_are_limited_in_number(void **state)
{
	for (size_t n = 252; n <= 253; n++) {
		_cleanup_(tp_format_done) struct tp_format format = { 0 };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		(void)state;
		strbuf_adds(&text, HEAD("x", "1"));
		for (size_t i = 0; i < n; i++)
			strbuf_addf(&text, FIELD("int f%zu", "8", "4", "1"), i);
		strbuf_adds(&text, END);
		assert_int_equal(tp_format_parse(strbuf_str(&text), text.len, &format),
				 n == 252 ? 0 : -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_tracepoints_are_as_the_kernel_declares_them),
		cmocka_unit_test(a_system_calls_slots_hold_values_of_their_types),
		cmocka_unit_test(types_of_arguments_say_what_of_a_slot_counts),
		cmocka_unit_test(other_forms_of_fields_are_understood),
		cmocka_unit_test(names_find_fields),
		cmocka_unit_test(what_is_no_format_is_refused),
		cmocka_unit_test(a_name_with_a_nul_in_it_is_refused),
		cmocka_unit_test(a_text_that_was_cut_is_refused),
		cmocka_unit_test(fields_are_limited_in_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
