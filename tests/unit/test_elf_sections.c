/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_sections.h"

#include "base/cleanup.h"
#include "build_object.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MAX_BYTES (1 << 20)

static const char source[] =
	"__attribute__((section(\".told\"))) const char told[] = \"some bytes\";\n"
	"__attribute__((section(\".cold\"))) int cold(int n) { return n * 3; }\n"
	"int warm(int n) { return cold(n) + 1; }\n";

struct object {
	int fd;
	struct elf_file *file;
};

static void object_done(struct object *object)
{
	elf_file_free(object->file);
	cleanup_close(&object->fd);
}

static struct object open_source(const char *text, const char *flags)
{
	struct object object = { .fd = build_object(text, flags) };

	if (object.fd >= 0)
		assert_int_equal(elf_file_new(object.fd, &object.file), 0);
	return object;
}

static struct object open_built(const char *flags)
{
	return open_source(source, flags);
}

static void a_section_is_read_whole(void **state)
{
	_cleanup_(object_done) struct object object = open_built("-shared -fPIC");
	struct elf_section section = { 0 };
	char by_address[16] = "";

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_section_read(object.file, ".told", MAX_BYTES, &section), 0);
	assert_int_equal(section.len, 11);
	assert_memory_equal(section.bytes, "some bytes", 11);
	assert_int_equal(elf_file_read(object.file, section.vaddr, by_address, 11), 11);
	assert_string_equal(by_address, "some bytes");
	free(section.bytes);
}

static void sections_that_cannot_be_had_are_errors(void **state)
{
	_cleanup_(object_done) struct object object = open_built("-shared -fPIC");
	struct elf_section section = { 0 };

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_section_read(object.file, ".nowhere", MAX_BYTES, &section), -ENOENT);
	assert_int_equal(elf_section_read(object.file, ".bss", MAX_BYTES, &section), -ENOENT);
	assert_int_equal(elf_section_read(object.file, ".told", 10, &section), -EFBIG);
	assert_null(section.bytes);
}

static void a_file_truncated_while_in_use_is_damaged(void **state)
{
	_cleanup_(object_done) struct object object = open_built("-shared -fPIC");
	_cleanup_(object_done) struct object copy = { .fd = -1 };
	_cleanup_free_ uint8_t *bytes = NULL;
	struct elf_section section = { 0 };
	size_t len;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	len = (size_t)elf_file_stat(object.file)->st_size;
	bytes = malloc(len);
	assert_non_null(bytes);
	assert_int_equal(elf_file_read_offset(object.file, 0, bytes, len + 1), len);
	copy.fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(copy.fd, bytes, len), len);
	assert_int_equal(elf_file_new(copy.fd, &copy.file), 0);
	assert_int_equal(elf_section_read(copy.file, ".told", MAX_BYTES, &section), 0);
	free(section.bytes);
	section.bytes = NULL;
	assert_int_equal(ftruncate(copy.fd, 64), 0);
	assert_int_equal(elf_section_read(copy.file, ".told", MAX_BYTES, &section), -EBADMSG);
	assert_null(section.bytes);
}

static void check_decompressed(const char *flags)
{
	_cleanup_(object_done) struct object plain = open_built("-shared -fPIC -g");
	_cleanup_(object_done) struct object packed = open_built(flags);
	struct elf_section a = { 0 }, b = { 0 }, none = { 0 };

	if (plain.fd < 0 || packed.fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_section_read(plain.file, ".debug_str", MAX_BYTES, &a), 0);
	assert_int_equal(elf_section_read(packed.file, ".debug_str", a.len - 1, &none), -EFBIG);
	assert_int_equal(elf_section_read(packed.file, ".debug_str", MAX_BYTES, &b), 0);
	assert_null(none.bytes);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.bytes, b.bytes, a.len);
	free(a.bytes);
	free(b.bytes);
}

static void a_section_compressed_by_zlib_is_decompressed(void **state)
{
	(void)state;
	check_decompressed("-shared -fPIC -g -Wl,--compress-debug-sections=zlib");
}

static void a_section_compressed_by_zstd_is_decompressed(void **state)
{
	(void)state;
	check_decompressed("-shared -fPIC -g -Wl,--compress-debug-sections=zstd");
}

/* 16 MiB of zeros, which become 16 KiB or less. */
static void check_refused(const char *flags)
{
	_cleanup_(object_done) struct object packed =
		open_source("__asm__(\".section .debug_zeros\\n.zero 16777216\\n.text\");", flags);
	struct elf_section section = { 0 };

	if (packed.fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_section_read(packed.file, ".debug_zeros", 32 * MAX_BYTES, &section),
			 -EBADMSG);
	assert_null(section.bytes);
}

static void what_shrinks_beyond_reason_is_refused(void **state)
{
	(void)state;
	check_refused("-shared -fPIC -Wl,--compress-debug-sections=zlib");
	check_refused("-shared -fPIC -Wl,--compress-debug-sections=zstd");
}

static bool is_in(const struct elf_text *texts, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++)
		if (vaddr >= texts[i].vaddr && vaddr - texts[i].vaddr < texts[i].size)
			return true;
	return false;
}

static void code_is_what_lies_in_executable_sections(void **state)
{
	static const char *const flags[] = { "-shared -fPIC",
					     "-shared -fPIC -Wl,-z,noseparate-code",
					     "-shared -fPIC -s" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		_cleanup_(object_done) struct object object = open_built(flags[i]);
		struct elf_section told = { 0 };
		struct elf_text texts[8];
		const struct elf_symbol *symbols;
		size_t n, n_symbols;

		if (object.fd < 0)
			skip_because("no object can be built here");
		n = elf_code(object.file, texts, 8);
		assert_in_range(n, 1, 8);
		symbols = elf_file_symbols(object.file, &n_symbols);
		assert_true(n_symbols >= 2);
		for (size_t j = 0; j < n_symbols; j++)
			assert_true(is_in(texts, n, symbols[j].value));
		for (size_t j = 0; j < n; j++) {
			uint64_t offset;

			assert_int_equal(elf_file_offset_of(object.file, texts[j].vaddr, &offset),
					 0);
			assert_int_equal(offset, texts[j].offset);
		}
		assert_int_equal(elf_section_read(object.file, ".told", MAX_BYTES, &told), 0);
		assert_false(is_in(texts, n, told.vaddr));
		free(told.bytes);
		/* More sections than there is room for: the segments, of which there is one. */
		assert_int_equal(elf_code(object.file, texts, 1), 1);
		assert_true(is_in(texts, 1, symbols[0].value));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_section_is_read_whole),
		cmocka_unit_test(sections_that_cannot_be_had_are_errors),
		cmocka_unit_test(a_file_truncated_while_in_use_is_damaged),
		cmocka_unit_test(a_section_compressed_by_zlib_is_decompressed),
		cmocka_unit_test(a_section_compressed_by_zstd_is_decompressed),
		cmocka_unit_test(what_shrinks_beyond_reason_is_refused),
		cmocka_unit_test(code_is_what_lies_in_executable_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
