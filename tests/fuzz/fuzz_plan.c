/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file, planned; or the code of an allocator function, behind a byte that says which, in the
 * way that the last byte says: walked as either machine's, or its results proven. All ways would
 * take four times as long, and the fuzzer finds them all. What comes out must hold whatever came
 * in: sites lie in the code, and nothing is read outside the input.
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
/* A walk takes time in proportion; what is found needs little. */
#define MAX_CODE_BYTES 256
#define MAX_INSNS 128
#define MAX_STEPS 512

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

/* One for all inputs, since making it takes longer than most. */
static struct insn_decoder *decoder_of(uint16_t machine)
{
	static struct insn_decoder *x86, *arm64;
	struct insn_decoder **decoder = machine == EM_X86_64 ? &x86 : &arm64;

	if (!*decoder && insn_decoder_new(machine, decoder) < 0)
		abort();
	return *decoder;
}

static void walk_code(uint16_t machine, size_t row, struct code *bytes)
{
	_cleanup_(sites_done) struct sites sites = { 0 };
	uint32_t insns_left = MAX_INSNS;
	const struct sites_code code = { bytes,
					 code_read,
					 code_name,
					 code_name,
					 code_starts_function,
					 code_landing_pad,
					 code_definition,
					 &insns_left };
	const struct allocator_function *rows;
	size_t n;

	rows = allocator_functions(&n);
	if (sites_find(decoder_of(machine), &code, &rows[row % n], BASE, &everything, &sites) < 0)
		return;
	if (sites.entry_site < BASE || sites.entry_site - BASE > bytes->len)
		abort();
	for (size_t i = 0; i < sites.exits.len; i++)
		if (sites.exits.data[i] - BASE >= bytes->len ||
		    (i && sites.exits.data[i] <= sites.exits.data[i - 1]))
			abort();
}

/* What is proven lies in the code, each place once. */
static void prove_code(const char *name, struct code *bytes)
{
	_cleanup_(result_sites_done) struct result_sites sites = { 0 };
	_cleanup_(sites_done) struct sites walked = { 0 };
	const struct allocator_function *function = allocator_function_find(name);
	const struct plan_emulation as_now = {
		.push = true, .nop1 = true, .jmp = true, .jcc = true, .call = true
	};
	uint32_t insns_left = MAX_INSNS, steps_left = MAX_STEPS;
	const struct sites_code code = {
		bytes, code_read,  code_name, code_name, code_starts_function, code_landing_pad,
		NULL,  &insns_left
	};
	_cleanup_(callee_facts_done) struct callee_facts callees = {
		.decoder = decoder_of(EM_X86_64),
		.code = &code,
		.emulation = &as_now,
		.steps_left = MAX_STEPS,
	};

	if (sites_find(callees.decoder, &code, function, BASE, &as_now, &walked) < 0 ||
	    result_sites_find(&callees, function, BASE, &walked, &steps_left, &sites) < 0)
		return;
	for (size_t i = 0; i < sites.list.len; i++) {
		const struct result_site *site = &sites.list.data[i];

		if (site->addr - BASE >= bytes->len ||
		    (i && site->addr < sites.list.data[i - 1].addr) ||
		    (i && site->addr == sites.list.data[i - 1].addr &&
		     site->see.link == sites.list.data[i - 1].see.link) ||
		    site->see.kind > ABI_RESULT_LEAVES || site->see.sp_distance > 0x8000)
			abort();
		if (site->see.kind != ABI_RESULT_LEAVES && !site->see.fp.place)
			abort();
	}
}

static void try_code(const uint8_t *data, size_t size)
{
	struct code bytes = { data + 1, size - 2 };

	if (bytes.len > MAX_CODE_BYTES)
		bytes.len = MAX_CODE_BYTES;
	switch (data[size - 1] % 4) {
	case 0:
		walk_code(EM_X86_64, data[0], &bytes);
		break;
	case 1:
		walk_code(EM_AARCH64, data[0], &bytes);
		break;
	case 2:
		prove_code("malloc", &bytes);
		break;
	case 3:
		prove_code("_Znwm", &bytes);
		break;
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
	if (size < 3 || size > MAX_INPUT_BYTES)
		return 0;
	if (size > SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0)
		plan_file(data, size);
	else
		try_code(data, size);
	return 0;
}
