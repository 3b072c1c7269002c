/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_go.h"

#include "base/vec.h"
#include "elf/cfi/x86_frame.h"
#include "elf/elf_file.h"

#include <string.h>

enum { RSP = 4, RBP = 5 };
#define WORD_BYTES 8

/* runtime/asm_amd64.s and sys_linux_amd64.s; the names may end with ".abi0". */
static const struct {
	const char *name;
	enum cfi_go_function function;
} functions[] = {
	{ "asmcgocall", CFI_GO_SWITCHES },    { "callCgoMmap", CFI_GO_SWITCHES },
	{ "callCgoMunmap", CFI_GO_SWITCHES }, { "callCgoSigaction", CFI_GO_SWITCHES },
	{ "clone", CFI_GO_LEAVES },	      { "goexit", CFI_GO_OUTERMOST },
	{ "mcall", CFI_GO_LEAVES },	      { "morestack", CFI_GO_RESUMES },
	{ "rt0_go", CFI_GO_OUTERMOST },	      { "systemstack", CFI_GO_SWITCHES },
};

enum cfi_go_function cfi_go_function(const char *name)
{
	static const char prefix[] = "runtime.";

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return CFI_GO_NONE;
	name += strlen(prefix);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		size_t len = strlen(functions[i].name);

		if (strncmp(name, functions[i].name, len) == 0 &&
		    (!name[len] || strcmp(name + len, ".abi0") == 0))
			return functions[i].function;
	}
	return CFI_GO_NONE;
}

/* A function's code, from which rules are read; `at` is relative to `code`. */
struct scan {
	const uint8_t *code;
	size_t len;
	uint32_t rel; /* of `code` */
	struct cfi_pieces *found;
	struct abi_unwind_rule rule; /* of the open piece */
	size_t from;		     /* where that starts */
	bool is_open;
};

#define ANY (-1)

/* Are the bytes at `at` those? ANY is any byte. */
static bool is_code(const struct scan *s, size_t at, const int16_t *bytes, size_t n)
{
	if (at > s->len || s->len - at < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != ANY && s->code[at + i] != bytes[i])
			return false;
	return true;
}

#define IS_CODE(s, at, ...)                                                                        \
	is_code((s), (at), (const int16_t[]){ __VA_ARGS__ },                                       \
		sizeof((const int16_t[]){ __VA_ARGS__ }) / sizeof(int16_t))

static int32_t number_at(const struct scan *s, size_t at)
{
	int32_t number;

	memcpy(&number, s->code + at, sizeof(number));
	return number;
}

/*
 * Where a thread's word for Go (TLS) is, from the thread pointer on, and is loaded: into rcx where
 * code is position-independent. How many bytes that takes.
 */
static size_t tls_len(const struct scan *s, size_t at, int32_t *ret_tls)
{
	if (IS_CODE(s, at, 0x48, 0xc7, 0xc1, ANY, ANY, ANY, ANY)) { /* mov $tls,%rcx */
		*ret_tls = number_at(s, at + 3);
		return 7;
	}
	return 0;
}

/*
 * asmcgocall, behind its call of C on the thread's stack. It cannot keep the goroutine's stack
 * pointer, as that stack may be moved, but the goroutine and how deep its stack is.
 *
 *   mov g(%rsp),%rdi; mov 8(%rdi),%rsi; sub depth(%rsp),%rsi
 */
static bool is_goroutine_s(const struct scan *s, size_t at, struct abi_unwind_rule *ret)
{
	int32_t tls, g, depth = 0;

	at += tls_len(s, at, &tls);
	if (!IS_CODE(s, at, 0x48, 0x8b, 0x7c, 0x24, ANY, 0x48, 0x8b, 0x77, 8))
		return false;
	g = (int8_t)s->code[at + 4];
	at += 9;
	if (IS_CODE(s, at, 0x48, 0x2b, 0x74, 0x24, ANY))
		depth = (int8_t)s->code[at + 4];
	else if (!IS_CODE(s, at, 0x48, 0x2b, 0x34, 0x24))
		return false;
	*ret = (struct abi_unwind_rule){ .kind = ABI_UNWIND_GO_DEPTH,
					 .offset = ABI_UNWIND_DEREF(g, depth) };
	return true;
}

/*
 * systemstack, behind its call of a function on the thread's stack: the goroutine is found by the
 * thread, and has kept its stack pointer.
 *
 *   mov %fs:tls,%rax; mov m(%rax),%rbx; mov curg(%rbx),%rax; ...; mov sp(%rax),%rsp
 */
static bool is_current_goroutine_s(const struct scan *s, size_t at, struct abi_unwind_rule *ret)
{
	int32_t tls = 0, curg;
	size_t rcx_len = tls_len(s, at, &tls), most;
	uint8_t m;

	at += rcx_len;
	if (rcx_len && IS_CODE(s, at, 0x64, 0x48, 0x8b, 0x01)) { /* mov %fs:(%rcx),%rax */
		at += 4;
	} else if (IS_CODE(s, at, 0x64, 0x48, 0x8b, 0x04, 0x25, ANY, ANY, ANY, ANY)) {
		tls = number_at(s, at + 5);
		at += 9;
	} else {
		return false;
	}
	if (!IS_CODE(s, at, 0x48, 0x8b, 0x58, ANY, 0x48, 0x8b, 0x83, ANY, ANY, ANY, ANY))
		return false;
	m = s->code[at + 3];
	curg = number_at(s, at + 7);
	at += 11;
	for (most = at + 16; at < most && !IS_CODE(s, at, 0x48, 0x8b, 0x60, ANY); at++)
		;
	if (at == most || curg < 0 || curg > UINT8_MAX || tls != (int16_t)tls)
		return false;
	*ret = (struct abi_unwind_rule){ .kind = ABI_UNWIND_GO_CURRENT,
					 .offset = ABI_UNWIND_GO(m, curg, s->code[at + 3]),
					 .bp_offset = (int16_t)tls };
	return true;
}

/* sub $n,%rsp at the function's start: the CFA is so far above what rsp is then. */
static int32_t frame_bytes(const struct scan *s)
{
	return WORD_BYTES + (IS_CODE(s, 0, 0x48, 0x83, 0xec, ANY) ? (int8_t)s->code[3] : 0);
}

/*
 * Behind a call for which the stack has been aligned: where the stack pointer has been kept.
 *
 *   mov n(%rsp),%rsi; mov %rsi,%rsp     or  mov n(%rsp),%rsp
 */
static bool is_kept_on_stack(const struct scan *s, size_t at, struct abi_unwind_rule *ret)
{
	int32_t n = 0, tls;

	at += tls_len(s, at, &tls);
	if (IS_CODE(s, at, 0x48, 0x8b, 0x74, 0x24, ANY, 0x48, 0x89, 0xf4) ||
	    IS_CODE(s, at, 0x48, 0x8b, 0x64, 0x24, ANY))
		n = (int8_t)s->code[at + 4];
	else if (!IS_CODE(s, at, 0x48, 0x8b, 0x24, 0x24) &&
		 !IS_CODE(s, at, 0x48, 0x8b, 0x34, 0x24, 0x48, 0x89, 0xf4))
		return false;
	*ret = (struct abi_unwind_rule){ .kind = ABI_UNWIND_SP_DEREF,
					 .offset = ABI_UNWIND_DEREF(n, frame_bytes(s)) };
	return true;
}

/* What holds from a call on another stack up to where the stack pointer is put back. */
static struct abi_unwind_rule rule_behind(const struct scan *s, size_t next,
					  enum cfi_go_function function)
{
	struct abi_unwind_rule rule = { .kind = ABI_UNWIND_END };

	if (function == CFI_GO_LEAVES || is_goroutine_s(s, next, &rule) ||
	    is_current_goroutine_s(s, next, &rule) || is_kept_on_stack(s, next, &rule))
		return rule;
	return (struct abi_unwind_rule){ .kind = ABI_UNWIND_UNSUPPORTED };
}

static int close_piece(struct scan *s, size_t end)
{
	if (!s->is_open || end <= s->from)
		return 0;
	return vec_push(s->found, (struct cfi_piece){ .start = s->rel + (uint32_t)s->from,
						      .end = s->rel + (uint32_t)end,
						      .source = CFI_FROM_CODE,
						      .rule = s->rule });
}

static void open_piece(struct scan *s, size_t at, struct abi_unwind_rule rule)
{
	s->is_open = true;
	s->from = at;
	s->rule = rule;
}

/* mov to rsp, but from rbp, or and $-n,%rsp */
static bool changes_stack(const struct x86_insn *insn)
{
	if (insn->map != X86_ONE_BYTE || !(insn->rex & 8) || !insn->has_modrm)
		return false;
	if (insn->opcode == 0x8b)
		return x86_reg(insn) == RSP;
	if (!x86_rm_is_register(insn) || x86_rm(insn) != RSP)
		return false;
	return (insn->opcode == 0x89 && x86_reg(insn) != RBP) ||
	       (insn->opcode == 0x83 && (insn->modrm >> 3 & 7) == 4);
}

static bool calls_register(const struct x86_insn *insn)
{
	return insn->map == X86_ONE_BYTE && insn->opcode == 0xff && (insn->modrm >> 3 & 7) == 2;
}

static int scan_function(struct scan *s, enum cfi_go_function function)
{
	const struct abi_unwind_rule changed = { .kind = function == CFI_GO_RESUMES ?
								 ABI_UNWIND_GO_RESUMED :
								 ABI_UNWIND_UNSUPPORTED };
	struct x86_insn insn;
	int r = 0;

	if (function == CFI_GO_OUTERMOST) {
		open_piece(s, 0, (struct abi_unwind_rule){ .kind = ABI_UNWIND_END });
		return close_piece(s, s->len);
	}
	for (size_t at = 0; r == 0 && at < s->len; at += insn.len) {
		if (!x86_decode(s->code + at, s->len - at, &insn))
			break;
		if (changes_stack(&insn) && !s->is_open) {
			open_piece(s, at, changed);
		} else if (changes_stack(&insn) && s->rule.kind != ABI_UNWIND_UNSUPPORTED) {
			r = close_piece(s, at + insn.len);
			s->is_open = false;
		} else if (calls_register(&insn) && (s->is_open || function == CFI_GO_LEAVES)) {
			r = close_piece(s, at);
			open_piece(s, at, rule_behind(s, at + insn.len, function));
		}
	}
	return r < 0 ? r : close_piece(s, s->len);
}

static int add_function(const struct cfi_input *in, const struct elf_symbol *symbol,
			enum cfi_go_function function, struct cfi_pieces *found)
{
	const struct cfi_bytes *text = cfi_text_of(in, symbol->value);
	uint64_t skip = text ? symbol->value - text->addr : 0;
	struct scan s = { .found = found };

	if (!text || !text->data || symbol->size > text->len - skip)
		return 0;
	s.code = text->data + skip;
	s.len = symbol->size;
	s.rel = (uint32_t)(symbol->value - in->base);
	return scan_function(&s, function);
}

/* What systemstack says of goroutines holds for morestack, whose code does not come back. */
static void settle_resumed(struct cfi_pieces *found)
{
	struct abi_unwind_rule current = { .kind = ABI_UNWIND_UNSUPPORTED };

	vec_foreach(found, piece)
		if (piece->rule.kind == ABI_UNWIND_GO_CURRENT)
			current = piece->rule;
	if (current.kind == ABI_UNWIND_GO_CURRENT)
		current.kind = ABI_UNWIND_GO_RESUMED;
	vec_foreach(found, piece)
		if (piece->rule.kind == ABI_UNWIND_GO_RESUMED)
			piece->rule = current;
}

int cfi_add_go(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	struct cfi_pieces found = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_symbols; i++) {
		enum cfi_go_function function = cfi_go_function(in->symbols[i].name);

		if (function != CFI_GO_NONE)
			r = add_function(in, &in->symbols[i], function, &found);
	}
	settle_resumed(&found);
	cfi_pieces_settle(&found);
	if (r == 0 && found.len > 0) {
		r = cfi_pieces_fill(&found, pieces);
		if (r == 0) {
			struct cfi_pieces before = *pieces;

			*pieces = found;
			found = before;
		}
	}
	cfi_pieces_done(&found);
	return r;
}
