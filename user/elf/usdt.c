/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/usdt.h"

#include "base/vec.h"
#include "elf/elf_file.h"
#include "elf/elf_sections.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
/* qemu, with more probes than others, has 100 KiB of them. */
#define MAX_BYTES (4U << 20)
/* Of one provider: OpenTelemetry's has two probes, which may be in some functions' copies. */
#define MAX_PROBES 256
/* Notes are in multiples of four bytes. */
#define PADDED(n) (((uint64_t)(n) + 3) & ~UINT64_C(3))

/* A note's contents: three addresses, then provider, name and arguments. */
struct description {
	uint64_t pc, base, semaphore;
	const char *provider, *name, *args;
};

/* The string at *at, which goes to the next one; NULL: it has no end. */
static const char *next_string(const uint8_t **at, const uint8_t *end)
{
	const char *string = (const char *)*at;
	const uint8_t *zero = memchr(*at, '\0', (size_t)(end - *at));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return string;
}

static bool parse_description(const uint8_t *bytes, size_t len, struct description *ret)
{
	const uint8_t *at = bytes + 3 * sizeof(uint64_t), *end = bytes + len;

	if (len < 3 * sizeof(uint64_t))
		return false;
	memcpy(&ret->pc, bytes, sizeof(ret->pc));
	memcpy(&ret->base, bytes + 8, sizeof(ret->base));
	memcpy(&ret->semaphore, bytes + 16, sizeof(ret->semaphore));
	ret->provider = next_string(&at, end);
	ret->name = ret->provider ? next_string(&at, end) : NULL;
	ret->args = ret->name ? next_string(&at, end) : NULL;
	return ret->args;
}

/*
 * Where the section .stapsdt.base is: a program that moved the file's addresses (prelink) did not
 * change the notes, which say where it was.
 */
static uint64_t base_of(struct elf_file *file)
{
	struct elf_section base;

	if (elf_section_read(file, ".stapsdt.base", 4096, &base))
		return 0;
	free(base.bytes);
	return base.vaddr;
}

/* False: it points to no code, or its counter into nothing. */
static bool locate(struct elf_file *file, const struct description *d, uint64_t base,
		   struct usdt_probe *ret)
{
	uint64_t moved = base && d->base ? base - d->base : 0;
	uint8_t byte;

	if (elf_file_read_text(file, d->pc + moved, &byte, 1) != 1 ||
	    elf_file_offset_of(file, d->pc + moved, &ret->offset))
		return false;
	ret->name = d->name;
	ret->args = d->args;
	ret->vaddr = d->pc + moved;
	ret->semaphore_offset = 0;
	return !d->semaphore ||
	       elf_file_offset_of(file, d->semaphore + moved, &ret->semaphore_offset) == 0;
}

typedef VEC(struct usdt_probe) probe_list;

static int add_note(struct elf_file *file, const Elf64_Nhdr *head, const uint8_t *name,
		    const char *provider, uint64_t base, probe_list *probes)
{
	struct description d;
	struct usdt_probe probe;

	if (head->n_type != NOTE_TYPE || head->n_namesz != sizeof(NOTE_NAME) ||
	    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0 ||
	    !parse_description(name + PADDED(head->n_namesz), head->n_descsz, &d) ||
	    strcmp(d.provider, provider) != 0 || !locate(file, &d, base, &probe))
		return 0;
	return vec_push(probes, probe);
}

int usdt_notes_read(struct elf_file *file, const char *provider, struct usdt_notes *ret_notes)
{
	struct elf_section section = { 0 };
	probe_list probes = { 0 };
	uint64_t base, at = 0;
	int r = elf_section_read(file, ".note.stapsdt", MAX_BYTES, &section);

	*ret_notes = (struct usdt_notes){ 0 };
	if (r)
		return r == -ENOMEM ? r : 0;
	base = base_of(file);
	while (r == 0 && probes.len < MAX_PROBES && section.len - at >= sizeof(Elf64_Nhdr)) {
		const uint8_t *name = section.bytes + at + sizeof(Elf64_Nhdr);
		Elf64_Nhdr head;
		uint64_t size;

		memcpy(&head, section.bytes + at, sizeof(head));
		size = sizeof(head) + PADDED(head.n_namesz) + PADDED(head.n_descsz);
		if (size > section.len - at)
			break;
		r = add_note(file, &head, name, provider, base, &probes);
		at += size;
	}
	ret_notes->n = probes.len;
	ret_notes->probes = probes.data;
	ret_notes->bytes = section.bytes;
	if (r)
		usdt_notes_done(ret_notes);
	return r;
}

void usdt_notes_done(struct usdt_notes *notes)
{
	free(notes->probes);
	free(notes->bytes);
	*notes = (struct usdt_notes){ 0 };
}

#define NO_REGISTER 0xffff
#define NAME_LEN 8
/* Of a variable: those of C++ and Rust are mangled. */
#define SYMBOL_LEN 512

/* The registers of x86-64 by their halves, with their place in struct pt_regs in words. */
static const struct {
	const char *names[4]; /* of 8, 4, 2 and 1 bytes */
	uint8_t word;
} x86_registers[] = {
	{ { "rax", "eax", "ax", "al" }, 10 },	  { { "rbx", "ebx", "bx", "bl" }, 5 },
	{ { "rcx", "ecx", "cx", "cl" }, 11 },	  { { "rdx", "edx", "dx", "dl" }, 12 },
	{ { "rsi", "esi", "si", "sil" }, 13 },	  { { "rdi", "edi", "di", "dil" }, 14 },
	{ { "rbp", "ebp", "bp", "bpl" }, 4 },	  { { "rsp", "esp", "sp", "spl" }, 19 },
	{ { "r8", "r8d", "r8w", "r8b" }, 9 },	  { { "r9", "r9d", "r9w", "r9b" }, 8 },
	{ { "r10", "r10d", "r10w", "r10b" }, 7 }, { { "r11", "r11d", "r11w", "r11b" }, 6 },
	{ { "r12", "r12d", "r12w", "r12b" }, 3 }, { { "r13", "r13d", "r13w", "r13b" }, 2 },
	{ { "r14", "r14d", "r14w", "r14b" }, 1 }, { { "r15", "r15d", "r15w", "r15b" }, 0 },
};
#define X86_RIP_WORD 16
#define X86_REGISTERS (sizeof(x86_registers) / sizeof(x86_registers[0]))

/* arm64: x0 to x30 and sp are the first words of struct pt_regs (struct user_pt_regs). */
#define ARM64_SP_WORD 31
#define ARM64_PC_WORD 32

/* Copies a name of letters and digits; what is longer is no register's. */
static const char *parse_name(const char *at, char name[NAME_LEN])
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]))
		len++;
	if (len >= NAME_LEN)
		len = 0;
	memcpy(name, at, len);
	name[len] = '\0';
	return at + len;
}

static uint16_t x86_register(const char *name)
{
	for (size_t i = 0; i < X86_REGISTERS; i++)
		for (size_t k = 0; k < 4; k++)
			if (strcmp(name, x86_registers[i].names[k]) == 0)
				return x86_registers[i].word * 8U;
	return NO_REGISTER;
}

static uint16_t arm64_register(const char *name)
{
	char *end;
	unsigned long n;

	if (strcmp(name, "sp") == 0)
		return ARM64_SP_WORD * 8;
	if ((name[0] != 'x' && name[0] != 'w') || !isdigit((unsigned char)name[1]))
		return NO_REGISTER;
	n = strtoul(name + 1, &end, 10);
	return *end == '\0' && n < ARM64_SP_WORD ? n * 8 : NO_REGISTER;
}

/* A number with a sign; addresses and sizes have 64 bits with or without one. */
static const char *parse_number(const char *at, __s64 *ret)
{
	char *end;

	*ret = 0;
	if (*at != '-' && !isdigit((unsigned char)*at))
		return at;
	*ret = *at == '-' ? strtoll(at, &end, 0) : (__s64)strtoull(at, &end, 0);
	return end;
}

static const char *skip_spaces(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

/* "%rdi" */
static const char *parse_x86_register(const char *at, uint16_t *ret)
{
	char name[NAME_LEN];

	if (*at != '%')
		return NULL;
	at = parse_name(at + 1, name);
	*ret = x86_register(name);
	return *ret == NO_REGISTER ? NULL : at;
}

/* What is between the parentheses of a memory operand: "%rbp)", "%rax,%rbx,8)". */
static const char *parse_x86_address(const char *at, struct abi_usdt_arg *arg)
{
	__s64 scale = 1;

	at = parse_x86_register(at, &arg->reg);
	if (!at)
		return NULL;
	if (*at == ',') {
		at = parse_x86_register(at + 1, &arg->index);
		if (at && *at == ',')
			at = parse_number(at + 1, &scale);
		if (!at || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
			return NULL;
		arg->shift = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2;
	}
	return *at == ')' ? at + 1 : NULL;
}

/* As assemblers write them. */
static bool is_symbol_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* One summand, "counter" or "-8" or "+8": at most one is a symbol, whose name is copied. */
static const char *parse_summand(const char *at, char symbol[SYMBOL_LEN], __s64 *sum)
{
	const char *begin = *at == '+' ? at + 1 : at, *end;
	size_t len = 0;
	__s64 number;

	end = parse_number(begin, &number);
	if (end != begin) {
		*sum = (__s64)((__u64)*sum + (__u64)number);
		return end;
	}
	while (is_symbol_character(begin[len]))
		len++;
	if (len == 0 || len >= SYMBOL_LEN || *symbol)
		return NULL;
	memcpy(symbol, begin, len);
	symbol[len] = '\0';
	return begin + len;
}

/*
 * "counter(%rip)", "counter+8(%rip)", "-8+counter(%rip)": what is as far from the probe's own
 * address, which is rip there, as it is in the file, wherever that was loaded.
 */
static const char *parse_x86_global(const char *at, const struct usdt_globals *globals,
				    struct abi_usdt_arg *arg, int *ret_error)
{
	static const char rip[] = "(%rip)";
	char symbol[SYMBOL_LEN] = "";
	uint64_t vaddr;
	__s64 sum = 0;

	while (at && *at != '(')
		at = parse_summand(at, symbol, &sum);
	if (!at || strncmp(at, rip, strlen(rip)) != 0 || !*symbol || !globals)
		return NULL;
	*ret_error = globals->find(globals->userdata, symbol, &vaddr);
	if (*ret_error)
		return NULL;
	arg->reg = X86_RIP_WORD * 8;
	arg->value = (__s64)(vaddr + (__u64)sum - globals->vaddr);
	return at + strlen(rip);
}

static const char *parse_x86(const char *at, const struct usdt_globals *globals,
			     struct abi_usdt_arg *arg, int *ret_error)
{
	const char *number = *at == '$' ? at + 1 : at, *end;

	if (*at == '%') {
		arg->place = ABI_USDT_REGISTER;
		return parse_x86_register(at, &arg->reg);
	}
	end = parse_number(number, &arg->value);
	if (*at == '$') {
		arg->place = ABI_USDT_CONSTANT;
		return end == number ? NULL : end;
	}
	arg->place = ABI_USDT_MEMORY;
	if (*end == '(')
		return parse_x86_address(end + 1, arg);
	return parse_x86_global(at, globals, arg, ret_error);
}

static const char *parse_arm64_register(const char *at, uint16_t *ret)
{
	char name[NAME_LEN];

	at = parse_name(at, name);
	*ret = arm64_register(name);
	return *ret == NO_REGISTER ? NULL : at;
}

/* "x0", "5", "[sp, 16]", "[x1]" */
static const char *parse_arm64(const char *at, struct abi_usdt_arg *arg)
{
	const char *end = parse_number(at, &arg->value);

	if (end != at) {
		arg->place = ABI_USDT_CONSTANT;
		return end;
	}
	arg->place = *at == '[' ? ABI_USDT_MEMORY : ABI_USDT_REGISTER;
	at = parse_arm64_register(at + (*at == '['), &arg->reg);
	if (!at || arg->place == ABI_USDT_REGISTER)
		return at;
	if (*at == ',') {
		const char *number = skip_spaces(at + 1);

		number += *number == '#';
		at = parse_number(number, &arg->value);
		if (at == number)
			return NULL;
	}
	return *at == ']' ? at + 1 : NULL;
}

/* "-4@" */
static const char *parse_size(const char *at, struct abi_usdt_arg *arg)
{
	__s64 bytes;

	at = parse_number(at, &bytes);
	arg->is_signed = bytes < 0;
	if (bytes < 0)
		bytes = (__s64) - (__u64)bytes;
	arg->bytes = (uint8_t)bytes;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return NULL;
	return *at == '@' ? at + 1 : NULL;
}

int usdt_args_parse(const char *text, uint16_t machine, const struct usdt_globals *globals,
		    struct abi_usdt_arg *ret_args, size_t max)
{
	const char *at = skip_spaces(text);
	int n = 0, error = 0;

	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return -EOPNOTSUPP;
	while (*at && (size_t)n < max) {
		struct abi_usdt_arg arg = { .index = ABI_USDT_NO_INDEX };

		at = parse_size(at, &arg);
		if (at)
			at = machine == EM_X86_64 ? parse_x86(at, globals, &arg, &error) :
						    parse_arm64(at, &arg);
		if (error)
			return error;
		if (!at || (*at && *at != ' '))
			return -EINVAL;
		ret_args[n++] = arg;
		at = skip_spaces(at);
	}
	return n;
}

struct abi_usdt_arg usdt_args_variable(int64_t distance)
{
#ifdef __x86_64__
	const uint16_t pc = X86_RIP_WORD * 8;
#else
	const uint16_t pc = ARM64_PC_WORD * 8;
#endif

	return (struct abi_usdt_arg){ .place = ABI_USDT_MEMORY,
				      .bytes = 8,
				      .reg = pc,
				      .index = ABI_USDT_NO_INDEX,
				      .value = distance };
}
