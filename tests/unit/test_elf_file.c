/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_file.h"

#include "build_object.h"
#include "skip_because.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char library_source[] =
	"#include <stdlib.h>\n"
	"extern void *outside(int);\n"
	"void *(*keep)(int) = outside;\n"
	"int variable = 1;\n"
	"void *visible(int n) { return n ? outside(n) : malloc(1); }\n"
	"static __attribute__((noinline)) int hidden(int n) { return n * variable; }\n"
	"int uses_hidden(int n) { return hidden(n) + 1; }\n"
	"static void *pick(void) { return (void *)hidden; }\n"
	"int chosen(int) __attribute__((ifunc(\"pick\")));\n";

/* A descriptor of a file with these bytes. */
static int memory_file(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static const struct elf_symbol *find_symbol(const struct elf_file *file, const char *name)
{
	const struct elf_symbol *symbols;
	size_t n;

	symbols = elf_file_symbols(file, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return &symbols[i];
	return NULL;
}

static Elf64_Ehdr sane_header(void)
{
	return (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
}

static void what_is_no_elf_file_is_said_to_be_none(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = { { "", 0 }, { "x", 1 }, { "#!/bin/sh\nexit 0\n", 17 }, { "!<arch>\n", 8 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_close_ int fd = memory_file(cases[i].bytes, cases[i].len);
		struct elf_file *file = NULL;

		assert_int_equal(elf_file_new(fd, &file), -ENOEXEC);
		assert_null(file);
	}
}

static void a_directory_and_a_bad_descriptor_are_errors(void **state)
{
	_cleanup_close_ int fd = open("/", O_RDONLY | O_CLOEXEC);
	struct elf_file *file = NULL;

	(void)state;
	assert_int_equal(elf_file_new(fd, &file), -ENOEXEC);
	assert_int_equal(elf_file_new(-1, &file), -EBADF);
	assert_null(file);
}

static void headers_are_checked(void **state)
{
	enum { TYPE_REL, CLASS_32, BIG_ENDIAN_DATA, SECTIONS_OUTSIDE, SEGMENTS_OUTSIDE, EMPTY };
	static const struct {
		int what, error;
	} cases[] = {
		{ TYPE_REL, -EOPNOTSUPP },	  { CLASS_32, -EOPNOTSUPP },
		{ BIG_ENDIAN_DATA, -EOPNOTSUPP }, { SECTIONS_OUTSIDE, -EBADMSG },
		{ SEGMENTS_OUTSIDE, -EBADMSG },	  { EMPTY, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
		Elf64_Ehdr header = sane_header();
		_cleanup_close_ int fd = -1;

		if (cases[i].what == TYPE_REL)
			header.e_type = ET_REL;
		if (cases[i].what == CLASS_32)
			header.e_ident[EI_CLASS] = ELFCLASS32;
		if (cases[i].what == BIG_ENDIAN_DATA)
			header.e_ident[EI_DATA] = ELFDATA2MSB;
		if (cases[i].what == SECTIONS_OUTSIDE) {
			header.e_shoff = 1 << 20;
			header.e_shnum = 3;
		}
		if (cases[i].what == SEGMENTS_OUTSIDE) {
			header.e_phoff = sizeof(header);
			header.e_phnum = 3;
		}
		fd = memory_file(&header, sizeof(header));
		assert_int_equal(elf_file_new(fd, &file), cases[i].error);
		if (cases[i].error == 0)
			assert_false(elf_file_has_symbols(file));
	}
}

static void segments_outside_the_file_are_damage(void **state)
{
	static const struct {
		uint64_t offset, vaddr, size;
		int error;
	} cases[] = {
		{ 0, 0, sizeof(Elf64_Ehdr), 0 }, { 0, 0, 1 << 20, -EBADMSG },
		{ 1 << 20, 0, 1, -EBADMSG },	 { UINT64_MAX, 0, 2, -EBADMSG },
		{ 2, 0, UINT64_MAX, -EBADMSG },	 { 0, UINT64_MAX - 4, 16, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
		struct {
			Elf64_Ehdr header;
			Elf64_Phdr segment;
		} bytes = { .header = sane_header() };
		_cleanup_close_ int fd = -1;

		bytes.header.e_phoff = sizeof(bytes.header);
		bytes.header.e_phnum = 1;
		bytes.segment = (Elf64_Phdr){ .p_type = PT_LOAD,
					      .p_offset = cases[i].offset,
					      .p_vaddr = cases[i].vaddr,
					      .p_filesz = cases[i].size };
		fd = memory_file(&bytes, sizeof(bytes));
		assert_int_equal(elf_file_new(fd, &file), cases[i].error);
	}
}

static void more_segments_than_any_linker_makes_are_damage(void **state)
{
	enum { LIMIT = 128 };
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[LIMIT + 1];
	} bytes = { .header = sane_header() };

	(void)state;
	bytes.header.e_phoff = sizeof(bytes.header);
	for (size_t i = 0; i <= LIMIT; i++)
		bytes.segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = 1, .p_vaddr = i };
	for (uint16_t n = LIMIT; n <= LIMIT + 1; n++) {
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
		_cleanup_close_ int fd = -1;

		bytes.header.e_phnum = n;
		fd = memory_file(&bytes, sizeof(bytes));
		assert_int_equal(elf_file_new(fd, &file), n > LIMIT ? -EBADMSG : 0);
	}
}

static void a_file_cut_short_anywhere_is_damaged_or_none(void **state)
{
	_cleanup_close_ int fd = build_object(library_source, "-shared -fPIC");
	_cleanup_free_ uint8_t *bytes = NULL;
	struct stat st;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	for (size_t len = 0; len < (size_t)st.st_size; len += len < 600 ? 1 : 97) {
		_cleanup_close_ int cut = memory_file(bytes, len);
		struct elf_file *file = NULL;
		int r = elf_file_new(cut, &file);

		assert_true(r == -EBADMSG || (r == -ENOEXEC && len < sizeof(Elf64_Ehdr)));
		assert_null(file);
	}
}

static void functions_of_both_tables_are_listed_by_address(void **state)
{
	_cleanup_close_ int fd = build_object(library_source, "-shared -fPIC");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	const struct elf_symbol *symbols, *visible;
	size_t n;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	lseek(fd, 5, SEEK_SET);
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(elf_file_machine(file), EM_X86_64);
	assert_int_equal(elf_file_type(file), ET_DYN);
	assert_true(elf_file_has_symbols(file));
	visible = find_symbol(file, "visible");
	assert_non_null(visible);
	assert_true(visible->size > 0);
	assert_false(visible->is_ifunc);
	assert_non_null(find_symbol(file, "hidden"));
	assert_non_null(find_symbol(file, "chosen"));
	assert_true(find_symbol(file, "chosen")->is_ifunc);
	assert_null(find_symbol(file, "variable"));
	assert_null(find_symbol(file, "outside"));

	symbols = elf_file_symbols_at(file, visible->value, &n);
	assert_int_equal(n, 2); /* .dynsym and .symtab */
	assert_string_equal(symbols[0].name, "visible");
	assert_string_equal(symbols[1].name, "visible");
	assert_null(elf_file_symbols_at(file, visible->value + 1, &n));
	assert_int_equal(n, 0);
	symbols = elf_file_symbols(file, &n);
	for (size_t i = 1; i < n; i++)
		assert_true(symbols[i - 1].value <= symbols[i].value);
}

static void stripping_leaves_the_dynamic_symbols(void **state)
{
	_cleanup_close_ int fd = build_object(library_source, "-shared -fPIC -s");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_true(elf_file_has_symbols(file));
	assert_non_null(find_symbol(file, "visible"));
	assert_null(find_symbol(file, "hidden"));
}

static void bytes_are_read_where_they_are_mapped(void **state)
{
	_cleanup_close_ int fd = build_object(library_source, "-shared -fPIC");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	uint8_t by_vaddr[8192], by_offset[8192];
	uint64_t offset;
	const struct elf_symbol *visible;
	size_t n;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	visible = find_symbol(file, "visible");
	assert_non_null(visible);
	assert_int_equal(elf_file_offset_of(file, visible->value, &offset), 0);
	n = elf_file_read_text(file, visible->value, by_vaddr, visible->size);
	assert_int_equal(n, visible->size);
	assert_int_equal(pread(fd, by_offset, n, (off_t)offset), n);
	assert_memory_equal(by_vaddr, by_offset, n);

	/* The first segment holds the headers, and ends where its file part ends. */
	n = elf_file_read(file, 0, by_vaddr, sizeof(by_vaddr));
	assert_true(n > sizeof(Elf64_Ehdr) && n < sizeof(by_vaddr));
	assert_int_equal(pread(fd, by_offset, n, 0), n);
	assert_memory_equal(by_vaddr, by_offset, n);
	assert_int_equal(elf_file_read_text(file, 0, by_vaddr, 1), 0);
	assert_int_equal(elf_file_read(file, UINT64_MAX, by_vaddr, 1), 0);
	assert_int_equal(elf_file_offset_of(file, UINT64_MAX, &offset), -ENOENT);
}

static void a_file_truncated_while_in_use_reads_short(void **state)
{
	_cleanup_close_ int fd = build_object(library_source, "-shared -fPIC"), copy = -1;
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct stat st;
	uint8_t byte;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	copy = memory_file(bytes, (size_t)st.st_size);
	assert_int_equal(elf_file_new(copy, &file), 0);
	assert_int_equal(ftruncate(copy, 0), 0);
	assert_int_equal(elf_file_read(file, find_symbol(file, "visible")->value, &byte, 1), 0);
}

static void pointers_to_imported_functions_have_their_names(void **state)
{
	_cleanup_close_ int fd = build_object(library_source, "-shared -fPIC -Wl,-z,lazy");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	bool has_outside = false, has_malloc = false;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	for (uint64_t slot = 0; slot < 0x10000; slot += 8) {
		const char *name = elf_file_slot_symbol(file, slot);

		has_outside |= name && strcmp(name, "outside") == 0;
		has_malloc |= name && strcmp(name, "malloc") == 0;
	}
	assert_true(has_outside);
	assert_true(has_malloc);
	assert_null(elf_file_slot_symbol(file, UINT64_MAX));
}

static void pointers_that_a_resolver_fills_have_the_name_of_what_it_chooses(void **state)
{
	static const char source[] = "static int one(void) { return 1; }\n"
				     "static void *choose(void) { return one; }\n"
				     "__attribute__((visibility(\"hidden\"), ifunc(\"choose\")))\n"
				     "int chosen(void);\n"
				     "int use(void) { return chosen() + 1; }\n";
	_cleanup_close_ int fd = build_object(source, "-shared -fPIC");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	bool found = false;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(elf_file_new(fd, &file), 0);
	for (uint64_t slot = 0; slot < 0x10000; slot += 8) {
		const char *name = elf_file_slot_symbol(file, slot);

		found |= name && strcmp(name, "chosen") == 0;
	}
	assert_true(found);
}

static void static_executables_are_told_from_others(void **state)
{
	static const char program[] = "int main(void) { return 0; }\n";
	static const struct {
		const char *source, *flags;
		bool is_static, loads_others;
	} cases[] = {
		{ program, "-static", true, false },
		{ program, "-static-pie", true, false },
		{ program, "-pie -fPIE", false, true },
		{ program, "-no-pie", false, true },
		/* with a dynamic linker, which has nothing to load */
		{ program, "-pie -fPIE -nostdlib -Wl,-e,main", false, false },
		{ library_source, "-shared -fPIC -nostdlib", false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_close_ int fd = build_object(cases[i].source, cases[i].flags);
		_cleanup_(elf_file_free_p) struct elf_file *file = NULL;

		if (fd < 0)
			skip_because("no object can be built here");
		assert_int_equal(elf_file_new(fd, &file), 0);
		assert_int_equal(elf_file_is_static_executable(file), cases[i].is_static);
		assert_int_equal(elf_file_loads_others(file), cases[i].loads_others);
	}
}

static void the_build_id_is_the_linker_s(void **state)
{
	static const uint8_t wanted[] = { 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4 };
	_cleanup_close_ int fd =
		build_object(library_source, "-shared -fPIC -Wl,--build-id=0xdeadbeef01020304");
	_cleanup_close_ int without =
		build_object(library_source, "-shared -fPIC -Wl,--build-id=none");
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL, *other = NULL;
	const uint8_t *id;

	(void)state;
	if (fd < 0 || without < 0)
		skip_because("no object can be built here");
	assert_int_equal(elf_file_new(fd, &file), 0);
	assert_int_equal(elf_file_build_id(file, &id), sizeof(wanted));
	assert_memory_equal(id, wanted, sizeof(wanted));
	assert_int_equal(elf_file_new(without, &other), 0);
	assert_int_equal(elf_file_build_id(other, &id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_elf_file_is_said_to_be_none),
		cmocka_unit_test(a_directory_and_a_bad_descriptor_are_errors),
		cmocka_unit_test(headers_are_checked),
		cmocka_unit_test(segments_outside_the_file_are_damage),
		cmocka_unit_test(more_segments_than_any_linker_makes_are_damage),
		cmocka_unit_test(a_file_cut_short_anywhere_is_damaged_or_none),
		cmocka_unit_test(functions_of_both_tables_are_listed_by_address),
		cmocka_unit_test(stripping_leaves_the_dynamic_symbols),
		cmocka_unit_test(bytes_are_read_where_they_are_mapped),
		cmocka_unit_test(a_file_truncated_while_in_use_reads_short),
		cmocka_unit_test(pointers_to_imported_functions_have_their_names),
		cmocka_unit_test(pointers_that_a_resolver_fills_have_the_name_of_what_it_chooses),
		cmocka_unit_test(static_executables_are_told_from_others),
		cmocka_unit_test(the_build_id_is_the_linker_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
