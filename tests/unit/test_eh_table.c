/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/eh_table.h"

#include "build_object.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
	"extern void outside(void);\n"
	"static void clean(int *p) { asm volatile(\"\" :: \"r\"(*p)); }\n"
	"__attribute__((noinline)) void with_cleanup(void)\n"
	"{\n"
	"	int x __attribute__((cleanup(clean))) = 1;\n"
	"	asm volatile(\"\" : \"+r\"(x));\n"
	"	outside();\n"
	"}\n"
	"__attribute__((noinline)) int without(void) { outside(); return 1; }\n";

struct object {
	int fd;
	struct elf_file *file;
	struct eh_table *table;
};

static void object_done(struct object *object)
{
	eh_table_free(object->table);
	elf_file_free(object->file);
	cleanup_close(&object->fd);
}

static void open_object(struct object *object)
{
	assert_int_equal(elf_file_new(object->fd, &object->file), 0);
	assert_int_equal(eh_table_new(object->file, &object->table), 0);
}

static struct elf_symbol symbol_of(const struct object *object, const char *name)
{
	const struct elf_symbol *symbols;
	size_t n;

	symbols = elf_file_symbols(object->file, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return symbols[i];
	fail_msg("no symbol %s", name);
	return (struct elf_symbol){ 0 };
}

/* The addresses in a function whose calls have a landing pad: how many, and the pad of one. */
static size_t count_pads(const struct object *object, const struct elf_symbol *symbol,
			 uint64_t *ret_pad)
{
	size_t n = 0;

	for (uint64_t addr = symbol->value; addr < symbol->value + symbol->size; addr++) {
		uint64_t pad = eh_table_landing_pad(object->table, addr);

		if (pad == 0)
			continue;
		n++;
		*ret_pad = pad;
	}
	return n;
}

static void functions_start_where_their_symbols_say(void **state)
{
	_cleanup_(object_done) struct object object = {
		.fd = build_object(source, "-shared -fPIC -fexceptions -s")
	};
	const struct elf_symbol *symbols;
	size_t n;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	open_object(&object);
	symbols = elf_file_symbols(object.file, &n);
	assert_true(n >= 2);
	for (size_t i = 0; i < n; i++) {
		assert_true(eh_table_starts_function(object.table, symbols[i].value));
		assert_false(eh_table_starts_function(object.table, symbols[i].value + 1));
		assert_false(eh_table_starts_function(object.table, symbols[i].value - 1));
	}
	assert_false(eh_table_starts_function(object.table, 0));
	assert_false(eh_table_starts_function(object.table, UINT64_MAX));
}

static void a_call_with_clean_up_has_a_landing_pad(void **state)
{
	_cleanup_(object_done) struct object object = {
		.fd = build_object(source, "-shared -fPIC -fexceptions -fno-reorder-functions "
					   "-fno-reorder-blocks-and-partition")
	};
	struct elf_symbol with, without;
	uint64_t pad = 0;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	open_object(&object);
	with = symbol_of(&object, "with_cleanup");
	without = symbol_of(&object, "without");
	assert_int_equal(count_pads(&object, &without, &pad), 0);
	assert_int_equal(pad, 0);
	assert_int_equal(count_pads(&object, &with, &pad), 5); /* the bytes of one call */
	assert_true(pad > with.value && pad < with.value + with.size);
}

static void libstdcxx_s_nothrow_new_catches(void **state)
{
	_cleanup_(object_done) struct object object = { .fd = open_library("libstdc++.so.6") };
	struct elf_symbol nothrow, plain_delete;
	uint64_t pad = 0;
	uint8_t byte;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	open_object(&object);
	nothrow = symbol_of(&object, "_ZnwmRKSt9nothrow_t");
	plain_delete = symbol_of(&object, "_ZdlPv");
	assert_true(count_pads(&object, &nothrow, &pad) > 0);
	assert_int_equal(elf_file_read_text(object.file, pad, &byte, 1), 1);
	assert_int_equal(count_pads(&object, &plain_delete, &pad), 0);
}

static void without_tables_there_are_no_answers(void **state)
{
	_cleanup_(object_done) struct object object = {
		.fd = build_object(source,
				   "-shared -fPIC -nostdlib -fno-asynchronous-unwind-tables "
				   "-fno-unwind-tables -Wl,--no-eh-frame-hdr")
	};
	struct elf_symbol without;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	open_object(&object);
	without = symbol_of(&object, "without");
	assert_false(eh_table_starts_function(object.table, without.value));
	assert_int_equal(eh_table_landing_pad(object.table, without.value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_start_where_their_symbols_say),
		cmocka_unit_test(a_call_with_clean_up_has_a_landing_pad),
		cmocka_unit_test(libstdcxx_s_nothrow_new_catches),
		cmocka_unit_test(without_tables_there_are_no_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
