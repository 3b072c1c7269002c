/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_file.h"
#include "probe/plan.h"

#include "bpf/abi.h"
#include "build_object.h"
#include "config/allocator_spec.h"
#include "probe/custom_allocators.h"
#include "probe/insn.h"
#include "skip_because.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static const struct plan_emulation everyday = {
	.push = true, .nop1 = true, .jmp = true, .jcc = true, .call = true
};

struct planned {
	int fd;
	struct plan *plan;
};

static void planned_done(struct planned *planned)
{
	plan_free(planned->plan);
	cleanup_close(&planned->fd);
}

static const struct plan_probe *probe_of(const struct plan *plan, const char *function)
{
	for (size_t i = 0; i < plan->n_probes; i++)
		if (strcmp(plan->probes[i].function, function) == 0)
			return &plan->probes[i];
	return NULL;
}

static const struct plan_skipped *skipped_of(const struct plan *plan, const char *function)
{
	for (size_t i = 0; i < plan->n_skipped; i++)
		if (strcmp(plan->skipped[i].function, function) == 0)
			return &plan->skipped[i];
	return NULL;
}

static int rank(uint8_t kind)
{
	switch (kind & ABI_KIND_MASK) {
	case ABI_FREE:
	case ABI_SCOPED_FREE:
		return 0;
	case ABI_REALLOC:
	case ABI_RESIZE:
		return 1;
	default:
		return 2;
	}
}

static bool is_emulated_opcode(const uint8_t *code)
{
	return (code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) ||
	       (code[0] & 0xf0) == 0x70 || (code[0] == 0x0f && (code[1] & 0xf0) == 0x80) ||
	       code[0] == 0xeb || code[0] == 0xe9 || code[0] == 0xe8 || code[0] == 0x90 ||
	       (code[0] == 0x66 && code[1] == 0x90) || code[0] == 0xf2;
}

static bool is_return(const uint8_t *code)
{
	return code[0] == 0xc3 || code[0] == 0xc2 ||
	       ((code[0] == 0xf2 || code[0] == 0xf3) && code[1] == 0xc3);
}

static void check_probe(int fd, const struct plan_probe *probe)
{
	uint8_t code[2];

	assert_true(probe->entry_site >= probe->function_offset);
	assert_true(probe->entry_site - probe->function_offset < 128);
	assert_int_equal(pread(fd, code, 2, (off_t)probe->entry_site), 2);
	assert_int_equal(is_emulated_opcode(code), probe->entry_emulated);
	for (size_t i = 0; i < probe->n_exit_sites; i++) {
		assert_int_equal(pread(fd, code, 2, (off_t)probe->exit_sites[i]), 2);
		assert_true(is_return(code));
	}
	if (probe->kind == ABI_FREE) {
		assert_int_equal(probe->exits, PLAN_EXIT_NONE);
		assert_int_equal(probe->n_exit_sites, 0);
	} else {
		assert_int_not_equal(probe->exits, PLAN_EXIT_NONE);
	}
	assert_int_equal(probe->why_no_sites != NULL, probe->exits == PLAN_EXIT_RETURN);
}

/* What holds for the plan of any object. */
static void check_plan(const struct planned *planned)
{
	const struct plan *plan = planned->plan;

	for (size_t i = 0; i < plan->n_probes; i++) {
		print_message("%s\n", plan->probes[i].function);
		check_probe(planned->fd, &plan->probes[i]);
		for (size_t j = 0; j < i; j++) {
			assert_true(rank(plan->probes[j].kind) <= rank(plan->probes[i].kind));
			assert_true(plan->probes[j].function_offset !=
				    plan->probes[i].function_offset);
		}
	}
	for (size_t i = 0; i < plan->n_skipped; i++)
		assert_non_null(plan->skipped[i].why);
}

/* Opens the file only as long as it is planned. */
static int plan_of(int fd, const char *path, const struct plan_emulation *emulation,
		   struct custom_allocators *custom, struct plan **ret_plan)
{
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	int r = elf_file_new(fd, &file);

	return r ? r : plan_new(file, path, emulation, custom, false, true, ret_plan);
}

static void make_plan(struct planned *planned)
{
	if (planned->fd < 0)
		skip_because("what is to be planned is not there");
	assert_int_equal(plan_of(planned->fd, "", &everyday, NULL, &planned->plan), 0);
	check_plan(planned);
}

static void this_machine_s_libc_is_probed_in_full(void **state)
{
	static const struct {
		const char *function;
		uint8_t kind, args;
	} cases[] = {
		{ "free", ABI_FREE, 0 },
		{ "malloc", ABI_ALLOC, ABI_SIZE_ARG(1) },
		{ "calloc", ABI_ALLOC, ABI_SIZE_PRODUCT(1, 2) },
		{ "realloc", ABI_REALLOC | ABI_REALLOC0_FREES, ABI_SIZE_ARG(2) },
		{ "posix_memalign", ABI_OUT_PARAM, ABI_SIZE_ARG(3) },
		{ "aligned_alloc", ABI_ALLOC, ABI_SIZE_ARG(2) },
		{ "valloc", ABI_ALLOC, ABI_SIZE_ARG(1) },
		{ "pvalloc", ABI_ALLOC, ABI_SIZE_ARG(1) },
	};
	_cleanup_(planned_done) struct planned libc = { .fd = open_library("libc.so.6") };

	(void)state;
	make_plan(&libc);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct plan_probe *probe = probe_of(libc.plan, cases[i].function);

		assert_non_null(probe);
		assert_int_equal(probe->kind, cases[i].kind);
		assert_int_equal(probe->args, cases[i].args);
	}
	assert_string_equal(libc.plan->probes[0].function, "free");
	assert_null(probe_of(libc.plan, "cfree"));
	/* it calls realloc, of any allocator, but its own failures are to be seen */
	assert_non_null(probe_of(libc.plan, "reallocarray"));
	assert_int_equal(ABI_FAMILY(probe_of(libc.plan, "reallocarray")->family), 0);
	assert_int_not_equal(ABI_FAMILY(probe_of(libc.plan, "realloc")->family), 0);
}

static void a_libc_that_starts_as_glibc_2_36_does_is_never_single_stepped(void **state)
{
	static const struct {
		const char *function;
		uint8_t code[4]; /* how it starts */
		size_t len;
		uint64_t site;
	} cases[] = {
		{ "free", { 0x48, 0x85, 0xff, 0x0f }, 4, 3 },
		{ "malloc", { 0x41, 0x54 }, 2, 0 },
		{ "calloc", { 0x41, 0x55 }, 2, 0 },
		{ "realloc", { 0x41, 0x57 }, 2, 0 },
		{ "posix_memalign", { 0x80, 0x3d }, 2, 7 },
		{ "aligned_alloc", { 0x80, 0x3d }, 2, 7 },
		{ "valloc", { 0x80, 0x3d }, 2, 7 },
		{ "pvalloc", { 0x80, 0x3d }, 2, 7 },
	};
	_cleanup_(planned_done) struct planned libc = { .fd = open_library("libc.so.6") };
	size_t n_same = 0;

	(void)state;
	make_plan(&libc);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct plan_probe *probe = probe_of(libc.plan, cases[i].function);
		uint8_t code[4];

		assert_non_null(probe);
		assert_int_equal(pread(libc.fd, code, 4, (off_t)probe->function_offset), 4);
		if (memcmp(code, cases[i].code, cases[i].len) != 0)
			continue; /* another build */
		n_same++;
		assert_int_equal(probe->entry_site - probe->function_offset, cases[i].site);
		assert_true(probe->entry_emulated);
	}
	if (n_same == 0) {
		planned_done(&libc); /* skip() jumps over the clean-up */
		skip_because("the C library is of another build");
	}
}

static void libstdcxx_only_forwards(void **state)
{
	_cleanup_(planned_done) struct planned library = { .fd = open_library("libstdc++.so.6") };
	unsigned marks[ABI_FORM_UNKNOWN + 1][2] = {};

	(void)state;
	make_plan(&library);
	assert_int_equal(library.plan->n_probes, 0);
	assert_int_equal(library.plan->n_skipped, 20);
	for (size_t i = 0; i < library.plan->n_skipped; i++)
		assert_true(library.plan->skipped[i].forwards);
	/* plain, aligned, both nothrow; of deletes the sized ones, too */
	for (size_t i = 0; i < library.plan->n_marks; i++)
		marks[library.plan->marks[i].form][library.plan->marks[i].deletes]++;
	assert_int_equal(library.plan->n_marks, 20);
	for (int form = ABI_FORM_NEW; form <= ABI_FORM_ARRAY; form++) {
		assert_int_equal(marks[form][false], 4);
		assert_int_equal(marks[form][true], 6);
	}
}

/* Its aligned new passes a multiple of the alignment on. */
static void sizes_that_were_asked_for_are_libstdcxxs_own(void **state)
{
	_cleanup_(planned_done) struct planned library = { .fd = open_library("libstdc++.so.6") };
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	const struct plan_probe *probe;
	unsigned array_marks = 0;

	(void)state;
	if (library.fd < 0)
		skip_because("the library is not there");
	assert_int_equal(elf_file_new(library.fd, &file), 0);
	assert_int_equal(plan_new(file, "", &everyday, NULL, true, true, &library.plan), 0);
	check_plan(&library);
	assert_int_equal(library.plan->n_probes, 1);
	probe = probe_of(library.plan, "_ZnwmSt11align_val_t");
	assert_non_null(probe);
	assert_int_equal(probe->kind, ABI_ALLOC | ABI_THROWS);
	assert_int_equal(probe->args, ABI_SIZE_ARG(1));
	assert_int_equal(probe->forms, 1 << ABI_FORM_NEW);
	assert_int_equal(probe->exits, PLAN_EXIT_SITES);
	assert_int_equal(library.plan->n_skipped, 19);
	for (size_t i = 0; i < library.plan->n_marks; i++)
		array_marks += library.plan->marks[i].form == ABI_FORM_ARRAY &&
			       !library.plan->marks[i].deletes;
	assert_int_equal(array_marks, 4); /* they jump to the other forms, or call them */
}

static void sites_of_results_are_found_only_when_asked_for(void **state)
{
	_cleanup_(planned_done) struct planned libc = { .fd = open_library("libc.so.6") };
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_(plan_free_p) struct plan *asked = NULL;

	(void)state;
	if (libc.fd < 0)
		skip_because("the library is not there");
	assert_int_equal(plan_of(libc.fd, "", &everyday, NULL, &asked), 0);
	assert_int_equal(elf_file_new(libc.fd, &file), 0);
	assert_int_equal(plan_new(file, "", &everyday, NULL, false, false, &libc.plan), 0);
	assert_true(probe_of(libc.plan, "malloc")->may_have_results);
	assert_true(probe_of(libc.plan, "calloc")->may_have_results);
	assert_false(probe_of(libc.plan, "pvalloc")->may_have_results);
	assert_false(probe_of(libc.plan, "realloc")->may_have_results);
	assert_false(probe_of(libc.plan, "free")->may_have_results);
	assert_int_equal(libc.plan->n_probes, asked->n_probes);
	for (size_t i = 0; i < asked->n_probes; i++) {
		assert_int_equal(libc.plan->probes[i].entry_site, asked->probes[i].entry_site);
		assert_int_equal(libc.plan->probes[i].n_results, 0);
		assert_false(asked->probes[i].may_have_results);
	}
}

static void jemalloc_s_operators_are_probed_where_they_are_its_own(void **state)
{
	_cleanup_(planned_done) struct planned library = { .fd = open_library("libjemalloc.so.2") };
	const struct plan_probe *probe;

	(void)state;
	make_plan(&library);
	assert_int_equal(probe_of(library.plan, "realloc")->kind, ABI_REALLOC | ABI_REALLOC0_FREES);
	assert_int_equal(probe_of(library.plan, "malloc")->exits, PLAN_EXIT_ANY);
	assert_non_null(probe_of(library.plan, "free"));
	probe = probe_of(library.plan, "_Znwm");
	assert_non_null(probe);
	assert_int_equal(probe->exits, PLAN_EXIT_SITES);
	assert_true(probe->n_exit_sites > 0);
	assert_non_null(probe_of(library.plan, "_ZdlPvm"));
	/* By version and compiler it only jumps to free, or frees itself. */
	assert_true(probe_of(library.plan, "_ZdlPv") ||
		    skipped_of(library.plan, "_ZdlPv")->forwards);
	assert_true(skipped_of(library.plan, "_Znam")->forwards);
	assert_int_equal(probe->forms, 1 << ABI_FORM_NEW);
	assert_int_equal(probe_of(library.plan, "free")->forms, ABI_FORM_C);
	assert_true(library.plan->n_marks > 0);
}

static void jemalloc_s_own_functions_are_probed(void **state)
{
	static const struct {
		const char *function;
		uint8_t kind;
		uint16_t args;
	} cases[] = {
		{ "mallocx", ABI_ALLOC, ABI_SIZE_ARG(1) },
		{ "rallocx", ABI_REALLOC | ABI_REALLOC0_FREES, ABI_SIZE_ARG(2) },
		{ "xallocx", ABI_RESIZE, ABI_SIZE_SUM(2, 3) },
		{ "dallocx", ABI_FREE, 0 },
		{ "sdallocx", ABI_FREE, 0 },
	};
	_cleanup_(planned_done) struct planned library = { .fd = open_library("libjemalloc.so.2") };

	(void)state;
	make_plan(&library);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct plan_probe *probe = probe_of(library.plan, cases[i].function);

		assert_non_null(probe);
		assert_int_equal(probe->kind, cases[i].kind);
		assert_int_equal(probe->args, cases[i].args);
	}
}

/* Its operators jump to slow paths that the library exports, through pointers. */
static void tcmalloc_s_operators_have_exits_in_what_they_jump_to(void **state)
{
	_cleanup_(planned_done) struct planned library = { .fd = open_library(
								   "libtcmalloc_minimal.so.4") };
	const struct plan_probe *probe;

	(void)state;
	make_plan(&library);
	probe = probe_of(library.plan, "_Znwm");
	assert_non_null(probe);
	assert_int_equal(probe->exits, PLAN_EXIT_SITES);
	assert_true(probe->n_exit_sites > 1);
	assert_int_equal(probe->kind, ABI_ALLOC | ABI_THROWS);
	assert_int_equal(probe_of(library.plan, "realloc")->kind, ABI_REALLOC | ABI_REALLOC0_FREES);
	for (size_t i = 0; i < library.plan->n_skipped; i++)
		assert_true(library.plan->skipped[i].forwards);
	/* free is operator delete, by another name */
	assert_int_equal(probe_of(library.plan, "free")->forms,
			 ABI_FORM_C | 1 << ABI_FORM_NEW | 1 << ABI_FORM_ARRAY);
}

static void mimalloc_keeps_a_block_of_size_0_whatever_its_program_links(void **state)
{
	_cleanup_(planned_done) struct planned library = { .fd = open_library("libmimalloc.so.2") };

	(void)state;
	make_plan(&library);
	assert_int_equal(probe_of(library.plan, "realloc")->kind, ABI_REALLOC);
	assert_int_equal(probe_of(library.plan, "mi_heap_realloc")->args,
			 ABI_SIZE_ARG(3) | ABI_BLOCK_ARG(2));
	assert_int_equal(probe_of(library.plan, "mi_heap_strdup")->kind, ABI_STRING);
	assert_null(probe_of(library.plan, "mi_malloc")); /* is malloc */
	for (size_t i = 0; i < library.plan->n_skipped; i++)
		assert_true(library.plan->skipped[i].forwards);
}

/* jemalloc under its own names and another allocator as malloc, as in a Rust server. */
static void functions_with_names_of_their_own_follow_their_own_rules(void **state)
{
	static const char source[] =
		"extern void *work(void *, unsigned long);\n"
		"void *realloc(void *p, unsigned long n) { return work(p, n + 1); }\n"
		"void *_rjem_realloc(void *p, unsigned long n) { return work(p, n + 2); }\n"
		"void *mi_realloc(void *p, unsigned long n) { return work(p, n + 3); }\n"
		"const char *gnu_get_libc_version(void) { return 0; }\n";
	static const char no_marker[] =
		"extern void *work(void *, unsigned long);\n"
		"void *realloc(void *p, unsigned long n) { return work(p, n + 1); }\n"
		"void *tc_realloc(void *, unsigned long) __attribute__((alias(\"realloc\")));\n";
	_cleanup_(planned_done) struct planned planned = { .fd = build_object(source,
									      "-shared -fPIC") };
	_cleanup_(planned_done) struct planned alias = { .fd = build_object(no_marker,
									    "-shared -fPIC") };

	(void)state;
	make_plan(&planned);
	assert_int_equal(probe_of(planned.plan, "realloc")->kind, ABI_REALLOC | ABI_REALLOC0_FREES);
	assert_int_equal(probe_of(planned.plan, "_rjem_realloc")->kind,
			 ABI_REALLOC | ABI_REALLOC0_FREES);
	assert_int_equal(probe_of(planned.plan, "mi_realloc")->kind, ABI_REALLOC);
	make_plan(&alias);
	assert_int_equal(probe_of(alias.plan, "realloc")->kind, ABI_REALLOC | ABI_REALLOC0_FREES);
}

static void musl_keeps_a_block_of_size_0(void **state)
{
	_cleanup_(planned_done) struct planned musl = { .fd = open("/lib/ld-musl-x86_64.so.1",
								   O_RDONLY | O_CLOEXEC) };

	(void)state;
	make_plan(&musl);
	assert_int_equal(probe_of(musl.plan, "realloc")->kind, ABI_REALLOC);
	assert_non_null(probe_of(musl.plan, "free"));
	assert_non_null(probe_of(musl.plan, "malloc"));
}

static const char program[] = "#include <stdlib.h>\n"
			      "int main(int n, char **v)\n"
			      "{ void *p = realloc(calloc(n, 2), 100); free(p); return !p; }\n";

static void a_static_executable_is_probed_by_its_symbols(void **state)
{
	static const char *const flags[] = { "-static", "-static-pie" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(planned_done) struct planned planned = { .fd = build_object(program,
										      flags[i]) };
		const struct plan_probe *probe;

		make_plan(&planned);
		assert_non_null(probe_of(planned.plan, "malloc"));
		assert_non_null(probe_of(planned.plan, "calloc"));
		assert_non_null(probe_of(planned.plan, "free"));
		probe = probe_of(planned.plan, "realloc");
		assert_non_null(probe);
		assert_true(probe->kind & ABI_REALLOC0_FREES);
	}
}

static void a_stripped_static_executable_has_no_probes(void **state)
{
	static const char *const flags[] = { "-static -s", "-static-pie -s" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(planned_done) struct planned planned = { .fd = build_object(program,
										      flags[i]) };

		make_plan(&planned);
		assert_int_equal(planned.plan->n_probes, 0);
		assert_int_equal(planned.plan->n_skipped, 0);
	}
}

static void a_program_that_only_uses_malloc_has_no_probes(void **state)
{
	_cleanup_(planned_done) struct planned planned = { .fd = build_object(program, "") };

	(void)state;
	make_plan(&planned);
	assert_int_equal(planned.plan->n_probes, 0);
	assert_int_equal(planned.plan->n_skipped, 0);
}

static const char interposer[] =
	"extern void *real_malloc(unsigned long);\n"
	"extern void note(void *);\n"
	"void *malloc(unsigned long n) { void *p = real_malloc(n); note(p); return p; }\n"
	"void free(void *p) { note(p); }\n"
	"void cfree(void *) __attribute__((alias(\"free\")));\n"
	"void *realloc(void *p, unsigned long n) { return n ? malloc(n) : 0; }\n"
	"void *memalign(unsigned long a, unsigned long n) { return malloc(n + a); }\n"
	"void *aligned_alloc(unsigned long, unsigned long)\n"
	"	__attribute__((alias(\"memalign\")));\n"
	"static void *pick(void) { return (void *)malloc; }\n"
	"void *valloc(unsigned long) __attribute__((ifunc(\"pick\")));\n";

static void an_interposer_is_an_allocator_like_any_other(void **state)
{
	_cleanup_(planned_done) struct planned planned = { .fd = build_object(interposer,
									      "-shared -fPIC") };

	(void)state;
	make_plan(&planned);
	assert_int_equal(planned.plan->n_probes, 4);
	assert_string_equal(planned.plan->probes[0].function, "free");
	assert_string_equal(planned.plan->probes[1].function, "realloc");
	assert_int_equal(planned.plan->probes[1].kind, ABI_REALLOC);
	assert_string_equal(planned.plan->probes[2].function, "aligned_alloc");
	assert_string_equal(planned.plan->probes[3].function, "malloc");
	assert_null(skipped_of(planned.plan, "cfree"));
	assert_null(skipped_of(planned.plan, "memalign"));
	assert_non_null(skipped_of(planned.plan, "valloc"));
	assert_false(skipped_of(planned.plan, "valloc")->forwards);
}

#define OPERATORS_HEAD                                                                             \
	"typedef unsigned long size_t;\n"                                                          \
	"extern void *malloc(size_t); extern void free(void *); extern void fail(void);\n"         \
	"extern void *pool_get(size_t); extern void pool_put(void *);\n"

/* A probe at lock is refused with the whole link, and that would end the tracing. */
static void a_function_that_begins_with_lock_is_probed_behind_it(void **state)
{
	static const char source[] =
		"__asm__(\".globl malloc, free\\n\"\n"
		"	\".type malloc, @function\\nmalloc: lock incq -8(%rsp)\\n\"\n"
		"	\"mov %rdi, %rax\\nret\\n.size malloc, . - malloc\\n\"\n"
		"	\".type free, @function\\nfree: lock incq -8(%rsp)\\n\"\n"
		"	\"lock xchg %rdi, -8(%rsp)\\nret\\n.size free, . - free\\n\");\n";
	_cleanup_(planned_done) struct planned planned = { .fd = build_object(source,
									      "-shared -fPIC") };
	const struct plan_probe *probe;

	(void)state;
	if (INSN_NATIVE_MACHINE != EM_X86_64 || planned.fd < 0)
		skip_because("no object of x86-64 can be built here");
	assert_int_equal(plan_of(planned.fd, "", &everyday, NULL, &planned.plan), 0);
	probe = probe_of(planned.plan, "malloc");
	assert_non_null(probe);
	assert_int_equal(probe->entry_site, probe->function_offset + 6);
	/* the second one changes the argument */
	assert_null(probe_of(planned.plan, "free"));
	assert_false(skipped_of(planned.plan, "free")->forwards);
}

static void operators_forward_together_or_are_probed_together(void **state)
{
	static const struct {
		const char *what, *source;
		bool is_probed;
	} cases[] = {
		{ "thin",
		  OPERATORS_HEAD
		  "void *_Znwm(size_t n) { void *p = malloc(n); if (!p) fail(); return p; }\n"
		  "void _ZdlPv(void *p) { if (p) free(p); }\n",
		  false },
		{ "own pool",
		  OPERATORS_HEAD "void *_Znwm(size_t n) { return pool_get(n + 1) + 1; }\n"
				 "void _ZdlPv(void *p) { pool_put(p - 1); }\n",
		  true },
		{ "pool for some sizes",
		  OPERATORS_HEAD "void *_Znwm(size_t n)\n"
				 "{ return n < 64 ? pool_get(n + 1) + 1 : malloc(n); }\n"
				 "void _ZdlPv(void *p)\n"
				 "{ if ((size_t)p & 8) pool_put(p - 1); else free(p); }\n",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(planned_done) struct planned planned = {
			.fd = build_object(cases[i].source, "-shared -fPIC")
		};

		print_message("%s\n", cases[i].what);
		if (planned.fd < 0)
			skip_because("no object can be built here");
		assert_int_equal(plan_of(planned.fd, "", &everyday, NULL, &planned.plan), 0);
		assert_int_equal(probe_of(planned.plan, "_ZdlPv") != NULL, cases[i].is_probed);
		assert_int_equal(skipped_of(planned.plan, "_ZdlPv") != NULL, !cases[i].is_probed);
	}
}

static void new_that_cannot_be_probed_is_listed_with_the_reason(void **state)
{
	static const char source[] = "extern void *(*hook)(unsigned long);\n"
				     "void *_Znwm(unsigned long n) { return hook(n + 1); }\n"
				     "void *malloc(unsigned long n) { return hook(n + 1); }\n";
	_cleanup_(planned_done) struct planned planned = { .fd = build_object(source,
									      "-shared -fPIC") };
	const struct plan_skipped *skipped;

	(void)state;
	make_plan(&planned);
	assert_null(probe_of(planned.plan, "_Znwm"));
	skipped = skipped_of(planned.plan, "_Znwm");
	assert_non_null(skipped);
	assert_false(skipped->forwards);
	assert_int_equal(probe_of(planned.plan, "malloc")->exits, PLAN_EXIT_RETURN);
}

/* What the user names stands before the table, and at any address. */
static void named_functions_are_probed_as_they_were_said_to_be(void **state)
{
	static const char source[] =
		"extern void *work(void *, unsigned long);\n"
		"void *pool_get(void *p, unsigned long n) { return work(p, n + 1); }\n"
		"void pool_put(void *p, void *b) { work(b, 1); work(p, 2); }\n"
		"void *malloc(unsigned long n) { return work(0, n); }\n";
	_cleanup_(custom_allocators_free_p) struct custom_allocators *custom = NULL;
	_cleanup_(planned_done) struct planned planned = { .fd = build_object(source,
									      "-shared -fPIC") };
	struct allocator_spec specs[2] = { 0 };
	_cleanup_strbuf_ struct strbuf error = { 0 };
	const struct custom_function *all;
	const struct plan_probe *probe;
	size_t n;

	(void)state;
	if (planned.fd < 0)
		skip_because("no object can be built here");
	assert_int_equal(allocator_spec_parse("malloc=pool_get:size@2;free=pool_put:ptr@2;inside="
					      "malloc",
					      &specs[0], &error),
			 0);
	assert_int_equal(allocator_spec_parse("object=other.so;free=pool_get", &specs[1], &error),
			 0);
	assert_int_equal(custom_allocators_new(specs, 2, &custom), 0);
	assert_int_equal(plan_of(planned.fd, "/lib/pool.so", &everyday, custom, &planned.plan), 0);
	check_plan(&planned);
	assert_int_equal(planned.plan->n_probes, 3);
	probe = probe_of(planned.plan, "pool_get");
	assert_int_equal(probe->kind, ABI_ALLOC);
	assert_int_equal(probe->args, ABI_SIZE_ARG(2));
	probe = probe_of(planned.plan, "pool_put");
	assert_int_equal(probe->kind, ABI_SCOPED_FREE);
	assert_int_equal(probe->args, ABI_BLOCK_ARG(2));
	assert_int_not_equal(probe->exits, PLAN_EXIT_NONE);
	assert_int_equal(probe_of(planned.plan, "malloc")->kind, ABI_SCOPE);
	all = custom_allocators_all(custom, &n);
	assert_int_equal(n, 4);
	assert_true(all[0].found && all[1].found && all[2].found && !all[3].found);
	allocator_spec_done(&specs[0]);
	allocator_spec_done(&specs[1]);
}

static void what_cannot_be_planned_is_an_error(void **state)
{
	enum { NO_ELF, CLASS_32, ARM, CUT };
	static const struct {
		int what, error;
	} cases[] = {
		{ NO_ELF, -ENOEXEC },
		{ CLASS_32, -EOPNOTSUPP },
		{ ARM, -EOPNOTSUPP },
		{ CUT, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
		Elf64_Ehdr header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = cases[i].what == ARM ? EM_AARCH64 : EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(header),
			.e_phoff = cases[i].what == CUT ? sizeof(header) : 0,
			.e_phnum = cases[i].what == CUT,
			.e_phentsize = sizeof(Elf64_Phdr),
		};
		struct plan *plan = NULL;

		if (cases[i].what == NO_ELF)
			header.e_ident[0] = '#';
		if (cases[i].what == CLASS_32)
			header.e_ident[EI_CLASS] = ELFCLASS32;
		assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
		assert_int_equal(plan_of(fd, "", &everyday, NULL, &plan), cases[i].error);
		assert_null(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_machine_s_libc_is_probed_in_full),
		cmocka_unit_test(a_libc_that_starts_as_glibc_2_36_does_is_never_single_stepped),
		cmocka_unit_test(libstdcxx_only_forwards),
		cmocka_unit_test(sizes_that_were_asked_for_are_libstdcxxs_own),
		cmocka_unit_test(jemalloc_s_operators_are_probed_where_they_are_its_own),
		cmocka_unit_test(jemalloc_s_own_functions_are_probed),
		cmocka_unit_test(tcmalloc_s_operators_have_exits_in_what_they_jump_to),
		cmocka_unit_test(mimalloc_keeps_a_block_of_size_0_whatever_its_program_links),
		cmocka_unit_test(functions_with_names_of_their_own_follow_their_own_rules),
		cmocka_unit_test(musl_keeps_a_block_of_size_0),
		cmocka_unit_test(a_static_executable_is_probed_by_its_symbols),
		cmocka_unit_test(a_stripped_static_executable_has_no_probes),
		cmocka_unit_test(a_program_that_only_uses_malloc_has_no_probes),
		cmocka_unit_test(an_interposer_is_an_allocator_like_any_other),
		cmocka_unit_test(a_function_that_begins_with_lock_is_probed_behind_it),
		cmocka_unit_test(sites_of_results_are_found_only_when_asked_for),
		cmocka_unit_test(operators_forward_together_or_are_probed_together),
		cmocka_unit_test(new_that_cannot_be_probed_is_listed_with_the_reason),
		cmocka_unit_test(named_functions_are_probed_as_they_were_said_to_be),
		cmocka_unit_test(what_cannot_be_planned_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
