/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes as an ELF file, planned; and as the code of an allocator function, walked. What comes
 * out must hold whatever came in: sites lie in the code, and nothing is read outside the input.
 */
#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "probe/allocators.h"
#include "probe/callee_facts.h"
#include "probe/insn.h"
#include "probe/plan.h"
#include "probe/result_sites.h"
#include "probe/sites.h"
#include "tests/fuzz/fuzz_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x1000
#define MAX_INPUT_BYTES (1 << 20)
#define MAX_INSNS 512 /* a walk takes time in proportion; what is found needs few */
#define MAX_STEPS 2048

static const struct plan_emulation everything = { true, true, true, true, true, true,
						  true, true, true, true, true };

struct code {
	const uint8_t *bytes;
	size_t len;
};

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct code *code = ctx;

	if (addr < BASE || addr - BASE >= code->len)
		return 0;
	if (len > code->len - (addr - BASE))
		len = code->len - (addr - BASE);
	memcpy(buf, code->bytes + (addr - BASE), len);
	return len;
}

/* Every eighth address is something: that makes calls, jumps and stubs lead somewhere. */
static const char *code_name(void *ctx, uint64_t addr)
{
	static const char *const names[] = { "malloc", "free", "abort", "_Znwm", "memset", NULL };

	(void)ctx;
	return addr % 8 == 0 ? names[addr / 8 % 6] : NULL;
}

static bool code_starts_function(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr % 16 == 0;
}

static uint64_t code_landing_pad(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr % 4 == 0 ? addr + 7 : 0;
}

/* Some names lead back into the input, and out of it. */
static uint64_t code_definition(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "memset") == 0 ? BASE + 32 : 0;
}

static void walk_code(uint16_t machine, const uint8_t *data, size_t size)
{
	_cleanup_(insn_decoder_free_p) struct insn_decoder *decoder = NULL;
	_cleanup_(sites_done) struct sites sites = { 0 };
	struct code bytes = { data + 1, size - 1 };
	uint32_t insns_left = MAX_INSNS;
	const struct sites_code code = {
		&bytes,		  code_read,	   code_name,  code_name, code_starts_function,
		code_landing_pad, code_definition, &insns_left
	};
	const struct allocator_function *rows;
	size_t n;

	rows = allocator_functions(&n);
	if (insn_decoder_new(machine, &decoder) < 0 ||
	    sites_find(decoder, &code, &rows[data[0] % n], BASE, &everything, &sites) < 0)
		return;
	if (sites.entry_site < BASE || sites.entry_site - BASE > size)
		abort();
	for (size_t i = 0; i < sites.exits.len; i++)
		if (sites.exits.data[i] - BASE >= bytes.len ||
		    (i && sites.exits.data[i] <= sites.exits.data[i - 1]))
			abort();
}

/* What is proven lies in the code, each place once. */
static void prove_code(const char *name, const uint8_t *data, size_t size)
{
	_cleanup_(insn_decoder_free_p) struct insn_decoder *decoder = NULL;
	_cleanup_(result_sites_done) struct result_sites sites = { 0 };
	_cleanup_(sites_done) struct sites walked = { 0 };
	const struct allocator_function *function = allocator_function_find(name);
	const struct plan_emulation as_now = {
		.push = true, .nop1 = true, .jmp = true, .jcc = true, .call = true
	};
	struct code bytes = { data + 1, size - 1 };
	uint32_t steps_left = MAX_STEPS;
	const struct sites_code code = {
		&bytes,		  code_read, code_name, code_name, code_starts_function,
		code_landing_pad, NULL,	     NULL
	};
	_cleanup_(callee_facts_done) struct callee_facts callees = { .code = &code,
								     .emulation = &as_now,
								     .steps_left = MAX_STEPS };

	if (insn_decoder_new(EM_X86_64, &decoder) < 0)
		return;
	callees.decoder = decoder;
	if (sites_find(decoder, &code, function, BASE, &as_now, &walked) < 0 ||
	    result_sites_find(&callees, function, BASE, &walked, &steps_left, &sites) < 0)
		return;
	for (size_t i = 0; i < sites.list.len; i++) {
		const struct result_site *site = &sites.list.data[i];

		if (site->addr - BASE >= bytes.len ||
		    (i && site->addr < sites.list.data[i - 1].addr) ||
		    (i && site->addr == sites.list.data[i - 1].addr &&
		     site->see.link == sites.list.data[i - 1].see.link) ||
		    site->see.kind > ABI_RESULT_LEAVES || site->see.sp_distance > 0x8000)
			abort();
		if (site->see.kind != ABI_RESULT_LEAVES && !site->see.fp.place)
			abort();
	}
}

/* Opens the file only as long as it is planned. */
static int plan_of(int fd, const char *path, const struct plan_emulation *emulation,
		   struct custom_allocators *custom, struct plan **ret_plan)
{
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	int r = elf_file_new(fd, &file);

	return r ? r : plan_new(file, path, emulation, custom, true, true, ret_plan);
}

static void plan_file(const uint8_t *data, size_t size)
{
	_cleanup_(plan_free_p) struct plan *plan = NULL;

	if (plan_of(fuzz_file(data, size), "", &everything, NULL, &plan) < 0)
		return;
	for (size_t i = 0; i < plan->n_probes; i++) {
		const struct plan_probe *probe = &plan->probes[i];

		if (probe->function_offset >= size || probe->entry_site >= size)
			abort();
		for (size_t j = 0; j < probe->n_exit_sites; j++)
			if (probe->exit_sites[j] >= size)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > MAX_INPUT_BYTES)
		return 0;
	plan_file(data, size);
	walk_code(EM_X86_64, data, size);
	walk_code(EM_AARCH64, data, size);
	prove_code("malloc", data, size);
	prove_code("_Znwm", data, size);
	return 0;
}
