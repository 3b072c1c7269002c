/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Argument descriptors of USDT probes, as a file's note has them. */
#include "base/cleanup.h"
#include "elf/usdt.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some are not there. */
static int find_variable(void *userdata, const char *name, uint64_t *ret_vaddr)
{
	(void)userdata;
	*ret_vaddr = strlen(name) << 40;
	return *name == 'n' ? -ENOENT : 0;
}

static void try_machine(const char *text, uint16_t machine)
{
	struct abi_usdt_arg args[ABI_SAMPLE_ARGS];
	const struct usdt_globals globals = { 0x401000, find_variable, NULL };
	int n = usdt_args_parse(text, machine, &globals, args, ABI_SAMPLE_ARGS);

	for (int i = 0; i < n; i++)
		if (args[i].place == ABI_USDT_NONE || args[i].reg > ABI_USDT_REGS_MASK ||
		    args[i].bytes == 0 || args[i].bytes > 8 || args[i].shift > 3 ||
		    (args[i].index != ABI_USDT_NO_INDEX && args[i].index > ABI_USDT_REGS_MASK))
			abort();
	if (n > ABI_SAMPLE_ARGS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	try_machine(text, EM_X86_64);
	try_machine(text, EM_AARCH64);
	return 0;
}
