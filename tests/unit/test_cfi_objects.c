/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of real objects against elfutils' reader of the same sections: both are carried out on the
 * same made-up registers and memory, and must give the same caller.
 */
#include "elf/cfi/cfi_file.h"

#include "base/hashmap.h"
#include "build_object.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

enum {
	RBX = 3,
	RDI = 5,
	RBP = 6,
	RSP = 7,
	RIP = 16,
	REGISTERS = 17,
	STACK = 32,
	SIGCONTEXT_WORDS = 23
};

struct machine {
	uint64_t reg[REGISTERS];
	uint64_t cfa;
};

struct caller {
	bool is_known, is_end;
	uint64_t rip, rsp, rbp;
	bool rbx_known;
	uint64_t rbx;
};

struct object {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *cfi; /* of .eh_frame: `elf`'s; of .debug_frame: `dwarf`'s */
	struct elf_file *file;
	struct cfi_rows *rows;
};

static void object_done(struct object *object)
{
	cfi_rows_free(object->rows);
	elf_file_free(object->file);
	if (!object->dwarf && object->cfi)
		dwarf_cfi_end(object->cfi);
	dwarf_end(object->dwarf);
	elf_end(object->elf);
	cleanup_close(&object->fd);
}

/* Any function of the address will do, as long as both sides use it. */
static uint64_t memory(uint64_t addr)
{
	return hash_u64(addr);
}

/* What elfutils' operations give; false: this test's evaluator does not know one of them. */
static bool evaluate(const struct machine *m, const Dwarf_Op *ops, size_t n, uint64_t *ret)
{
	uint64_t stack[STACK] = { 0 };
	size_t top = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t atom = ops[i].atom;
		uint64_t x;

		if (top + 1 >= STACK)
			return false;
		if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
			if (atom - DW_OP_breg0 >= REGISTERS)
				return false;
			stack[top++] = m->reg[atom - DW_OP_breg0] + ops[i].number;
			continue;
		}
		if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
			stack[top++] = atom - DW_OP_lit0;
			continue;
		}
		if (atom == DW_OP_bregx) {
			if (ops[i].number >= REGISTERS)
				return false;
			stack[top++] = m->reg[ops[i].number] + ops[i].number2;
			continue;
		}
		if (atom == DW_OP_call_frame_cfa) {
			stack[top++] = m->cfa;
			continue;
		}
		if (top == 0)
			return false;
		if (atom == DW_OP_deref) {
			stack[top - 1] = memory(stack[top - 1]);
			continue;
		}
		if (atom == DW_OP_plus_uconst) {
			stack[top - 1] += ops[i].number;
			continue;
		}
		if (top < 2)
			return false;
		x = stack[--top];
		if (atom == DW_OP_plus)
			stack[top - 1] += x;
		else if (atom == DW_OP_and)
			stack[top - 1] &= x;
		else if (atom == DW_OP_shl)
			stack[top - 1] <<= x;
		else if (atom == DW_OP_ge)
			stack[top - 1] = (int64_t)stack[top - 1] >= (int64_t)x;
		else
			return false;
	}
	/* The CFA may lie below: elfutils pushes it before a register's expression. */
	*ret = top ? stack[top - 1] : 0;
	return top > 0;
}

enum register_kind { REGISTER_SAME, REGISTER_UNDEFINED, REGISTER_VALUE, REGISTER_UNKNOWN };

/* A register of the caller. */
static enum register_kind register_of(const struct machine *m, Dwarf_Frame *frame, int number,
				      uint64_t *ret)
{
	Dwarf_Op memory_ops[3], *ops = NULL;
	size_t n = 0;

	assert_int_equal(dwarf_frame_register(frame, number, memory_ops, &ops, &n), 0);
	if (n == 0)
		return ops ? REGISTER_UNDEFINED : REGISTER_SAME;
	if (n == 1 && ops[0].atom == DW_OP_regx && ops[0].number < REGISTERS) {
		*ret = m->reg[ops[0].number];
		return REGISTER_VALUE;
	}
	if (ops[n - 1].atom == DW_OP_stack_value)
		return evaluate(m, ops, n - 1, ret) ? REGISTER_VALUE : REGISTER_UNKNOWN;
	if (!evaluate(m, ops, n, ret))
		return REGISTER_UNKNOWN;
	*ret = memory(*ret);
	return REGISTER_VALUE;
}

/* The caller by elfutils. */
static struct caller expected_caller(struct machine m, Dwarf_Frame *frame)
{
	struct caller caller = { 0 };
	enum register_kind rip, rsp, rbp;
	Dwarf_Op *ops;
	size_t n;

	rip = register_of(&m, frame, RIP, &caller.rip);
	if (rip == REGISTER_UNDEFINED) {
		caller.is_end = true;
		return caller;
	}
	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || !evaluate(&m, ops, n, &m.cfa))
		return caller;
	rip = register_of(&m, frame, RIP, &caller.rip);
	caller.rsp = m.cfa;
	rsp = register_of(&m, frame, RSP, &caller.rsp);
	caller.rbp = m.reg[RBP];
	rbp = register_of(&m, frame, RBP, &caller.rbp);
	caller.rbx = m.reg[RBX];
	caller.rbx_known = register_of(&m, frame, RBX, &caller.rbx) != REGISTER_UNKNOWN;
	caller.is_known =
		rip == REGISTER_VALUE && rsp != REGISTER_UNKNOWN && rbp != REGISTER_UNKNOWN;
	return caller;
}

/* The caller by a rule: what abi_unwind.h says of each kind. */
static struct caller caller_by_rule(const struct machine *m, const struct abi_unwind_rule *rule)
{
	struct caller caller = { .is_known = true };
	uint64_t sp = m->reg[RSP] + (uint64_t)(int64_t)rule->offset, bp = m->reg[RBP];
	uint64_t cfa = sp;

	switch (rule->kind) {
	case ABI_UNWIND_SP:
		break;
	case ABI_UNWIND_PLT:
		cfa += (m->reg[RIP] & 15) >= (uint64_t)rule->bp_offset ? 8 : 0;
		break;
	case ABI_UNWIND_BP:
		cfa = bp + (uint64_t)(int64_t)rule->offset;
		break;
	case ABI_UNWIND_BP_DEREF:
		cfa = memory(bp + (uint64_t)ABI_UNWIND_DEREF_AT(rule->offset)) +
		      (uint64_t)ABI_UNWIND_DEREF_THEN(rule->offset);
		break;
	case ABI_UNWIND_SP_DEREF:
		cfa = memory(m->reg[RSP] + (uint64_t)ABI_UNWIND_DEREF_AT(rule->offset)) +
		      (uint64_t)ABI_UNWIND_DEREF_THEN(rule->offset);
		break;
	case ABI_UNWIND_SIGNAL: /* struct sigcontext: rbp, rsp, rip */
		caller.rbp = memory(sp + 80);
		caller.rsp = memory(sp + 120);
		caller.rip = memory(sp + 128);
		return caller;
	case ABI_UNWIND_END:
		return (struct caller){ .is_end = true };
	case ABI_UNWIND_RBX:
		cfa = m->reg[RBX] + (uint64_t)(int64_t)rule->offset;
		break;
	case ABI_UNWIND_RA_IN_RDI:
		break;
	default:
		return (struct caller){ 0 };
	}
	caller.rip = rule->kind == ABI_UNWIND_RA_IN_RDI ? m->reg[RDI] : memory(cfa - 8);
	caller.rsp = cfa;
	caller.rbp = bp;
	caller.rbx_known = rule->rbx != ABI_UNWIND_RBX_UNKNOWN;
	caller.rbx = rule->rbx == ABI_UNWIND_RBX_SAME ? m->reg[RBX] : memory(cfa - 8 * rule->rbx);
	if (rule->kind != ABI_UNWIND_PLT && rule->bp == ABI_UNWIND_BP_AT_CFA)
		caller.rbp = memory(cfa + (uint64_t)(int64_t)rule->bp_offset);
	if (rule->kind != ABI_UNWIND_PLT && rule->bp == ABI_UNWIND_BP_AT_BP)
		caller.rbp = memory(bp + (uint64_t)(int64_t)rule->bp_offset);
	return caller;
}

/* Whether the caller is what it is only by rsp and rbp: then a rule must be able to say it. */
static bool depends_on_sp_and_bp_only(const struct machine *m, Dwarf_Frame *frame,
				      const struct caller *caller)
{
	struct machine other = *m;
	struct caller again;
	Dwarf_Op *ops;
	size_t n;

	if (!caller->is_known || dwarf_frame_cfa(frame, &ops, &n) != 0)
		return false;
	for (int i = 0; i < REGISTERS; i++)
		if (i != RSP && i != RBP && i != RIP)
			other.reg[i] = hash_u64(m->reg[i]);
	again = expected_caller(other, frame);
	again.rbx = caller->rbx;
	/* By more than one step through memory, or from elsewhere on the stack, is no rule's. */
	return memcmp(&again, caller, sizeof(again)) == 0 && n == 1 &&
	       caller->rip == memory(caller->rsp - 8);
}

struct tally {
	size_t looked_at, unsupported, known_otherwise, with_rbx, without_rbx;
};

static void compare_at(const struct object *object, uint64_t base, uint32_t rel,
		       struct tally *tally)
{
	const struct abi_unwind_rule *rule = cfi_rule_at(object->rows, rel);
	struct machine m = { 0 };
	struct caller wanted, got;
	Dwarf_Frame *frame = NULL;

	for (int i = 0; i < REGISTERS; i++)
		m.reg[i] = hash_u64(rel + (uint64_t)i);
	m.reg[RIP] = base + rel;
	tally->looked_at++;
	if (dwarf_cfi_addrframe(object->cfi, base + rel, &frame) != 0) {
		/* The entry, and what is told by its code (test_cfi_code.c). */
		tally->known_otherwise += rule->kind != ABI_UNWIND_NONE;
		return;
	}
	wanted = expected_caller(m, frame);
	got = caller_by_rule(&m, rule);
	if (rule->kind == ABI_UNWIND_UNSUPPORTED) {
		tally->unsupported++;
		if (depends_on_sp_and_bp_only(&m, frame, &wanted))
			fail_msg("%#x: a rule could say this", rel);
	} else if (wanted.is_end != got.is_end || wanted.is_known != got.is_known ||
		   wanted.rip != got.rip || wanted.rsp != got.rsp || wanted.rbp != got.rbp) {
		fail_msg("%#x: rule of kind %u, offset %d, rbp %u %d", rel, rule->kind,
			 rule->offset, rule->bp, rule->bp_offset);
	} else if (!got.rbx_known) {
		/* a signal's frame has it with all others */
		tally->without_rbx +=
			rule->kind != ABI_UNWIND_END && rule->kind != ABI_UNWIND_SIGNAL;
	} else {
		tally->with_rbx++;
		if (!wanted.rbx_known || wanted.rbx != got.rbx)
			fail_msg("%#x: rbx at CFA - 8 * %u", rel, rule->rbx);
	}
	free(frame);
}

static void open_object(struct object *object)
{
	assert_int_equal(elf_file_new(object->fd, &object->file), 0);
	assert_int_equal(cfi_file_rows(object->file, false, &object->rows), 0);
	elf_version(EV_CURRENT);
	object->elf = elf_begin(object->fd, ELF_C_READ, NULL);
	assert_non_null(object->elf);
}

/* Each row at its first and its last byte. */
static struct tally compare(const struct object *object, size_t step)
{
	uint64_t base = elf_file_base(object->file);
	struct tally tally = { 0 };

	for (size_t i = 0; i < object->rows->n_rows; i += step) {
		const struct abi_unwind_row *row = &object->rows->rows[i];

		compare_at(object, base, row->pc, &tally);
		if (i + 1 < object->rows->n_rows)
			compare_at(object, base, row[1].pc - 1, &tally);
	}
	return tally;
}

/* Those that this machine has; a step of 1 is all rows. */
static const struct {
	const char *name;
	size_t step;
} objects[] = {
	{ "libc.so.6", 1 },	 { "ld-linux-x86-64.so.2", 1 }, { "libm.so.6", 1 },
	{ "libstdc++.so.6", 1 }, { "libcrypto.so.3", 1 },	{ "/usr/bin/python3", 1 },
	{ "/usr/bin/perl", 1 },	 { "/usr/bin/node", 5 },	{ "libLLVM-14.so.1", 29 },
};

static int open_object_of(const char *name)
{
	return name[0] == '/' ? open(name, O_RDONLY | O_CLOEXEC) : open_library(name);
}

static void rows_say_what_elfutils_says(void **state)
{
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		_cleanup_(object_done) struct object object = { .fd = open_object_of(
									objects[i].name) };
		struct tally tally;

		if (object.fd < 0)
			continue;
		open_object(&object);
		object.cfi = dwarf_getcfi_elf(object.elf);
		assert_non_null(object.cfi);
		tally = compare(&object, objects[i].step);
		print_message(
			"%s: %zu rows, %zu rules, %zu addresses compared, %zu not to be said, "
			"%zu known otherwise, %zu with rbx\n",
			objects[i].name, object.rows->n_rows, object.rows->n_rules, tally.looked_at,
			tally.unsupported, tally.known_otherwise, tally.with_rbx);
		/* that has frames which are found by it */
		if (strcmp(objects[i].name, "ld-linux-x86-64.so.2") == 0)
			assert_int_equal(tally.without_rbx, 0);
		assert_int_equal(object.rows->lost[CFI_DAMAGED_ENTRIES], 0);
		assert_true(tally.unsupported * 50 < tally.looked_at);
		compared++;
	}
	if (compared == 0)
		skip_because("there is nothing to compare");
}

/* Without .eh_frame of its own; what the C library adds at both ends has one. */
static const char debug_source[] =
	"#include <stdlib.h>\n"
	"__attribute__((noinline)) int inner(int n) { char *p = malloc(n); return p != 0; }\n"
	"int alloca_like(int n) { volatile char b[n]; b[0] = n; return inner(b[0]) + 1; }\n"
	"int six(int a, int b, int c, int d, int e, int f) {\n"
	"	return inner(a) + inner(b) + inner(c) + inner(d) + inner(e) + inner(f); }\n";
#define DEBUG_FLAGS "-g -shared -fPIC -fno-asynchronous-unwind-tables"

static void debug_frame_says_what_elfutils_says(void **state)
{
	static const char *const flags[] = { DEBUG_FLAGS,
					     DEBUG_FLAGS " -Wl,--compress-debug-sections=zlib",
					     DEBUG_FLAGS " -gdwarf-4", DEBUG_FLAGS " -gdwarf-2" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		_cleanup_(object_done) struct object object = { .fd = build_object(debug_source,
										   flags[i]) };
		const struct elf_symbol *symbols;
		size_t n, functions = 0;
		uint64_t base;

		if (object.fd < 0)
			skip_because("no object can be built here");
		open_object(&object);
		object.dwarf = dwarf_begin_elf(object.elf, DWARF_C_READ, NULL);
		assert_non_null(object.dwarf);
		object.cfi = dwarf_getcfi(object.dwarf);
		assert_non_null(object.cfi);
		symbols = elf_file_symbols(object.file, &n);
		base = elf_file_base(object.file);
		for (size_t j = 0; j < n; j++) {
			struct tally tally = { 0 };

			if (strcmp(symbols[j].name, "inner") != 0 &&
			    strcmp(symbols[j].name, "alloca_like") != 0 &&
			    strcmp(symbols[j].name, "six") != 0)
				continue;
			functions++;
			for (uint64_t at = symbols[j].value;
			     at < symbols[j].value + symbols[j].size; at++)
				compare_at(&object, base, (uint32_t)(at - base), &tally);
			assert_int_equal(tally.unsupported + tally.known_otherwise, 0);
			assert_int_not_equal(
				cfi_rule_at(object.rows, (uint32_t)(symbols[j].value - base))->kind,
				ABI_UNWIND_NONE);
		}
		assert_in_range(functions, 3, 6); /* of .dynsym, and of .symtab */
	}
}

/* As a packer leaves it: .eh_frame is found by the program headers. */
static void section_headers_may_be_missing(void **state)
{
	_cleanup_(object_done) struct object whole = { .fd = open_library("libc.so.6") };
	_cleanup_(object_done) struct object bare = { .fd = -1 };
	_cleanup_free_ uint8_t *bytes = NULL;
	Elf64_Ehdr *header;
	struct stat st;

	(void)state;
	if (whole.fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(fstat(whole.fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(whole.fd, bytes, (size_t)st.st_size, 0), st.st_size);
	header = (Elf64_Ehdr *)bytes;
	header->e_shoff = 0;
	header->e_shnum = 0;
	header->e_shstrndx = 0;
	bare.fd = memfd_create("bare", MFD_CLOEXEC);
	assert_int_equal(write(bare.fd, bytes, (size_t)st.st_size), st.st_size);
	open_object(&whole);
	open_object(&bare);
	assert_int_equal(bare.rows->n_rows, whole.rows->n_rows);
	assert_memory_equal(bare.rows->rows, whole.rows->rows,
			    whole.rows->n_rows * sizeof(*whole.rows->rows));
}

static void a_file_truncated_while_in_use_is_damaged(void **state)
{
	_cleanup_close_ int fd = open_library("libc.so.6"), copy = memfd_create("cut", MFD_CLOEXEC);
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct cfi_rows *rows = NULL;
	struct stat st;

	(void)state;
	if (fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(write(copy, bytes, (size_t)st.st_size), st.st_size);
	assert_int_equal(elf_file_new(copy, &file), 0);
	assert_int_equal(ftruncate(copy, st.st_size / 2), 0);
	assert_int_equal(cfi_file_rows(file, true, &rows), -EBADMSG);
	assert_null(rows);
}

static void gcc_s_realigned_frames_are_said(void **state)
{
	static const char source[] =
		"extern void use(void *);\n"
		"void realigned(int n) {\n"
		"	_Alignas(64) char b[64]; char v[n]; b[0] = 0; use(b); use(v); }\n";
	_cleanup_(object_done) struct object object = {
		.fd = build_object(source, "-shared -fPIC -mstackrealign")
	};
	size_t n = 0;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	open_object(&object);
	for (size_t i = 0; i < object.rows->n_rules; i++)
		n += object.rows->rules[i].kind == ABI_UNWIND_BP_DEREF &&
		     object.rows->rules[i].bp == ABI_UNWIND_BP_AT_BP;
	if (n == 0)
		skip_because("clang's frames are plain");
	object.cfi = dwarf_getcfi_elf(object.elf);
	compare(&object, 1);
}

static void stacks_end_where_ld_so_starts(void **state)
{
	_cleanup_(
		object_done) struct object object = { .fd = open_library("ld-linux-x86-64.so.2") };
	uint64_t base, entry;

	(void)state;
	if (object.fd < 0)
		skip_because("no object can be built here");
	open_object(&object);
	base = elf_file_base(object.file);
	entry = elf_file_entry(object.file);
	assert_int_equal(cfi_rule_at(object.rows, (uint32_t)(entry - base))->kind, ABI_UNWIND_END);
	assert_int_equal(cfi_rule_at(object.rows, (uint32_t)(entry - base) + 48)->kind,
			 ABI_UNWIND_END);
}

static void segments_begin_where_mappings_do(void **state)
{
	static const char source[] = "int f(void) { return 1; }\n";
	static const char *const flags[] = { "-shared -fPIC", "-shared -fPIC -fuse-ld=lld",
					     "-shared -fPIC -Wl,-z,noseparate-code",
					     "-nostdlib -shared -Wl,-Ttext-segment=0x400000" };
	int built = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		_cleanup_(object_done) struct object object = { .fd = build_object(source,
										   flags[i]) };
		struct abi_unwind_segment segments[ABI_UNWIND_SEGMENTS];
		uint64_t offset, vaddr;
		uint32_t n = 0;
		size_t n_symbols;

		if (object.fd < 0)
			continue; /* that linker is not here */
		built++;
		open_object(&object);
		assert_int_equal(cfi_file_segments(object.file, segments, &n), 0);
		assert_int_equal(n, 1);
		assert_int_equal(segments[0].offset % 4096, 0);
		assert_int_equal(segments[0].rel % 4096, 0);
		vaddr = elf_file_symbols(object.file, &n_symbols)[n_symbols - 1].value;
		assert_int_equal(elf_file_offset_of(object.file, vaddr, &offset), 0);
		assert_in_range(offset, segments[0].offset, segments[0].end - 1);
		assert_int_equal(segments[0].rel + (offset - segments[0].offset),
				 vaddr - elf_file_base(object.file));
	}
	if (built == 0)
		skip_because("no object can be built here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_say_what_elfutils_says),
		cmocka_unit_test(debug_frame_says_what_elfutils_says),
		cmocka_unit_test(section_headers_may_be_missing),
		cmocka_unit_test(a_file_truncated_while_in_use_is_damaged),
		cmocka_unit_test(gcc_s_realigned_frames_are_said),
		cmocka_unit_test(stacks_end_where_ld_so_starts),
		cmocka_unit_test(segments_begin_where_mappings_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
