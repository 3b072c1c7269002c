/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules from machine code: small functions, and a program of musl's that is run instruction by
 * instruction, where each call and return says what the rules have to say.
 */
#include "elf/cfi/cfi_file.h"

#include "build_object.h"
#include "cfi_section.h"
#include "elf/cfi/x86_frame.h"
#include "elf/elf_file.h"
#include "skip_because.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MAX_CODE 96
#define MAX_RULES 12

struct wanted_rule {
	uint32_t at;
	struct abi_unwind_rule rule;
};

struct code_case {
	const char *what;
	uint8_t code[MAX_CODE];
	struct wanted_rule rules[MAX_RULES];
};

/* At START; other functions start where calls and addresses of the code say. */
static const struct code_case cases[] = {
	{ "pushes and pops",
	  /* push %rbp; push %rbx; sub $24,%rsp; add $24,%rsp; pop %rbx; pop %rbp; ret */
	  { 0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3 },
	  { { 0, SP(8) },
	    { 1, SP_BP(16, -16) },
	    { 2, SP_BP(24, -16) },
	    { 6, SP_BP(48, -16) },
	    { 10, SP_BP(24, -16) },
	    { 11, SP_BP(16, -16) },
	    { 12, SP(8) },
	    { 13, NONE } } },
	{ "a frame pointer, and a stack that is aligned",
	  /* push %rbp; mov %rsp,%rbp; and $-32,%rsp; leave; ret */
	  { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0xc9, 0xc3 },
	  { { 1, SP_BP(16, -16) },
	    { 4,
	      { .kind = ABI_UNWIND_BP,
		.offset = 16,
		.bp = ABI_UNWIND_BP_AT_CFA,
		.bp_offset = -16 } },
	    { 8,
	      { .kind = ABI_UNWIND_BP,
		.offset = 16,
		.bp = ABI_UNWIND_BP_AT_CFA,
		.bp_offset = -16 } },
	    { 9, SP(8) } } },
	{ "two ways to the end",
	  /* test %edi,%edi; je 1f; push %rbx; pop %rbx; 1: ret */
	  { 0x85, 0xff, 0x74, 0x02, 0x53, 0x5b, 0xc3 },
	  { { 4, SP(8) }, { 5, SP(16) }, { 6, SP(8) } } },
	{ "a return that is not one: no rules",
	  /* push %rbx; ret */
	  { 0x53, 0xc3 },
	  { { 0, NONE }, { 1, NONE } } },
	{ "two ways that contradict each other: no rules",
	  /* test %edi,%edi; je 1f; push %rbp; 1: ret */
	  { 0x85, 0xff, 0x74, 0x01, 0x55, 0xc3 },
	  { { 0, NONE }, { 5, NONE } } },
	{ "another stack: no rules",
	  /* mov %rsi,%rsp; ret */
	  { 0x48, 0x89, 0xf4, 0xc3 },
	  { { 0, NONE }, { 3, NONE } } },
	{ "rbp that is lost: no rules",
	  /* mov %rdi,%rbp; ret */
	  { 0x48, 0x89, 0xfd, 0xc3 },
	  { { 0, NONE }, { 3, NONE } } },
	{ "no C: jumps on and never returns",
	  /* jmp *(%rbp) */
	  { 0xff, 0x65, 0x00 },
	  { { 0, NONE } } },
	{ "where a thread begins",
	  /* xor %ebp,%ebp; pop %rdi; call *%r9; hlt */
	  { 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0xf4 },
	  { { 0, SP(8) }, { 2, END }, { 5, END } } },
	{ "what is behind a call that never returns is another function",
	  /* push %rbx; lea 2f(%rip),%rax; call 1f; nop; 2: push %rbp; push %rbx; call 1f;
	   * nop; nop; 1: hlt */
	  { 0x53, 0x48, 0x8d, 0x05, 0x06, 0,	0, 0, 0xe8, 0x0a, 0,	0,
	    0,	  0x90, 0x55, 0x53, 0xe8, 0x02, 0, 0, 0,    0x90, 0x90, 0xf4 },
	  { { 1, SP(16) },
	    { 8, SP(16) },
	    { 13, NONE },
	    { 14, SP(8) },
	    { 15, SP_BP(16, -16) },
	    { 16, SP_BP(24, -16) },
	    { 21, NONE },
	    { 23, SP(8) } } },
	{ "calls within a function that lead to themselves and each other",
	  /* push %rbx; 1: call 1b; 2: call 3f; 3: call 2b; pop %rbx; ret */
	  { 0x53, 0xe8, 0xfb, 0xff, 0xff, 0xff, 0xe8, 0, 0, 0, 0, 0xe8, 0xf6, 0xff, 0xff, 0xff,
	    0x5b, 0xc3 },
	  { { 0, SP(8) }, { 1, SP(8) }, { 6, SP(8) }, { 11, SP(8) }, { 16, NONE } } },
	{ "bytes that are no instruction",
	  /* push %rbx; (bad) */
	  { 0x53, 0x06, 0x5b, 0xc3 },
	  { { 0, SP(8) }, { 1, NONE } } },
};

static void rules_of_small_functions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
		static const uint64_t starts[] = { TEXT + START };
		uint8_t code[TEXT_LEN];
		const struct cfi_bytes text = { code, sizeof(code), TEXT };
		const struct cfi_input in = {
			.text = &text, .n_text = 1, .base = TEXT, .starts = starts, .n_starts = 1
		};

		memset(code, 0xcc, sizeof(code));
		memcpy(code + START, cases[i].code, sizeof(cases[i].code));
		rows = compile(&in);
		for (size_t k = 0; k < MAX_RULES; k++) {
			const struct wanted_rule *want = &cases[i].rules[k];
			const struct abi_unwind_rule *rule = cfi_rule_at(rows, START + want->at);

			if (k > 0 && want->at == 0)
				break;
			if (memcmp(rule, &want->rule, sizeof(*rule)) != 0)
				fail_msg("%s, at %u: kind %d, offset %d, bp %d %d", cases[i].what,
					 want->at, rule->kind, rule->offset, rule->bp,
					 rule->bp_offset);
		}
	}
}

static const char program[] =
	"#include <stdlib.h>\n#include <stdio.h>\n#include <string.h>\n#include <time.h>\n"
	"#include <regex.h>\n#include <search.h>\n#include <wchar.h>\n#include <math.h>\n"
	"static int order(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n"
	"static void last(void) { free(malloc(3)); }\n"
	"int main(void)\n{\n"
	"	int n[40], i; char line[99], *s = 0; regex_t r; time_t t = 1e9; size_t z = 0;\n"
	"	FILE *f = fmemopen(line, sizeof(line), \"w+\");\n"
	"	for (i = 0; i < 40; i++) n[i] = i * 7919 % 41;\n"
	"	qsort(n, 40, sizeof(n[0]), order);\n"
	"	fprintf(f, \"%d %s %g\\n\", n[3], \"x\", sqrt(2)); rewind(f); getline(&s, &z, f);\n"
	"	regcomp(&r, \"a(b|c)*d+\", REG_EXTENDED); regexec(&r, \"abcd\", 0, 0, 0);\n"
	"	regfree(&r); free(strdup(s)); setenv(\"a\", \"b\", 1); hcreate(9); hdestroy();\n"
	"	s = realloc(s, 9999); strftime(line, 99, \"%c\", localtime(&t)); fclose(f);\n"
	"	atexit(last); return atoi(\"0\") + !memchr(s, 0, 9999) * 0;\n}\n";

/* musl-gcc's own words. */
#define MUSL "-static -no-pie -specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs"
#define MOST_DEPTH 256

struct call {
	uint64_t cfa, rbp;
};

struct run {
	pid_t pid;
	int fd; /* the file is read by it */
	struct elf_file *file;
	struct cfi_rows *rows;
	struct user_regs_struct regs;
	struct call calls[MOST_DEPTH];
	size_t depth, steps, known;
};

static void run_done(struct run *run)
{
	if (run->pid > 0) {
		(void)kill(run->pid, SIGKILL);
		(void)waitpid(run->pid, NULL, 0);
	}
	cfi_rows_free(run->rows);
	elf_file_free(run->file);
	if (run->fd >= 0)
		close(run->fd);
}

/* The rule must lead to the innermost call that has not returned. */
static void check_rule(struct run *run)
{
	uint64_t rip = run->regs.rip, cfa = run->regs.rsp, rbp = run->regs.rbp;
	const struct abi_unwind_rule *rule =
		cfi_rule_at(run->rows, (uint32_t)(rip - elf_file_base(run->file)));
	const struct call *call = &run->calls[run->depth];

	run->steps++;
	if (rule->kind == ABI_UNWIND_END && run->depth > 1)
		fail_msg("an end at %#lx, %zu deep", (unsigned long)rip, run->depth);
	if (rule->kind == ABI_UNWIND_END)
		run->known++;
	if ((rule->kind != ABI_UNWIND_SP && rule->kind != ABI_UNWIND_BP) || run->depth == 0)
		return;
	run->known++;
	if (rule->kind == ABI_UNWIND_BP)
		cfa = rbp;
	cfa += (uint64_t)(int64_t)rule->offset;
	if (rule->bp == ABI_UNWIND_BP_AT_CFA)
		rbp = (uint64_t)ptrace(PTRACE_PEEKDATA, run->pid, cfa + (uint64_t)rule->bp_offset,
				       0);
	if (cfa != call->cfa || rbp != call->rbp)
		fail_msg("at %#lx: CFA %#lx, is %#lx; rbp %#lx, is %#lx", (unsigned long)rip,
			 (unsigned long)cfa, (unsigned long)call->cfa, (unsigned long)rbp,
			 (unsigned long)call->rbp);
}

/* One instruction. False: the program has ended. */
static bool step(struct run *run)
{
	uint8_t code[16];
	struct x86_insn insn;
	int status;
	size_t len = elf_file_read_text(run->file, run->regs.rip, code, sizeof(code));
	bool is_call, is_return;

	if (!x86_decode(code, len, &insn))
		fail_msg("no instruction at %#lx: %02x %02x %02x %02x",
			 (unsigned long)run->regs.rip, code[0], code[1], code[2], code[3]);
	is_call = x86_flow(&insn) == X86_CALL ||
		  (insn.map == X86_ONE_BYTE && insn.opcode == 0xff && (insn.modrm >> 3 & 7) == 2);
	is_return = x86_flow(&insn) == X86_RETURN;
	assert_return_code(ptrace(PTRACE_SINGLESTEP, run->pid, 0, 0), errno);
	assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
	if (!WIFSTOPPED(status)) {
		run->pid = 0;
		assert_int_equal(WEXITSTATUS(status), 0);
		return false;
	}
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	assert_return_code(ptrace(PTRACE_GETREGS, run->pid, 0, &run->regs), errno);
	if (is_call) {
		assert_true(run->depth + 1 < MOST_DEPTH);
		run->calls[++run->depth] =
			(struct call){ .cfa = run->regs.rsp + 8, .rbp = run->regs.rbp };
	}
	run->depth -= is_return && run->depth > 0;
	return true;
}

static pid_t start(int fd)
{
	char *const words[] = { "musl", NULL }, *const none[] = { NULL };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		fexecve(fd, words, none);
		_exit(127);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	return pid;
}

static void each_instruction_of_a_run_has_the_right_rule(void **state)
{
	_cleanup_(run_done) struct run run = { .fd = build_object(program, MUSL) };

	(void)state;
	if (run.fd < 0)
		skip_because("no musl-gcc");
	assert_int_equal(elf_file_new(run.fd, &run.file), 0);
	assert_int_equal(cfi_file_rows(run.file, false, &run.rows), 0);
	run.pid = start(run.fd);
	assert_return_code(ptrace(PTRACE_GETREGS, run.pid, 0, &run.regs), errno);
	do
		check_rule(&run);
	while (step(&run));
	print_message("%zu of %zu instructions have a rule\n", run.known, run.steps);
	assert_true(run.known > run.steps - run.steps / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_small_functions),
		cmocka_unit_test(each_instruction_of_a_run_has_the_right_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
