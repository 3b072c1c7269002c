/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoder_fixture.h"

#include "probe/insn.h"

#include <elf.h>

int decoder_setup(void **state)
{
	struct insn_decoder *decoder;

	if (insn_decoder_new(EM_X86_64, &decoder) < 0)
		return -1;
	*state = decoder;
	return 0;
}

int decoder_teardown(void **state)
{
	insn_decoder_free(*state);
	return 0;
}
